package githubtest_test

import (
	"errors"
	"testing"

	"github.com/google/go-github/v53/github"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
)

// TestPeople does outside the API what clients find later.
func TestPeople(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{})
	opened := h.repo.OpenPull(githubtest.Pull{
		Issue: githubtest.Issue{Title: "By hand", Author: "ada", Labels: []string{"mine"}}, Head: "deploy", Base: "main",
	})
	h.repo.Edit(opened.Number, "By me", "why")
	h.repo.Comment(opened.Number, "ada", "look")
	h.repo.SetLabels(opened.Number, "a", "b")
	h.repo.Close(opened.Number)
	h.repo.Reopen(opened.Number)
	ctx, client := t.Context(), h.client("secret")
	shown, _, err := client.PullRequests.Get(ctx, "acme", "gitops", opened.Number)
	require.NoError(t, err)
	assert.Equal(t, "By me", shown.GetTitle())
	assert.Equal(t, "why", shown.GetBody())
	assert.Equal(t, "ada", shown.GetUser().GetLogin())
	assert.Equal(t, "open", shown.GetState())
	comments, _, err := client.Issues.ListComments(ctx, "acme", "gitops", opened.Number, nil)
	require.NoError(t, err)
	assert.Equal(t, "look", comments[0].GetBody())
	assert.Len(t, shown.Labels, 2)
	issue := h.repo.OpenIssue(githubtest.Issue{Title: "Broken", Author: "ada", Labels: []string{"mine"}})
	h.repo.Close(issue.Number)
	h.repo.Reopen(issue.Number)
	assert.Equal(t, "#2 Broken [mine]", h.repo.Issues()[0].String())
	assert.Empty(t, h.Writes())
	assert.Same(t, h.repo, h.Repo("ACME/GitOps"), "names are the same in any case")
	assert.Nil(t, h.Repo("acme/other"))
}

// TestWhatIsReadIsACopy: nothing that a test does to it changes the server.
func TestWhatIsReadIsACopy(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{})
	h.open("deploy")
	h.repo.SetLabels(1, "a")
	h.repo.Comment(1, "ada", "x")
	p := h.repo.Pull(1)
	p.Labels[0], p.Comments[0].Body = "b", "y"
	h.repo.Branches()["main"] = ""
	assert.Equal(t, []string{"a"}, h.repo.Pull(1).Labels)
	assert.Equal(t, "x", h.repo.Comments(1)[0].Body)
	assert.NotEmpty(t, h.repo.Branches()["main"])
}

// TestWhatCannotBe: a test that asks for it is wrong, and learns it.
func TestWhatCannotBe(t *testing.T) {
	t.Parallel()
	for about, do := range map[string]func(r *githubtest.Repo){
		"there is no issue or pull request 7": func(r *githubtest.Repo) { r.Close(7) },
		"2 is not an open pull request":       func(r *githubtest.Repo) { r.MergePull(2, "merge") },
		`there is no merge method "fast"`:     func(r *githubtest.Repo) { r.MergePull(1, "fast") },
		"422 Validation Failed":               func(r *githubtest.Repo) { r.OpenPull(githubtest.Pull{}) },
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			var problem error
			h := newHub(t, githubtest.Options{Fail: func(err error) { problem = errors.Join(problem, err) }}, githubtest.RepoOptions{})
			h.open("deploy")
			h.repo.OpenIssue(githubtest.Issue{Title: "t"})
			do(h.repo)
			require.ErrorContains(t, problem, about)
		})
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{})
	h.open("deploy")
	_, _, err := h.client("").PullRequests.List(t.Context(), "acme", "gitops", &github.PullRequestListOptions{State: "all"})
	require.NoError(t, err)
	requests := h.Requests()
	require.Len(t, requests, 2)
	assert.Equal(t, "POST /repos/acme/gitops/pulls", requests[0].String())
	assert.Equal(t, "workflow", requests[0].Token)
	assert.Equal(t, "GET /repos/acme/gitops/pulls?state=all", requests[1].String())
	assert.Empty(t, requests[1].Token)
	var asked struct{ Head string }
	require.NoError(t, requests[0].Decode(&asked))
	assert.Equal(t, "deploy", asked.Head)
	assert.Len(t, h.Writes(), 1)
	h.Forget()
	assert.Empty(t, h.Requests())
	h.Inject(githubtest.HTTPError(500), githubtest.Always)
	h.Heal()
	h.repo.DeleteBranch("deploy")
	h.repo.SetBranch("deploy", githubtest.CommitID("again"))
	h.open("deploy")
	assert.Equal(t, 1, h.Writes()[0].Number, "counting starts anew")
}
