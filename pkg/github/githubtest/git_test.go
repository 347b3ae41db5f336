package githubtest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-github/v53/github"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// fill makes a bare repository: main has moved on since deploy, of two commits, and conflict left it; level is
// where main was then.
func fill(dir string) error {
	start := gitopstest.Files{"a": "1\n", "b": "1\n"}
	if _, err := gitopstest.Bare(dir, gitopstest.Commit{Files: start}); err != nil {
		return err
	}
	for _, branch := range []string{"deploy", "conflict", "level"} {
		if _, err := gitopstest.Git(dir, "branch", branch, "main"); err != nil {
			return err
		}
	}
	_, err := gitopstest.Add(
		dir,
		gitopstest.Commit{Message: "move on", Files: gitopstest.Files{"a": "main\n", "b": "1\n"}},
		gitopstest.Commit{Branch: "conflict", Files: gitopstest.Files{"a": "conflict\n", "b": "1\n"}},
		gitopstest.Commit{Branch: "deploy", Message: "first", Files: gitopstest.Files{"a": "1\n", "b": "2\n"}},
		gitopstest.Commit{Branch: "deploy", Message: "second", Files: gitopstest.Files{"a": "1\n", "b": "2\n", "c": "3\n"}},
	)
	return err
}

// newGitHub makes a hub with the repository of fill.
func newGitHub(t *testing.T, options githubtest.RepoOptions) *hub {
	t.Helper()
	options.Dir = filepath.Join(t.TempDir(), "gitops.git")
	require.NoError(t, fill(options.Dir))
	return newHub(t, githubtest.Options{}, options)
}

// git runs git in the repository.
func (h *hub) git(args ...string) string {
	h.t.Helper()
	out, err := gitopstest.Git(h.repo.Dir(), args...)
	require.NoError(h.t, err)
	return strings.TrimSpace(out)
}

func TestMergeMethods(t *testing.T) {
	t.Parallel()
	for method, test := range map[string]struct {
		log     string
		parents int
	}{
		"merge":  {"Merge pull request #1 from acme/deploy|second|first|move on|test", 2},
		"squash": {"Deploy (#1)|move on|test", 1},
		"rebase": {"second|first|move on|test", 1},
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			h := newGitHub(t, githubtest.RepoOptions{})
			ctx, client := t.Context(), h.client("secret")
			opened := h.open("deploy")
			assert.Equal(t, "clean", opened.GetMergeableState())
			before := h.git("rev-parse", "deploy")
			result, _, err := client.PullRequests.Merge(ctx, "acme", "gitops", 1, "", &github.PullRequestOptions{
				MergeMethod: method, SHA: before,
			})
			require.NoError(t, err)
			assert.True(t, result.GetMerged())
			assert.Equal(t, h.git("rev-parse", "main"), result.GetSHA())
			assert.Equal(t, test.log, strings.ReplaceAll(h.git("log", "--topo-order", "--format=%s", "main"), "\n", "|"))
			assert.Len(t, strings.Fields(h.git("log", "-1", "--format=%P", "main")), test.parents)
			assert.Equal(t, "main\n2\n3", h.git("show", "main:a", "main:b", "main:c"))
			assert.Equal(t, before, h.git("rev-parse", "deploy"), "the head stays")
			_, err = gitopstest.Git(h.repo.Dir(), "fsck", "--strict")
			require.NoError(t, err)
			merged := h.repo.Pull(1)
			assert.True(t, merged.Merged)
			assert.False(t, merged.Open)
			shown, _, err := client.PullRequests.Get(ctx, "acme", "gitops", 1)
			require.NoError(t, err)
			assert.True(t, shown.GetMerged())
			assert.Equal(t, "closed", shown.GetState())
			_, _, err = client.PullRequests.Edit(ctx, "acme", "gitops", 1, &github.PullRequest{State: new("open")})
			status, _, problems := refusal(t, err)
			assert.Equal(t, 422, status)
			assert.Contains(t, problems[0].Message, "state cannot be changed")
		})
	}
}

func TestMergeRefused(t *testing.T) {
	t.Parallel()
	for about, test := range map[string]struct {
		head    string
		options githubtest.RepoOptions
		ask     github.PullRequestOptions
		prepare func(*hub)
		status  int
		want    string
	}{
		"conflict": {head: "conflict", status: 405, want: "Pull Request is not mergeable"},
		"other head": {
			head: "deploy", ask: github.PullRequestOptions{SHA: githubtest.CommitID("x")},
			status: 409, want: "Head branch was modified. Review and try the merge again.",
		},
		"method": {
			head: "deploy", ask: github.PullRequestOptions{MergeMethod: "squash"},
			options: githubtest.RepoOptions{MergeMethods: []string{"merge"}},
			status:  405, want: "Squash merges are not allowed on this repository.",
		},
		"checks": {
			head: "deploy", options: githubtest.RepoOptions{RequiredChecks: []string{"build"}},
			status: 405, want: "Repository rule violations found",
		},
		"base moved": {
			head: "deploy", prepare: func(h *hub) { h.repo.SetMergeableState(1, "unknown") },
			status: 405, want: "Base branch was modified. Review and try the merge again.",
		},
		"closed": {
			head: "deploy", prepare: func(h *hub) { h.repo.Close(1) }, status: 405, want: "Pull Request is not mergeable",
		},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			h := newGitHub(t, test.options)
			h.open(test.head)
			if test.prepare != nil {
				test.prepare(h)
			}
			before := h.git("rev-parse", "main")
			_, _, err := h.client("secret").PullRequests.Merge(t.Context(), "acme", "gitops", 1, "", &test.ask)
			status, message, _ := refusal(t, err)
			assert.Equal(t, test.status, status)
			assert.Contains(t, message, test.want)
			assert.Equal(t, before, h.git("rev-parse", "main"))
		})
	}
}

// TestPullRequestsFollowTheirBranches pushes with git, outside the API.
func TestPullRequestsFollowTheirBranches(t *testing.T) {
	t.Parallel()
	for about, test := range map[string]struct {
		push         func(h *hub)
		open, merged bool
	}{
		"head pushed": {open: true, push: func(h *hub) {
			h.repo.Push(gitopstest.Commit{Branch: "deploy", Files: gitopstest.Files{"z": "1"}})
		}},
		"base pushed":        {open: true, push: func(h *hub) { h.repo.Push(gitopstest.Commit{Files: gitopstest.Files{"z": "1"}}) }},
		"head deleted":       {push: func(h *hub) { h.repo.DeleteBranch("deploy") }},
		"base deleted":       {push: func(h *hub) { h.git("update-ref", "-d", "refs/heads/main") }},
		"head reset to base": {push: func(h *hub) { h.git("update-ref", "refs/heads/deploy", "main") }},
		"merged with git": {merged: true, push: func(h *hub) {
			tree := h.git("merge-tree", "--write-tree", "main", "deploy")
			h.git("update-ref", "refs/heads/main", h.git("commit-tree", tree, "-p", "main", "-p", "deploy", "-m", "by hand"))
		}},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			h := newGitHub(t, githubtest.RepoOptions{})
			h.open("deploy")
			before := h.repo.Pull(1).HeadCommit
			test.push(h)
			shown, _, err := h.client("secret").PullRequests.Get(t.Context(), "acme", "gitops", 1)
			require.NoError(t, err)
			assert.Equal(t, test.open, shown.GetState() == "open")
			assert.Equal(t, test.merged, shown.GetMerged())
			if tip, there := h.repo.Branches()["deploy"]; there {
				assert.Equal(t, tip, shown.GetHead().GetSHA())
			} else {
				assert.Equal(t, before, shown.GetHead().GetSHA(), "what it was")
			}
		})
	}
}

func TestNoCommitsBetween(t *testing.T) {
	t.Parallel()
	h := newGitHub(t, githubtest.RepoOptions{})
	_, _, err := h.client("secret").PullRequests.Create(t.Context(), "acme", "gitops",
		&github.NewPullRequest{Title: new("t"), Head: new("level"), Base: new("main")})
	status, message, problems := refusal(t, err)
	assert.Equal(t, 422, status)
	assert.Equal(t, "Validation Failed", message)
	assert.Equal(t, []github.Error{{
		Resource: "PullRequest", Code: "custom", Message: "No commits between main and level",
	}}, problems)
}

// TestGitOverHTTP fetches and pushes with a token, as far as the token goes.
func TestGitOverHTTP(t *testing.T) {
	t.Parallel()
	h := newGitHub(t, githubtest.RepoOptions{Private: true})
	h.AddToken("reader", githubtest.Token{Permissions: map[string]string{"contents": "read"}})
	address := func(secret string) string {
		return strings.Replace(h.WebURL, "http://", "http://x-access-token:"+secret+"@", 1) + "/" + name + ".git"
	}
	clone := filepath.Join(t.TempDir(), "clone")
	require.Error(t, gitopstest.Clone(h.WebURL+"/"+name+".git", clone), "it is private")
	require.NoError(t, gitopstest.Clone(address("reader"), clone))
	_, err := gitopstest.Git(clone, "push", "--quiet", address("reader"), "HEAD:refs/heads/new")
	require.ErrorContains(t, err, "403")
	_, err = gitopstest.Git(clone, "push", "--quiet", address("wrong"), "HEAD:refs/heads/new")
	require.ErrorContains(t, err, "Authentication failed")
	_, err = gitopstest.Git(clone, "push", "--quiet", address("secret"), "HEAD:refs/heads/new")
	require.NoError(t, err)
	assert.Contains(t, h.repo.Branches(), "new")
	assert.Empty(t, h.Requests(), "only the API is recorded")
}
