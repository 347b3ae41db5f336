package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// The environment variables that name a GitHub App.
const (
	envAppID  = "KALYPSO_GITHUB_APP_ID"
	envAppKey = "KALYPSO_GITHUB_APP_PRIVATE_KEY_FILE"
)

// maxKeyFile bounds a private key in bytes.
const maxKeyFile = 64 << 10

// appTokens returns the tokens of the GitHub App that the environment names; nil if it names none. A run has one: what
// it minted stays good when the fleet is read again.
func (f *fleetFlags) appTokens(e *edges, progress *progress) (*github.App, error) {
	id, file := e.env(envAppID), e.env(envAppKey)
	switch {
	case f.tokens != nil || id == "" && file == "":
		return f.tokens, nil
	case file == "":
		return nil, usageError("%s is set without %s: name the file with the private key of the GitHub App", envAppID, envAppKey)
	case id == "":
		return nil, usageError("%s is set without %s: give the id of the GitHub App, from its settings", envAppKey, envAppID)
	}
	key, err := readAppKey(e.stderr, file)
	if err != nil {
		return nil, usageError("%s %s: %w", envAppKey, file, err)
	}
	f.tokens, err = github.NewApp(
		github.Options{UserAgent: "kalypso/" + e.version, Sleep: e.sleep, Now: e.now, Notice: progress.phase},
		github.AppConfig{ID: id, Server: gitHubServer(e), Needs: f.needs, Minted: e.mask}, key)
	if err != nil {
		return nil, usageError("%s %s: %w", envAppID, envAppKey, err)
	}
	return f.tokens, nil
}

// needs are the permissions that a run needs on the repositories of a role.
func (f *fleetFlags) needs(role model.Role) github.Needs {
	switch {
	case role == model.Output && f.publication != nil:
		return f.publication.needs()
	case f.promotion != nil && (role == model.Main || role == model.Platform || role == model.Base):
		return f.promotion.needs()
	case role == model.Main && f.comments:
		return github.Needs{Required: map[string]string{"contents": "read", "pull_requests": "write"}}
	}
	return github.Needs{Required: map[string]string{"contents": "read"}}
}

// gitHubServer is the GitHub that the environment names.
func gitHubServer(e *edges) github.Server {
	return github.Server{URL: e.env("GITHUB_SERVER_URL"), API: e.env("GITHUB_API_URL"), GraphQL: e.env("GITHUB_GRAPHQL_URL")}
}

// readAppKey reads a private key. That others can read it is only a warning: in a container, where Kubernetes and
// Docker mount secrets that way, there are no others.
func readAppKey(stderr io.Writer, name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		fmt.Fprintf(stderr, "kalypso: others on this machine can read the private key in %s: chmod 600 it\n", name)
	}
	key, err := io.ReadAll(io.LimitReader(file, maxKeyFile))
	return key, withoutPath(err)
}

// withoutPath leaves out the path, which the message names already.
func withoutPath(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// mask tells the workflow, if there is one, to keep a secret out of its log.
func (e *edges) mask(secret string) {
	if e.workflow != nil {
		e.workflow.commands.command("::add-mask::" + escapeData(secret))
	}
}
