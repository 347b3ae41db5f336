package githubtest_test

import (
	"strings"
	"testing"

	"github.com/google/go-github/v53/github"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	h := newGitHub(t, githubtest.RepoOptions{})
	h.repo.Push(gitopstest.Commit{Branch: "orphan/branch", Files: gitopstest.Files{"z": "1"}})
	for about, test := range map[string]struct {
		base, head    string
		status        string
		ahead, behind int
	}{
		"itself":      {"main", "main", "identical", 0, 0},
		"descendant":  {"level", "deploy", "ahead", 2, 0},
		"ancestor":    {"deploy", "level", "behind", 0, 2},
		"branched":    {"main", "deploy", "diverged", 2, 1},
		"by their id": {h.git("rev-parse", "main"), h.git("rev-parse", "deploy"), "diverged", 2, 1},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			got, answer, err := h.client("secret").Repositories.CompareCommits(t.Context(), "acme", "gitops", test.base, test.head, &github.ListOptions{PerPage: 1})
			require.NoError(t, err)
			assert.Equal(t, test.status, got.GetStatus())
			assert.Equal(t, test.ahead, got.GetAheadBy())
			assert.Equal(t, test.behind, got.GetBehindBy())
			assert.Equal(t, test.ahead, got.GetTotalCommits())
			assert.Len(t, got.Commits, min(1, test.ahead))
			assert.Equal(t, test.ahead > 1, answer.NextPage == 2)
			assert.Equal(t, h.git("merge-base", test.base, test.head), got.GetMergeBaseCommit().GetSHA())
		})
	}
	for about, test := range map[string]struct{ base, head, want string }{
		"no base":   {"gone", "main", "Not Found"},
		"no head":   {"main", githubtest.CommitID("x"), "Not Found"},
		"unrelated": {"main", "orphan/branch", "No common ancestor between main and orphan/branch."},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			_, _, err := h.client("secret").Repositories.CompareCommits(t.Context(), "acme", "gitops", test.base, test.head, nil)
			status, message, _ := refusal(t, err)
			assert.Equal(t, 404, status)
			assert.Equal(t, test.want, message)
		})
	}
}

// TestContextsHaveNoCase: GitHub describes them as case-insensitive.
func TestContextsHaveNoCase(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{})
	main := githubtest.CommitID("main")
	for _, context := range []string{"Dev", "dev", "ci", "DEV"} {
		h.repo.SetStatus(githubtest.Status{Commit: main, Context: context, State: "success"})
	}
	newest := h.repo.NewestStatuses(main)
	require.Len(t, newest, 2)
	assert.Equal(t, "DEV", newest[0].Context)
	assert.Equal(t, "ci", newest[1].Context)
	for range 997 {
		h.repo.SetStatus(githubtest.Status{Commit: main, Context: "dEv", State: "success"})
	}
	_, _, err := h.client("secret").Repositories.CreateStatus(t.Context(), "acme", "gitops", main, &github.RepoStatus{
		State: new("success"), Context: new("deV"),
	})
	status, _, problems := refusal(t, err)
	assert.Equal(t, 422, status)
	assert.Equal(t, "This SHA and context has reached the maximum number of statuses.", problems[0].Message)
}

func TestStatusOfACommitThatIsNotThere(t *testing.T) {
	t.Parallel()
	h := newGitHub(t, githubtest.RepoOptions{})
	_, _, err := h.client("secret").Repositories.CreateStatus(t.Context(), "acme", "gitops", githubtest.CommitID("x"), &github.RepoStatus{State: new("success")})
	status, message, _ := refusal(t, err)
	assert.Equal(t, 422, status)
	assert.Equal(t, "No commit found for SHA: "+githubtest.CommitID("x"), message)
}

func TestProtectedBranches(t *testing.T) {
	t.Parallel()
	h := newGitHub(t, githubtest.RepoOptions{})
	h.repo.Protect("main")
	h.repo.Protect("main")
	clone := t.TempDir() + "/clone"
	require.NoError(t, gitopstest.Clone(strings.Replace(h.WebURL, "http://", "http://x:secret@", 1)+"/acme/gitops.git", clone))
	_, err := gitopstest.Git(clone, "commit", "--quiet", "--allow-empty", "--message=by hand")
	require.NoError(t, err)
	_, err = gitopstest.Git(clone, "push", "origin", "HEAD:main", "HEAD:topic")
	require.ErrorContains(t, err, "GH013: Repository rule violations found for refs/heads/main.")
	require.ErrorContains(t, err, "- Changes must be made through a pull request.")
	assert.NotEmpty(t, h.repo.Branches()["topic"], "others are not protected")

	number := h.repo.OpenPull(githubtest.Pull{Issue: githubtest.Issue{Title: "By hand"}, Head: "topic", Base: "main"}).Number
	h.repo.MergePull(number, "rebase")
	assert.Equal(t, "by hand", h.git("log", "-1", "--format=%s", "main"))
}

// TestMergeQueue: what was on a pull request each comes in one push, in order, and nothing is left over.
func TestMergeQueue(t *testing.T) {
	t.Parallel()
	for method, log := range map[string]string{
		"merge":  "Merge pull request #2 from acme/other|other|Merge pull request #1 from acme/deploy|second|first|move on|test",
		"squash": "Other (#2)|Deploy (#1)|move on|test",
		"rebase": "other|second|first|move on|test",
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			h := newGitHub(t, githubtest.RepoOptions{})
			h.git("branch", "other", "level")
			h.repo.Push(gitopstest.Commit{Branch: "other", Message: "other", Files: gitopstest.Files{"a": "1\n", "b": "1\n", "d": "1\n"}})
			h.open("deploy")
			h.repo.OpenPull(githubtest.Pull{Issue: githubtest.Issue{Title: "Other"}, Head: "other", Base: "main"})
			tip := h.repo.MergeQueue(method, 1, 2)
			assert.Equal(t, h.git("rev-parse", "main"), tip)
			assert.Equal(t, log, strings.ReplaceAll(h.git("log", "--topo-order", "--format=%s", "main"), "\n", "|"))
			assert.Equal(t, "main\n2\n3\n1", h.git("show", "main:a", "main:b", "main:c", "main:d"))
			for n := 1; n <= 2; n++ {
				assert.True(t, h.repo.Pull(n).Merged)
			}
			assert.Equal(t, tip, h.repo.Pull(2).MergeCommit)
			assert.NotEqual(t, tip, h.repo.Pull(1).MergeCommit)
			assert.Len(t, h.repo.Branches(), 5, "its own branch is gone")
		})
	}
}

func TestMergeQueueRefused(t *testing.T) {
	t.Parallel()
	for about, test := range map[string]struct {
		method  string
		numbers []int
		want    string
	}{
		"nothing":       {"merge", nil, "a merge queue merges pull requests"},
		"another way":   {"octopus", []int{1}, `with "octopus"`},
		"not there":     {"merge", []int{1, 7}, "there is no issue or pull request 7"},
		"twice":         {"merge", []int{1, 1}, "1 is not an open pull request into main"},
		"another base":  {"merge", []int{1, 2}, "2 is not an open pull request into main"},
		"in a conflict": {"merge", []int{3}, "not mergeable"},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			var failed error
			h := newGitHub(t, githubtest.RepoOptions{})
			hub, err := githubtest.Start(githubtest.Options{Fail: func(err error) { failed = err }})
			require.NoError(t, err)
			t.Cleanup(hub.Close)
			repo := hub.AddRepo(name, githubtest.RepoOptions{Dir: h.repo.Dir()})
			for _, p := range []githubtest.Pull{{Head: "deploy", Base: "main"}, {Head: "deploy", Base: "level"}, {Head: "conflict", Base: "main"}} {
				p.Title = "t"
				repo.OpenPull(p)
			}
			require.NoError(t, failed)
			before := repo.Branches()["main"]
			repo.MergeQueue(test.method, test.numbers...)
			require.ErrorContains(t, failed, test.want)
			assert.Equal(t, before, repo.Branches()["main"], "it comes as a whole or not at all")
		})
	}
}
