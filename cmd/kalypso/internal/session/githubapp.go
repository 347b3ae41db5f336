package session

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// The environment variables of a GitHub App.
const (
	envAppID  = "KALYPSO_GITHUB_APP_ID"
	envAppKey = "KALYPSO_GITHUB_APP_PRIVATE_KEY_FILE"
)

// Variables returns the names of the environment variables of kalypso that are not those of a flag.
func Variables() []string {
	return []string{
		envAppID, envAppKey, term.PagerVariable,
		credentials.EnvControlPlane, credentials.EnvSource, credentials.EnvGitOps, credentials.EnvTokenHosts,
	}
}

// maxKeyFile is the maximum size of a private key in bytes.
const maxKeyFile = 64 << 10

// appTokens returns the tokens of the configured GitHub App; nil for none. They are created once per run, because tokens
// stay valid when the fleet is read again.
func (f *Flags) appTokens(e *cli.Host, progress *term.Progress) (*github.App, error) {
	id, file := e.Env(envAppID), e.Env(envAppKey)
	switch {
	case f.tokens != nil || id == "" && file == "":
		return f.tokens, nil
	case file == "":
		return nil, cli.Usage("%s is set without %s, the file with the private key of the GitHub App", envAppID, envAppKey)
	case id == "":
		return nil, cli.Usage("%s is set without %s, the id in the settings of the GitHub App", envAppKey, envAppID)
	}
	key, err := readAppKey(e.Stderr, file)
	if err != nil {
		return nil, cli.Usage("%s %s: %w", envAppKey, file, err)
	}
	f.tokens, err = github.NewApp(
		github.Options{UserAgent: "kalypso/" + e.Build.Version, Sleep: e.Sleep, Now: e.Now, Notice: progress.Phase, Transport: Transport(e, progress)},
		github.AppConfig{ID: id, Server: gitHubServer(e), Needs: f.needs, Minted: e.Workflow.Mask}, key)
	if err != nil {
		return nil, cli.Usage("%s %s: %w", envAppID, envAppKey, err)
	}
	return f.tokens, nil
}

// needs are the permissions that a run needs on the repositories of a role.
func (f *Flags) needs(role model.Role) github.Needs {
	if f.Permissions != nil {
		if more := f.Permissions(role); more != nil {
			return *more
		}
	}
	return github.Needs{Required: map[string]string{"contents": "read"}}
}

// gitHubServer is the configured GitHub server.
func gitHubServer(e *cli.Host) github.Server {
	return github.Server{URL: e.Env("GITHUB_SERVER_URL"), API: e.Env("GITHUB_API_URL")}
}

// readAppKey reads a private key. If other users can read it, this is only a warning, because Kubernetes and Docker mount
// secrets in this way in containers without other users.
func readAppKey(stderr io.Writer, name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, cli.WithoutPath(err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		fmt.Fprintf(stderr, "warning: other users can read the private key in %s; run chmod 600\n", name)
	}
	key, err := io.ReadAll(io.LimitReader(file, maxKeyFile))
	return key, cli.WithoutPath(err)
}
