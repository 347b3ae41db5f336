package github_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
)

// answers is a server that answers each path with a list of pull requests.
func answers(t *testing.T, pulls string) *github.Repository {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/repos/acme/gitops" {
			fmt.Fprint(w, `{"id":1,"owner":{"login":"acme-new"}}`)
			return
		}
		if head := r.URL.Query().Get("head"); head != "" {
			assert.Equal(t, "acme-new:deploy", head, "of a repository that was moved, the filter knows the new owner only")
		}
		fmt.Fprint(w, pulls)
	})
}

func TestOpenTrustsNoFilter(t *testing.T) {
	t.Parallel()
	const branch = `{"number":%d,"state":"open","head":{"ref":"deploy","sha":"c","repo":%s},"base":{"ref":%q,"repo":{"id":1}}}`
	repo := answers(t, "["+
		fmt.Sprintf(branch, 1, `{"id":2}`, "main")+","+ // of a fork
		fmt.Sprintf(branch, 2, `null`, "main")+","+ // of a fork that is gone
		fmt.Sprintf(branch, 3, `{"id":1}`, "other")+","+
		fmt.Sprintf(branch, 4, `{"id":1,"full_name":"new/name"}`, "main")+","+
		fmt.Sprintf(branch, 4, `{"id":1}`, "main")+"]") // again, as the pages moved
	found, err := repo.Open(t.Context(), "main")
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, pullrequest.Request{Number: 4, State: pullrequest.Open, Head: "deploy", Base: "main", HeadCommit: "c"}, found[0])
}

func TestLast(t *testing.T) {
	t.Parallel()
	const closed = `{"number":%d,"state":"closed","merged_at":%s,"head":{"ref":%q,"repo":{"id":1}},"base":{"ref":"main","repo":{"id":1}}}`
	repo := answers(t, "["+
		fmt.Sprintf(closed, 3, `null`, "deploy")+","+
		fmt.Sprintf(closed, 7, `"2026-01-01T00:00:00Z"`, "deploy")+","+
		fmt.Sprintf(closed, 9, `null`, "other")+"]")
	last, err := repo.Last(t.Context(), "deploy", "main")
	require.NoError(t, err)
	require.NotNil(t, last)
	assert.Equal(t, 7, last.Number)
	assert.Equal(t, pullrequest.Merged, last.State)

	last, err = answers(t, "[]").Last(t.Context(), "deploy", "main")
	require.NoError(t, err)
	assert.Nil(t, last)
}

func TestCreateFindsTheOneThatIsThere(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	number := f.open(t)
	found, existed, err := f.repo.Create(t.Context(), pullrequest.NewRequest{Head: "deployment/main", Base: "main", Title: "Ours"})
	require.NoError(t, err)
	assert.True(t, existed)
	assert.Equal(t, number, found.Number)
	assert.Equal(t, "Mine", found.Title)
}

func TestCreateWaitsForTheListToShowIt(t *testing.T) {
	t.Parallel()
	posts := 0
	repo := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, "[]")
			return
		}
		posts++
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"A pull request already exists for acme:a."}]}`)
	})
	_, _, err := repo.Create(t.Context(), pullrequest.NewRequest{Head: "a", Base: "main"})
	require.ErrorIs(t, err, giterror.ErrConflict)
	assert.Equal(t, 3, posts)
}

func TestEditAndCloseNoticeWhatHappenedMeanwhile(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	number := f.open(t)
	require.NoError(t, f.repo.Edit(t.Context(), number, "New", "body"))
	assert.Equal(t, "New", f.remote.Pull(number).Title)
	require.NoError(t, f.repo.Close(t.Context(), number, "why"))
	assert.Equal(t, "why", f.remote.Pull(number).Body)
	require.ErrorIs(t, f.repo.Edit(t.Context(), number, "New", "body"), giterror.ErrConflict)

	number = f.open(t)
	f.remote.MergePull(number, "squash")
	require.ErrorIs(t, f.repo.Close(t.Context(), number, "why"), giterror.ErrConflict)
	require.ErrorContains(t, f.repo.Edit(t.Context(), number, "New", "body"), "update pull request #2 in acme/gitops: it is merged")
}

func TestLabels(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	number := f.open(t)
	odd := []string{"promoted", "a/b?c#d%20e", "größer als"}
	require.NoError(t, f.repo.AddLabels(t.Context(), number, odd))
	assert.Equal(t, odd, f.remote.Pull(number).Labels)
	made := f.remote.Labels()
	require.Len(t, made, 3)
	assert.Equal(t, githubtest.Label{Name: "promoted", Color: "1d76db", Description: "A commit was promoted to this environment"}, made[0])

	f.hub.Forget()
	require.NoError(t, f.repo.AddLabels(t.Context(), number, odd))
	assert.Len(t, f.hub.Writes(), 1, "no label is made twice")
	for range 2 {
		for _, label := range odd {
			require.NoError(t, f.repo.RemoveLabel(t.Context(), number, label))
		}
	}
	assert.Empty(t, f.remote.Pull(number).Labels)
}

func TestLabelThatSomebodyElseMakes(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	number := f.open(t)
	f.hub.Inject(githubtest.HTTPError(http.StatusNotFound), githubtest.First(1, func(r githubtest.Request) bool {
		return r.Path == "/repos/acme/gitops/labels/promoted"
	}))
	f.remote.SetLabels(number, "promoted")
	require.NoError(t, f.repo.AddLabels(t.Context(), number, []string{"promoted"}))
}

func TestReviewers(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	number := f.open(t)
	require.NoError(t, f.repo.RequestReviews(t.Context(), number, []string{"@ann", "Acme/fleet"}))
	assert.Equal(t, []string{"ann"}, f.remote.Pull(number).Reviewers)
	assert.Equal(t, []string{"fleet"}, f.remote.Pull(number).Teams)

	for name, test := range map[string]struct {
		reviewers []string
		want      string
		hint      string
	}{
		"the author":      {[]string{"cid"}, "Review cannot be requested from pull request author", ""},
		"an outsider":     {[]string{"eve"}, "is not a collaborator", ""},
		"an unknown team": {[]string{"acme/nobody"}, "is not a collaborator", `"members: read"`},
		"another owner's": {[]string{"else/fleet"}, `the team "else/fleet" is not of the organization acme`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := f.repo.RequestReviews(t.Context(), number, test.reviewers)
			var failed *github.Error
			require.ErrorAs(t, err, &failed)
			assert.Contains(t, err.Error(), test.want)
			assert.Contains(t, failed.Hint, test.hint)
		})
	}
}

func TestAssignees(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	number := f.open(t)
	require.NoError(t, f.repo.Assign(t.Context(), number, []string{"ann"}))
	err := f.repo.Assign(t.Context(), number, []string{"bob", "eve"})
	require.ErrorContains(t, err, "GitHub does not assign eve")
	assert.Equal(t, []string{"ann", "bob"}, f.remote.Pull(number).Assignees)
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status     int
		header     http.Header
		message    string
		kind       github.Kind
		permission string
		hint       string
	}{
		"permission": {
			status: 403, message: "Resource not accessible by personal access token", kind: github.Denied, permission: "pull requests: write", hint: "needs",
		},
		"hidden": {status: 404, message: "Not Found", kind: github.NotFound, permission: "pull requests: write", hint: "not found, or not visible to the token"},
		"actions": {
			status: 403, message: "GitHub Actions is not permitted to create or approve pull requests.", kind: github.Denied,
			permission: "pull requests: write", hint: "tick “Allow GitHub Actions to create and approve pull requests”",
		},
		"archived":  {status: 403, message: "Repository was archived so is read-only.", kind: github.Invalid, hint: "archived"},
		"SSO":       {status: 403, header: http.Header{"X-Github-Sso": {"required; url=https://github.com/x"}}, message: "Resource protected", kind: github.Denied, hint: "single sign-on"},
		"addresses": {status: 403, message: "the organization has an IP allow list enabled", kind: github.Denied, hint: "address"},
		"expired":   {status: 401, message: "Bad credentials", kind: github.Denied, hint: "expired"},
		"too long":  {status: 422, message: "Validation Failed", kind: github.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				for key, values := range test.header {
					w.Header()[key] = values
				}
				w.WriteHeader(test.status)
				fmt.Fprintf(w, `{"message":%q,"errors":["body is too long",{"field":"title","code":"missing_field"}]}`, test.message)
			})
			err := repo.Edit(t.Context(), 1, "title", "body")
			var failed *github.Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, test.kind, failed.Kind)
			assert.Equal(t, test.permission, failed.Permission)
			assert.Contains(t, failed.Hint, test.hint)
			assert.Equal(t, fmt.Sprintf("update pull request #1 in acme/gitops: GitHub answers %d: %s: body is too long: title is missing field",
				test.status, test.message), err.Error())
			assert.NotErrorIs(t, err, giterror.ErrConflict)
		})
	}
}
