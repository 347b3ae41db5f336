package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// publishAcme are the arguments that publish the fleet in a directory to the bare repository in it.
func publishAcme(root string, more ...string) []string {
	return append([]string{"render", "--env", "dev", "--control-plane", acme("control-plane"), "--replace", acme("*") + "=" + root + "/*.git"}, more...)
}

// TestSaveBodyFails: the result of publishing is reported even if the body cannot be saved.
func TestSaveBodyFails(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	file := filepath.Join(root, "missing", "body.md")
	done := asRelease(t, publishAcme(root, "--save-body", file)...)
	assert.Equal(t, cli.ExitModel, done.code)
	assert.Contains(t, done.stdout, "pushed ")
	assert.Contains(t, done.stderr, "--save-body: open "+file)
	assert.NoFileExists(t, file)
}

// TestStoppedAfterThePush: who stops a run, or gives it too little time, learns what it has done.
func TestStoppedAfterThePush(t *testing.T) {
	t.Parallel()
	for cause, says := range map[error]string{
		session.SignalError{Signal: syscall.SIGINT}: "/acme/gitops; the next run continues\nkalypso: interrupted\n",
		session.ErrTimeUp: "1 error: not everything was published\n",
	} {
		root := acmeFleet(t)
		server := githubtest.NewServer(t, githubtest.Options{})
		server.AddRepo("acme/gitops", githubtest.RepoOptions{Dir: filepath.Join(root, "gitops.git")})
		server.AddToken("secret-token", githubtest.Token{Permissions: githubtest.AllPermissions()})
		ctx, stop := context.WithCancelCause(t.Context())
		server.Inject(githubtest.Hang(), func(r githubtest.Request) bool {
			if r.Method != http.MethodPost {
				return false
			}
			stop(cause)
			return true
		})
		env := map[string]string{"GITHUB_SERVER_URL": server.WebURL, "GITHUB_API_URL": server.URL, "GITHUB_TOKEN": "secret-token"}
		done := asReleaseWith(ctx, env, publishAcme(root, "--replace", acme("gitops")+"="+server.WebURL+"/acme/gitops")...)
		assert.NotEqual(t, cli.ExitDone, done.code)
		assert.Contains(t, done.stderr, says)
	}
}

// TestTwoEnvironmentsOnOneBranch: the second is refused, and what the first did is not said of it.
func TestTwoEnvironmentsOnOneBranch(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	main := acmeMain()
	main[".environments/twin.yaml"] = strings.ReplaceAll(main[".environments/dev.yaml"], "name: dev", "name: twin")
	addRepo(t, root, "control-plane", gitopstest.Commit{Files: main})
	done := asRelease(t, publishAcme(root, "--env", "twin")...)
	assert.Equal(t, cli.ExitModel, done.code)
	assert.Equal(t, 1, strings.Count(done.stdout, "pushed "), done.stdout)
	assert.Contains(t, done.stderr, "that kalypso did not make for this environment")
	log, err := gitopstest.Git(filepath.Join(root, "gitops.git"), "log", "--format=%B", "dev..deployment/dev")
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(log, "Kalypso-Environment: dev\n"))
	assert.NotContains(t, log, "twin")
}

// TestSaveBodyOfDryRun writes what a reviewer would read.
func TestSaveBodyOfDryRun(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	file := filepath.Join(root, "body.md")
	done := asRelease(t, publishAcme(root, "--dry-run", "--save-body", file)...)
	require.Equal(t, cli.ExitDone, done.code, done.stderr)
	body, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(body), "# dev: 3 assignments added on 1 cluster type\n"), string(body[:min(len(body), 200)]))
}
