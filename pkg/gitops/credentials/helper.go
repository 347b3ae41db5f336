package credentials

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// helperTimeout is the timeout of a credential helper.
const helperTimeout = 30 * time.Second

// GitCredential returns the credential of git's credential helpers, through `git credential fill` with the configuration
// of the user, without prompts. It is empty, without an error, if git is not installed or no helper has one.
func GitCredential(ctx context.Context, scheme, host, path, user string) (name, password string, err error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return "", "", nil
	}
	question, err := credentialQuestion(scheme, host, path, user)
	if err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(ctx, helperTimeout)
	defer cancel()
	// The configuration of a repository can name programs to run, so only the user's and the system's are used.
	directory, err := os.MkdirTemp("", "kalypso-credential-")
	if err != nil {
		return "", "", nil
	}
	defer func() { _ = os.Remove(directory) }() // an empty temporary directory: a failure is harmless
	cmd := exec.CommandContext(ctx, git, "-c", "safe.bareRepository=explicit",
		"-c", "core.askPass=", "-c", "credential.interactive=false", "credential", "fill")
	cmd.Dir = directory
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		// These make git read the configuration of a repository; the user's GIT_CONFIG_… variables do not.
		return ownSecret(name) || slices.Contains([]string{"GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE"}, strings.ToUpper(name))
	}), "GIT_CEILING_DIRECTORIES="+filepath.Dir(directory),
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never")
	cmd.Stdin = strings.NewReader(question)
	cmd.WaitDelay = time.Second // a helper that hangs is a child of git, and keeps its output open
	answer, err := cmd.Output()
	if err != nil {
		return "", "", ctx.Err()
	}
	return parseCredential(answer)
}

// ownSecret reports whether an environment variable contains a secret of kalypso, which no helper needs.
func ownSecret(name string) bool {
	name = strings.ToUpper(name) // names are not case-sensitive on Windows
	return slices.Contains([]string{EnvGitHub, EnvGH, "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"}, name) ||
		strings.HasPrefix(name, "KALYPSO_") && strings.HasSuffix(name, "_TOKEN") || strings.HasPrefix(name, "KALYPSO_GITHUB_APP_")
}

// credentialQuestion writes git's credential format. A line break in a value could request the secret of another host.
func credentialQuestion(scheme, host, path, user string) (string, error) {
	var b strings.Builder
	for _, field := range []struct{ key, value string }{
		{"protocol", scheme}, {"host", host}, {"path", strings.TrimPrefix(path, "/")}, {"username", user},
	} {
		if strings.ContainsAny(field.value, "\n\r\x00") {
			return "", errors.New("a line break in a credential's " + field.key)
		}
		if field.value != "" {
			fmt.Fprintf(&b, "%s=%s\n", field.key, field.value)
		}
	}
	return b.String() + "\n", nil
}

func parseCredential(answer []byte) (name, password string, err error) {
	for line := range bytes.Lines(answer) {
		key, value, _ := strings.Cut(strings.TrimRight(string(line), "\r\n"), "=")
		switch key {
		case "username":
			name = value
		case "password":
			password = value
		}
	}
	return name, password, nil
}

// netrcEntry is one machine of a netrc file.
type netrcEntry struct{ machine, login, password string }

// readNetrc reads $NETRC, or .netrc in $HOME (on Windows _netrc too). A missing or malformed file, which belongs to other
// programs, is empty.
func readNetrc(env func(string) string) []netrcEntry {
	files := []string{env("NETRC")}
	if files[0] == "" {
		home := env("HOME")
		if home == "" {
			home = env("USERPROFILE")
		}
		if home == "" {
			return nil
		}
		files = []string{filepath.Join(home, ".netrc"), filepath.Join(home, "_netrc")}
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			return parseNetrc(string(data))
		}
	}
	return nil
}

// parseNetrc parses the entries of machines. The entry "default" is ignored, because it would be sent to any host in a
// YAML object.
func parseNetrc(text string) []netrcEntry {
	var entries []netrcEntry
	macro, key := false, ""
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			macro = false // a macro ends at an empty line
			continue
		}
		if macro = macro || words[0] == "macdef"; macro || strings.HasPrefix(words[0], "#") {
			continue
		}
		for _, word := range words {
			last := len(entries) - 1
			switch {
			case key == "" && slices.Contains([]string{"machine", "login", "password", "account"}, word):
				key = word
				continue
			case key == "" && word == "default":
				entries = append(entries, netrcEntry{})
			case key == "machine":
				entries = append(entries, netrcEntry{machine: strings.ToLower(word)})
			case key == "login" && last >= 0:
				entries[last].login = word
			case key == "password" && last >= 0:
				entries[last].password = word
			}
			key = ""
		}
	}
	return slices.DeleteFunc(entries, func(e netrcEntry) bool { return e.machine == "" || e.password == "" })
}
