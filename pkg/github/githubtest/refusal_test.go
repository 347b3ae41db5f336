package githubtest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v53/github"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
)

func pull(title, head, base string) *github.NewPullRequest {
	return &github.NewPullRequest{Title: &title, Head: &head, Base: &base}
}

// TestRefusals has what GitHub refuses, each once. There is a pull request from taken into main.
func TestRefusals(t *testing.T) {
	t.Parallel()
	type what struct {
		h      *hub
		client *github.Client
	}
	issue := func(title, body string) func(w what) error {
		return func(w what) error {
			_, _, err := w.client.Issues.Create(w.h.t.Context(), "acme", "gitops", &github.IssueRequest{Title: &title, Body: &body})
			return err
		}
	}
	open := func(p *github.NewPullRequest) func(w what) error {
		return func(w what) error {
			_, _, err := w.client.PullRequests.Create(w.h.t.Context(), "acme", "gitops", p)
			return err
		}
	}
	review := func(people, teams []string) func(w what) error {
		return func(w what) error {
			_, _, err := w.client.PullRequests.RequestReviewers(w.h.t.Context(), "acme", "gitops", 1,
				github.ReviewersRequest{Reviewers: people, TeamReviewers: teams})
			return err
		}
	}
	label := func(l github.Label) func(w what) error {
		return func(w what) error {
			_, _, err := w.client.Issues.CreateLabel(w.h.t.Context(), "acme", "gitops", &l)
			return err
		}
	}
	status := func(commit string, s github.RepoStatus) func(w what) error {
		return func(w what) error {
			s.State = new("success")
			_, _, err := w.client.Repositories.CreateStatus(w.h.t.Context(), "acme", "gitops", commit, &s)
			return err
		}
	}
	main := githubtest.CommitID("main")
	long := func(n int) string { return strings.Repeat("ü", n) }

	for about, test := range map[string]struct {
		do      func(w what) error
		status  int
		message string
		problem github.Error
	}{
		"exists": {
			open(pull("t", "taken", "main")), 422, "Validation Failed",
			github.Error{Resource: "PullRequest", Code: "custom", Message: "A pull request already exists for acme:taken."},
		},
		"exists, by owner": {
			open(pull("t", "acme:taken", "main")), 422, "Validation Failed",
			github.Error{Resource: "PullRequest", Code: "custom", Message: "A pull request already exists for acme:taken."},
		},
		"no commits": {
			open(pull("t", "main", "main")), 422, "Validation Failed",
			github.Error{Resource: "PullRequest", Code: "custom", Message: "No commits between main and main"},
		},
		"no head": {
			open(pull("t", "gone", "main")), 422, "Validation Failed",
			github.Error{Resource: "PullRequest", Code: "invalid", Field: "head"},
		},
		"no base": {
			open(pull("t", "deploy", "gone")), 422, "Validation Failed",
			github.Error{Resource: "PullRequest", Code: "invalid", Field: "base"},
		},
		"no title": {
			issue("", ""), 422, "Validation Failed", github.Error{Resource: "Issue", Code: "missing_field", Field: "title"},
		},
		"long title": {
			open(pull(long(257), "deploy", "main")), 422, "Validation Failed", github.Error{
				Resource: "Issue", Code: "custom", Field: "title", Message: "title is too long (maximum is 256 characters)",
			},
		},
		"long body": {
			issue("t", long(65_537)), 422, "Validation Failed", github.Error{
				Resource: "Issue", Code: "custom", Field: "body", Message: "body is too long (maximum is 65536 characters)",
			},
		},
		"longest body": {do: issue(long(256), long(65_536))},
		"long comment": {
			func(w what) error {
				_, _, err := w.client.Issues.CreateComment(w.h.t.Context(), "acme", "gitops", 1, &github.IssueComment{Body: new(long(65_537))})
				return err
			}, 422, "Validation Failed", github.Error{
				Resource: "IssueComment", Code: "unprocessable", Field: "data",
				Message: "Body is too long (maximum is 65536 characters)",
			},
		},
		"blank comment": {
			func(w what) error {
				_, _, err := w.client.Issues.CreateComment(w.h.t.Context(), "acme", "gitops", 1, &github.IssueComment{Body: new(" ")})
				return err
			}, 422, "Validation Failed",
			github.Error{Resource: "IssueComment", Code: "unprocessable", Field: "data", Message: "Body cannot be blank"},
		},
		"no pull request": {
			func(w what) error {
				_, _, err := w.client.PullRequests.Get(w.h.t.Context(), "acme", "gitops", 7)
				return err
			}, 404, "Not Found", github.Error{},
		},
		"no branch": {
			func(w what) error {
				_, _, err := w.client.Git.GetRef(w.h.t.Context(), "acme", "gitops", "heads/gone/for/good")
				return err
			}, 404, "Not Found", github.Error{},
		},
		"reviewer without access": {
			review([]string{"stranger"}, nil), 422, "Reviews may only be requested from collaborators. One or more of the " +
				"users or teams you specified is not a collaborator of the acme/gitops repository.", github.Error{},
		},
		"team without access": {
			review(nil, []string{"strangers"}), 422, "Reviews may only be requested from collaborators. One or more of the " +
				"users or teams you specified is not a collaborator of the acme/gitops repository.", github.Error{},
		},
		"review by the author": {
			review([]string{"github-actions[bot]"}, nil), 422, "Review cannot be requested from pull request author.", github.Error{},
		},
		"team that the token cannot see": {
			func(w what) error {
				w.h.AddToken("secret", githubtest.Token{Permissions: map[string]string{"pull_requests": "write"}})
				return review([]string{"ada"}, []string{"owners"})(w)
			}, 422, "Validation Failed", github.Error{Message: "Could not resolve to a node with the global id of 'T_owners'."},
		},
		"reviewers":    {do: review([]string{"ada"}, []string{"owners"})},
		"label exists": {label(github.Label{Name: new("BUG")}), 422, "Validation Failed", github.Error{Resource: "Label", Code: "already_exists", Field: "name"}},
		"no label": {
			func(w what) error {
				_, _, err := w.client.Issues.GetLabel(w.h.t.Context(), "acme", "gitops", "gone")
				return err
			}, 404, "Not Found", github.Error{},
		},
		"label is not on": {
			func(w what) error {
				_, err := w.client.Issues.RemoveLabelForIssue(w.h.t.Context(), "acme", "gitops", 1, "bug")
				return err
			}, 404, "Label does not exist", github.Error{},
		},
		"status of nothing": {
			status(strings.Repeat("x", 40), github.RepoStatus{}), 422, "Validation Failed",
			github.Error{Resource: "Status", Code: "custom", Field: "sha", Message: "sha must be a 40 character SHA1"},
		},
		"emoji": {
			status(main, github.RepoStatus{Description: new("\U0001f41b")}), 422, "Validation Failed", github.Error{
				Resource: "Status", Code: "custom", Field: "description", Message: "description doesn't accept 4-byte Unicode",
			},
		},
		"long description": {
			status(main, github.RepoStatus{Description: new(long(141))}), 422, "Validation Failed", github.Error{
				Resource: "Status", Code: "custom", Field: "description", Message: "description is too long (maximum is 140 characters)",
			},
		},
		"link to a file": {
			status(main, github.RepoStatus{TargetURL: new("file:///x")}), 422, "Validation Failed", github.Error{
				Resource: "Status", Code: "custom", Field: "target_url", Message: "target_url must use http(s) scheme",
			},
		},
		"workflow on no branch": {
			func(w what) error {
				_, err := w.client.Actions.CreateWorkflowDispatchEventByFileName(w.h.t.Context(), "acme", "gitops", "check.yaml",
					github.CreateWorkflowDispatchEventRequest{Ref: "gone"})
				return err
			}, 422, "No ref found for: gone", github.Error{},
		},
		"no workflow": {
			func(w what) error {
				_, err := w.client.Actions.CreateWorkflowDispatchEventByFileName(w.h.t.Context(), "acme", "gitops", "gone.yaml",
					github.CreateWorkflowDispatchEventRequest{Ref: "main"})
				return err
			}, 404, "Not Found", github.Error{},
		},
		"actions may not": {
			func(w what) error {
				w.h.repo.SetOptions(func(o *githubtest.RepoOptions) { o.ActionsMayNotOpenPulls = true })
				return open(pull("t", "deploy", "main"))(w)
			}, 403, "GitHub Actions is not permitted to create or approve pull requests.", github.Error{},
		},
		"archived": {
			func(w what) error {
				w.h.repo.SetOptions(func(o *githubtest.RepoOptions) { o.Archived = true })
				return issue("t", "")(w)
			}, 403, "Repository was archived so is read-only.", github.Error{},
		},
		"reopen without its branch": {
			func(w what) error {
				w.h.repo.DeleteBranch("taken")
				_, _, err := w.client.PullRequests.Edit(w.h.t.Context(), "acme", "gitops", 1, &github.PullRequest{State: new("open")})
				return err
			}, 422, "Validation Failed", github.Error{
				Resource: "PullRequest", Code: "custom", Field: "state",
				Message: "state cannot be changed. The taken branch was force-pushed or recreated.",
			},
		},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{
				Collaborators: map[string]string{"ada": "write"}, Teams: []string{"owners"}, Labels: []string{"bug"},
				Workflows: []string{"check.yaml"},
			})
			h.repo.SetBranch("taken", githubtest.CommitID("taken"))
			h.open("taken")
			err := test.do(what{h, h.client("secret")})
			if test.status == 0 {
				require.NoError(t, err)
				return
			}
			status, message, problems := refusal(t, err)
			assert.Equal(t, test.status, status)
			assert.Equal(t, test.message, message)
			if test.problem != (github.Error{}) {
				assert.Equal(t, []github.Error{test.problem}, problems)
			} else {
				assert.Empty(t, problems)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	reading := map[string]string{"pull_requests": "read", "issues": "read", "contents": "read"}
	for about, test := range map[string]struct {
		token   githubtest.Token
		secret  string
		private bool
		read    int
		write   int
		says    string // to a write
	}{
		"may write": {secret: "s", token: githubtest.Token{Permissions: githubtest.AllPermissions()}, private: true, read: 200, write: 201},
		"may read": {
			secret: "s", token: githubtest.Token{Permissions: reading}, private: true, read: 200, write: 403,
			says: "Resource not accessible by integration",
		},
		"may read, a person": {
			secret: "s", token: githubtest.Token{Permissions: reading, Login: "ada"}, private: true, read: 200, write: 403,
			says: "Resource not accessible by personal access token",
		},
		"nothing": {
			secret: "s", private: true, read: 403, write: 403,
			says: "Resource not accessible by integration",
		},
		"nothing, public": {
			secret: "s", read: 200, write: 403, says: "Resource not accessible by integration",
		},
		"for another repository": {
			secret: "s", token: githubtest.Token{Permissions: githubtest.AllPermissions(), Repos: []string{"acme/other"}},
			private: true, read: 404, write: 404, says: "Not Found",
		},
		"expired": {
			secret: "s", token: githubtest.Token{Permissions: githubtest.AllPermissions(), Expires: githubtest.Midnight()},
			read: 401, write: 401, says: "Bad credentials",
		},
		"unknown":      {secret: "x", read: 401, write: 401, says: "Bad credentials"},
		"none":         {read: 200, write: 401, says: "Requires authentication"},
		"none, hidden": {private: true, read: 404, write: 404, says: "Not Found"},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{Private: test.private})
			h.AddToken("s", test.token)
			_, response, err := h.client(test.secret).PullRequests.List(t.Context(), "acme", "gitops", nil)
			require.NotNil(t, response, err)
			assert.Equal(t, test.read, response.StatusCode)
			_, response, err = h.client(test.secret).PullRequests.Create(t.Context(), "acme", "gitops", pull("t", "deploy", "main"))
			require.NotNil(t, response, err)
			assert.Equal(t, test.write, response.StatusCode)
			if test.says != "" {
				_, message, _ := refusal(t, err)
				assert.Equal(t, test.says, message)
			}
		})
	}
}

// TestIssuesAndPullRequestsHaveTheirOwnPermissions: what the endpoints of issues do to either.
func TestIssuesAndPullRequestsHaveTheirOwnPermissions(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{})
	h.open("deploy")
	h.repo.OpenIssue(githubtest.Issue{Title: "broken"})
	h.AddToken("pulls", githubtest.Token{Permissions: map[string]string{"pull_requests": "write"}})
	h.AddToken("issues", githubtest.Token{Permissions: map[string]string{"issues": "write"}})
	for secret, number := range map[string]int{"pulls": 1, "issues": 2} {
		for n := 1; n <= 2; n++ {
			_, _, err := h.client(secret).Issues.CreateComment(t.Context(), "acme", "gitops", n, &github.IssueComment{Body: new("x")})
			assert.Equal(t, n == number, err == nil, "%s on %d: %v", secret, n, err)
		}
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{})
	h.AddToken("hour", githubtest.Token{Expires: githubtest.Midnight().Add(time.Hour)})
	_, _, err := h.client("hour").Repositories.Get(t.Context(), "acme", "gitops")
	require.NoError(t, err)
	h.Advance(time.Hour)
	_, _, err = h.client("hour").Repositories.Get(t.Context(), "acme", "gitops")
	status, _, _ := refusal(t, err)
	assert.Equal(t, 401, status)
	assert.Equal(t, githubtest.Midnight().Add(time.Hour), h.open("deploy").GetCreatedAt().UTC())
}
