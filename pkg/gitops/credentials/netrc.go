package credentials

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// netrcEntry is one machine of a netrc file.
type netrcEntry struct{ machine, login, password string }

// readNetrc reads $NETRC, or .netrc in $HOME (on Windows _netrc too). A file that is missing or
// malformed holds nothing: it belongs to other programs.
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

// parseNetrc reads the entries that name a machine. The "default" entry is left out on purpose:
// it would go to any host that a YAML object names.
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
