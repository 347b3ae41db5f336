package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// mergeDeployment merges the deployment branch of a GitOps repository, as a person does.
func mergeDeployment(t *testing.T, root string) {
	t.Helper()
	git := func(args ...string) string {
		out, err := gitopstest.Git(filepath.Join(root, "gitops.git"), args...)
		require.NoError(t, err)
		return strings.TrimSpace(out)
	}
	git("update-ref", "refs/heads/dev", git("commit-tree", "deployment/dev^{tree}", "-p", "dev", "-p", "deployment/dev", "-m", "Merge"))
}

// comesBack removes a repository, and returns a function that restores it.
func comesBack(t *testing.T, root, repo string) func() {
	t.Helper()
	at, away := filepath.Join(root, repo+".git"), filepath.Join(root, "away")
	require.NoError(t, os.Rename(at, away))
	return func() { require.NoError(t, os.Rename(away, at)) }
}

// TestR23HeldIsNotNothingNew: what was published while something was held back counts for nothing when that can be
// read again, although all sources are at the commits of its trailers.
func TestR23HeldIsNotNothingNew(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	pinBase(t, root)
	args := []string{"render", "--env", "dev", "--keep-last-good", "--control-plane", acme("control-plane"), "--replace", acme("*") + "=" + root + "/*.git"}
	first := asRelease(t, args...)
	require.Equal(t, cli.ExitDone, first.code, first.stderr)
	mergeDeployment(t, root)
	good := tipOf(t, root, "app-2", "main")
	back := comesBack(t, root, "app-2")
	addRepo(t, root, "app-3", gitopstest.Commit{Files: gitopstest.Files{workloadFile: strings.ReplaceAll(acmeApp("app-3", "main")[workloadFile], "web", "api")}})
	got := asRelease(t, args...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	mergeDeployment(t, root)
	require.Contains(t, publishedAcme(t, root, "dev"), "edge/app-3-web/reconciler.yaml", "nobody can tell whose it is")

	back()
	require.Equal(t, good, tipOf(t, root, "app-2", "main"))
	got = asRelease(t, args...)
	require.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.Contains(t, got.stdout, "- edge/app-3-web")
	mergeDeployment(t, root)
	assert.NotContains(t, publishedAcme(t, root, "dev"), "edge/app-3-web/reconciler.yaml")
	assert.NotContains(t, lastMessage(t, root), "Held")

	got = asRelease(t, args...)
	assert.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.Contains(t, got.stdout, "no changes since ")
}

// TestR23HeldPullRequest: the pull request does not say any more that something is held back when nothing is, although
// the tree, and so the commit with its trailer, is the same.
func TestR23HeldPullRequest(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	server := githubtest.NewServer(t, githubtest.Options{})
	repo := server.AddRepo("acme/gitops", githubtest.RepoOptions{Dir: filepath.Join(root, "gitops.git")})
	server.AddToken("secret-token", githubtest.Token{Permissions: githubtest.AllPermissions()})
	env := map[string]string{"GITHUB_SERVER_URL": server.WebURL, "GITHUB_API_URL": server.URL, "GITHUB_TOKEN": "secret-token"}
	render := func(code int) outcome {
		t.Helper()
		got := asReleaseWith(t.Context(), env, "render", "--env", "dev", "--keep-last-good", "--control-plane", acme("control-plane"),
			"--replace", acme("*")+"="+root+"/*.git", "--replace", acme("gitops")+"="+server.WebURL+"/acme/gitops")
		require.Equal(t, code, got.code, got.stderr)
		return got
	}
	render(cli.ExitDone)
	repo.MergePull(1, "merge")
	back := comesBack(t, root, "app-2")
	addRepo(t, root, "app-3", gitopstest.Commit{Files: acmeApp("app-3", "new")})
	render(cli.ExitModel)
	newest := repo.Pull(2)
	require.Contains(t, newest.Title, "1 registration quarantined")
	proposed := tipOf(t, root, "gitops", "deployment/dev")

	back()
	render(cli.ExitDone)
	newest = repo.Pull(2)
	assert.NotContains(t, newest.Title, "quarantined")
	assert.NotContains(t, newest.Body, "quarantined")
	assert.Equal(t, proposed, tipOf(t, root, "gitops", "deployment/dev"), "approvals stay")
}
