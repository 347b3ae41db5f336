package main

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// asRelease runs the program in this process as a release would: its version says what it is.
func asRelease(t *testing.T, args ...string) outcome {
	t.Helper()
	return asReleaseWith(t.Context(), map[string]string{}, args...)
}

// asReleaseWith is asRelease with further variables, until the context ends.
func asReleaseWith(ctx context.Context, env map[string]string, args ...string) outcome {
	env["PATH"], env["HOME"] = "/usr/bin:/bin", "/nowhere"
	var stdout, stderr bytes.Buffer
	e := cli.System()
	e.Stdout, e.Stderr, e.Build.Version = &stdout, &stderr, "v1.2.3"
	e.Env = func(name string) string { return env[name] }
	e.Sleep = func(context.Context, time.Duration) error { return nil }
	code := run(ctx, args, e)
	return outcome{code, stdout.String(), stderr.String()}
}

// countingServer serves the repositories in a directory and notes what is asked of each.
func countingServer(t *testing.T, root string) (url string, asked func() map[string][]string) {
	t.Helper()
	var mu sync.Mutex
	requests := map[string][]string{}
	server := gitopstest.NewServer(t, func(http.Handler) http.Handler {
		handler, err := gitopstest.Handler(root)
		require.NoError(t, err)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			repo, what, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/")
			mu.Lock()
			requests[repo] = append(requests[repo], what)
			mu.Unlock()
			handler.ServeHTTP(w, r)
		})
	})
	return server.URL, func() map[string][]string {
		mu.Lock()
		defer mu.Unlock()
		all := requests
		requests = map[string][]string{}
		return all
	}
}

// pinBase promotes the fleet to what its control plane's main branch is now.
func pinBase(t *testing.T, root string) {
	t.Helper()
	dir := filepath.Join(root, "control-plane.git")
	read := func(args ...string) string {
		out, err := gitopstest.Git(dir, args...)
		require.NoError(t, err)
		return strings.TrimSpace(out)
	}
	files := gitopstest.Files{}
	for _, name := range strings.Fields(read("ls-tree", "-r", "--name-only", "dev")) {
		files[name] = read("show", "dev:"+name) + "\n"
	}
	files["base.yaml"] = acmeObject("BaseRepo", "main", "spec: {repo: "+acme("control-plane")+", branch: main, commit: "+read("rev-parse", "main")+"}")
	addRepo(t, root, "control-plane", gitopstest.Commit{Branch: "dev", Files: files})
}

// TestNothingNew: a run that finds nothing new asks an application repository once where its branches are.
func TestNothingNew(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	pinBase(t, root)
	url, asked := countingServer(t, root)
	args := []string{"render", "--env", "dev", "--control-plane", acme("control-plane"), "--replace", acme("*") + "=" + url + "/*.git"}

	first := asRelease(t, args...)
	require.Equal(t, cli.ExitDone, first.code, first.stderr)
	require.Contains(t, first.stdout, "pushed ")
	asked()
	again := asRelease(t, args...)
	assert.Contains(t, again.stdout, "already has this output; merge it into dev", "without a forge what is proposed is made again")
	asked()

	check := func(want string) {
		t.Helper()
		again := asRelease(t, args...)
		require.Equal(t, cli.ExitDone, again.code, again.stderr)
		assert.Contains(t, again.stdout, want)
		requests := asked()
		for _, app := range appsOfAcme {
			assert.Equal(t, []string{"info/refs"}, requests[app], app)
		}
		assert.NotContains(t, requests["gitops"], "git-receive-pack")
	}
	gitops := filepath.Join(root, "gitops.git")
	git := func(args ...string) string {
		out, err := gitopstest.Git(gitops, args...)
		require.NoError(t, err)
		return strings.TrimSpace(out)
	}
	merge := git("commit-tree", "deployment/dev^{tree}", "-p", "dev", "-p", "deployment/dev", "-m", "Merge")
	git("update-ref", "refs/heads/dev", merge)
	check("no changes since ")

	// The control plane's main branch gets a commit that is not promoted to the environment.
	files := acmeMain()
	files["docs/notes.md"] = "Somebody wrote this.\n"
	addRepo(t, root, "control-plane", gitopstest.Commit{Files: files})
	check("no changes since ")

	for what, change := range map[string]func(){
		"an application": func() { addRepo(t, root, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "other")}) },
		"somebody changed what is published": func() {
			addRepo(t, root, "gitops", gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"x": "y"}})
		},
	} {
		change()
		again := asRelease(t, args...)
		require.Equal(t, cli.ExitDone, again.code, again.stderr)
		assert.Contains(t, again.stdout, "pushed ", what)
	}
	asked()
	recompiled := asRelease(t, append(args, "--recompile")...)
	require.Equal(t, cli.ExitDone, recompiled.code, recompiled.stderr)
	assert.Contains(t, asked()["app-1"], "git-upload-pack")
}

// TestNothingNewIsNotHalfDone: a run that failed between the push and the end of the pull request is finished by
// the next one, although there are no changes.
func TestNothingNewIsNotHalfDone(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	server := githubtest.NewServer(t, githubtest.Options{})
	repo := server.AddRepo("acme/gitops", githubtest.RepoOptions{Dir: filepath.Join(root, "gitops.git"), Collaborators: map[string]string{"ann": "write"}})
	server.AddToken("secret-token", githubtest.Token{Permissions: githubtest.AllPermissions()})
	env := map[string]string{"GITHUB_SERVER_URL": server.WebURL, "GITHUB_API_URL": server.URL, "GITHUB_TOKEN": "secret-token"}
	args := []string{
		"render", "--env", "dev", "--control-plane", acme("control-plane"), "--replace", acme("*") + "=" + root + "/*.git",
		"--replace", acme("gitops") + "=" + server.WebURL + "/acme/gitops", "--reviewer", "ann",
	}
	render := func(code int, want string) {
		t.Helper()
		again := asReleaseWith(t.Context(), env, args...)
		require.Equal(t, code, again.code, again.stderr)
		assert.Contains(t, again.stdout, want)
	}
	server.Inject(githubtest.HTTPError(http.StatusUnprocessableEntity), githubtest.On(http.MethodPost, "/repos/acme/gitops/pulls/1/requested_reviewers"))
	render(cli.ExitRemote, "pull request #1 created")
	server.Heal()
	render(cli.ExitDone, "pull request #1 updated")
	assert.Equal(t, []string{"ann"}, repo.Pull(1).Reviewers)
	render(cli.ExitDone, "no changes since ")

	addRepo(t, root, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "other")})
	server.Inject(githubtest.HTTPError(http.StatusForbidden), githubtest.On(http.MethodPatch, "/repos/acme/gitops/pulls/1"))
	render(cli.ExitRemote, "pushed ")
	server.Heal()
	render(cli.ExitDone, "pull request #1 updated")
	assert.Contains(t, repo.Pull(1).Body, "other")
	render(cli.ExitDone, "no changes since ")
}
