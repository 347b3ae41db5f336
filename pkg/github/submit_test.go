package github_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
)

// older is a pull request of kalypso from a branch that is not used any more.
func older(t *testing.T, f *fixture) {
	t.Helper()
	f.remote.SetBranch("old", commit("9"))
	s := everything()
	s.Head, s.HeadCommit, s.Reviewers, s.Assignees, s.Labels, s.Promoted = "old", commit("9"), nil, nil, nil, false
	_, err := pullrequest.Submit(t.Context(), f.repo, s)
	require.NoError(t, err)
	f.hub.Forget()
}

// right asserts exactly one pull request, with the right content.
func right(t *testing.T, f *fixture) {
	t.Helper()
	open := f.remote.OpenPulls()
	require.Len(t, open, 1)
	assert.Equal(t, "Deploy dev", open[0].Title)
	assert.Contains(t, open[0].Body, "Two targets change.")
	assert.Contains(t, open[0].Body, "tree="+commit("a")+" asked promoted -->")
	assert.ElementsMatch(t, []string{"promoted", "needs a look"}, open[0].Labels)
	assert.Equal(t, []string{"ann"}, open[0].Reviewers)
	assert.Equal(t, []string{"fleet"}, open[0].Teams)
	assert.Equal(t, []string{"bob"}, open[0].Assignees)
	assert.Len(t, f.remote.Labels(), 2)
}

func TestSubmit(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]githubtest.Options{
		"github.com":     {},
		"Enterprise":     {Enterprise: true},
		"R13 small page": {PageSize: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, options, nil)
			older(t, f)
			result, err := pullrequest.Submit(t.Context(), f.repo, everything())
			require.NoError(t, err)
			right(t, f)
			assert.Equal(t, pullrequest.Created, result.Action)
			assert.Equal(t, 2, result.PullRequest.Number)
			assert.True(t, strings.HasSuffix(result.PullRequest.URL, "/acme/gitops/pull/2"), result.PullRequest.URL)
			assert.False(t, f.remote.Pull(1).Open)
			assert.Len(t, f.remote.Comments(1), 1)

			f.hub.Forget()
			result, err = pullrequest.Submit(t.Context(), f.repo, everything())
			require.NoError(t, err)
			assert.Equal(t, pullrequest.Unchanged, result.Action)
			assert.Empty(t, f.hub.Writes(), "R5: nothing has changed")
		})
	}
}

// TestR10EveryFaultOnEveryRequest: whatever goes wrong once, with any request, the run ends as if nothing had.
func TestR10EveryFaultOnEveryRequest(t *testing.T) {
	t.Parallel()
	undisturbed := setup(t, githubtest.Options{}, nil)
	older(t, undisturbed)
	_, err := pullrequest.Submit(t.Context(), undisturbed.repo, everything())
	require.NoError(t, err)
	requests := undisturbed.hub.Requests()
	for name, fault := range map[string]githubtest.Fault{
		"500":                     githubtest.HTTPError(http.StatusInternalServerError),
		"500 late":                githubtest.HTTPError(http.StatusInternalServerError).Late(),
		"502":                     githubtest.HTTPError(http.StatusBadGateway).Late(),
		"503 with Retry-After":    githubtest.HTTPError(http.StatusServiceUnavailable).With("Retry-After", "7"),
		"429":                     githubtest.HTTPError(http.StatusTooManyRequests),
		"429 with Retry-After":    githubtest.SecondaryRateLimit(http.StatusTooManyRequests, time.Minute),
		"403 without Retry-After": githubtest.SecondaryRateLimit(http.StatusForbidden, 0),
		"403 with Retry-After":    githubtest.SecondaryRateLimit(http.StatusForbidden, time.Minute),
		"none left":               githubtest.PrimaryRateLimit(http.StatusForbidden, githubtest.Midnight().Add(5*time.Minute)),
		"reset":                   githubtest.Reset(),
		"lost answer":             githubtest.LostAnswer(),
		"cut answer":              githubtest.CutAnswer(),
	} {
		for n, request := range requests {
			t.Run(fmt.Sprintf("%s/%d %s %s", name, n+1, request.Method, request.Path), func(t *testing.T) {
				t.Parallel()
				f := setup(t, githubtest.Options{}, nil)
				older(t, f)
				f.hub.Inject(fault, githubtest.First(1, githubtest.Nth(n+1)))
				_, err := pullrequest.Submit(t.Context(), f.repo, everything())
				require.NoError(t, err)
				right(t, f)
				assert.False(t, f.remote.Pull(1).Open)
				assert.Len(t, f.remote.Comments(1), 1)
				assert.NotContains(t, strings.Join(f.notices, "\n"), secret)
			})
		}
	}
}

// TestR3FaultsThatStay: whatever goes wrong with a request for good, the next run ends as if nothing had.
func TestR3FaultsThatStay(t *testing.T) {
	t.Parallel()
	undisturbed := setup(t, githubtest.Options{}, nil)
	older(t, undisturbed)
	_, err := pullrequest.Submit(t.Context(), undisturbed.repo, everything())
	require.NoError(t, err)
	for name, fault := range map[string]githubtest.Fault{
		"502":         githubtest.HTTPError(http.StatusBadGateway),
		"429":         githubtest.SecondaryRateLimit(http.StatusTooManyRequests, time.Hour),
		"lost answer": githubtest.LostAnswer(),
	} {
		for n, request := range undisturbed.hub.Requests() {
			t.Run(fmt.Sprintf("%s/%d %s %s", name, n+1, request.Method, request.Path), func(t *testing.T) {
				t.Parallel()
				f := setup(t, githubtest.Options{}, nil)
				older(t, f)
				f.hub.Inject(fault, func(r githubtest.Request) bool { return r.Number > n })
				_, err := pullrequest.Submit(t.Context(), f.repo, everything())
				var failed *github.Error
				require.ErrorAs(t, err, &failed)
				assert.Contains(t, []github.Kind{github.Unavailable, github.RateLimited}, failed.Kind)
				assert.NotEmpty(t, failed.Act)
				assert.NotEmpty(t, failed.Hint)
				assert.Equal(t, "acme/gitops", failed.Repository)
				assert.NotContains(t, fmt.Sprintf("%v %+v", err, failed), secret)
				f.hub.Heal()
				_, err = pullrequest.Submit(t.Context(), f.repo, everything())
				require.NoError(t, err)
				right(t, f)
			})
		}
	}
}

func TestR15SubmitStartsOver(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]func(*fixture){
		"no base":         func(f *fixture) { f.remote.DeleteBranch("main") },
		"no head":         func(f *fixture) { f.remote.DeleteBranch("deployment/main") },
		"nothing between": func(f *fixture) { f.remote.SetBranch("main", commit("1")) },
		"another head":    func(f *fixture) { f.remote.SetBranch("deployment/main", commit("2")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, nil)
			given(f)
			_, err := pullrequest.Submit(t.Context(), f.repo, everything())
			require.ErrorIs(t, err, giterror.ErrConflict)
		})
	}
}

func TestR11PermissionsThatAreMissing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		without    string
		permission string
	}{
		"pull requests": {"pull_requests", "pull requests: write"},
		"contents":      {"contents", "contents: read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, nil)
			has := githubtest.AllPermissions()
			delete(has, test.without)
			if test.without == "pull_requests" {
				has[test.without] = "read"
			}
			f.hub.AddToken(secret, githubtest.Token{Permissions: has})
			_, err := pullrequest.Submit(t.Context(), f.repo, everything())
			var failed *github.Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, github.Denied, failed.Kind)
			assert.Equal(t, test.permission, failed.Permission)
			assert.Contains(t, failed.Hint, test.permission)
			assert.Contains(t, err.Error(), "in acme/gitops: GitHub answers 403")
			writes := f.hub.Writes()
			seen := map[string]bool{}
			for _, w := range writes {
				assert.False(t, seen[w.String()+w.Body], "%s was sent twice", w)
				seen[w.String()+w.Body] = true
			}
		})
	}
}

func TestIssues(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{PageSize: 1}, nil)
	f.remote.OpenIssue(githubtest.Issue{Title: "Other", Labels: []string{"kalypso"}})
	f.remote.OpenPull(githubtest.Pull{
		Issue: githubtest.Issue{Title: "Mine", Body: "<!-- kalypso:v1 failures environment=dev -->", Labels: []string{"kalypso"}},
		Head:  "deployment/main", Base: "main",
	})
	report := pullrequest.IssueReport{Environment: "dev", Title: "dev fails", Body: "- it does"}
	f.hub.Inject(githubtest.LostAnswer(), githubtest.First(1, githubtest.On("POST", "/repos/acme/gitops/issues")))
	result, err := pullrequest.ReportIssue(t.Context(), f.repo, report)
	require.NoError(t, err)
	assert.Equal(t, 3, result.Issue.Number)
	require.Len(t, f.remote.Issues(), 2)
	assert.Equal(t, []string{"kalypso"}, f.remote.Issues()[1].Labels)

	f.hub.Forget()
	_, err = pullrequest.ReportIssue(t.Context(), f.repo, report)
	require.NoError(t, err)
	assert.Empty(t, f.hub.Writes())

	report.Body = "- another"
	_, err = pullrequest.ReportIssue(t.Context(), f.repo, report)
	require.NoError(t, err)
	assert.Contains(t, f.remote.Issues()[1].Body, "- another")

	f.hub.Inject(githubtest.LostAnswer(), githubtest.First(1, githubtest.On("POST", "/repos/acme/gitops/issues/*/comments")))
	closed, err := pullrequest.SettleIssue(t.Context(), f.repo, "dev", "Published.")
	require.NoError(t, err)
	assert.Len(t, closed, 1)
	assert.False(t, f.remote.Issues()[1].Open)
	assert.Len(t, f.remote.Issues()[1].Comments, 1)
}

// TestR6RunsAtOnce: however many runs do the same at the same time, one pull request comes of it.
func TestR6RunsAtOnce(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	older(t, f)
	var runs errgroup.Group
	for range 8 {
		client := f.client(t, nil)
		runs.Go(func() error {
			repo := client.Repository("acme", "gitops")
			for range 5 {
				_, err := pullrequest.Submit(t.Context(), repo, everything())
				if !errors.Is(err, giterror.ErrConflict) {
					return err
				}
			}
			return giterror.ErrConflict
		})
	}
	require.NoError(t, runs.Wait())
	right(t, f)
	assert.False(t, f.remote.Pull(1).Open)

	f.hub.Forget()
	_, err := pullrequest.Submit(t.Context(), f.repo, everything())
	require.NoError(t, err)
	assert.Empty(t, f.hub.Writes())
}

// TestAutoMergeOfWhatChangesNothing: as soon as a cluster changes, a person must look again, before it is pushed.
func TestAutoMergeOfWhatChangesNothing(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	f.remote.SetOptions(pending)
	idle := everything()
	idle.AutoMerge, idle.Idle = pullrequest.AutoMergeNoChange, true
	result, err := pullrequest.Submit(t.Context(), f.repo, idle)
	require.NoError(t, err)
	assert.True(t, result.PullRequest.AutoMerging)
	assert.Equal(t, "merge", f.remote.Pull(1).AutoMerge)
	assert.LessOrEqual(t, len(f.hub.Writes()), 8, "two labels were made")

	f.hub.Forget()
	_, err = pullrequest.Submit(t.Context(), f.repo, idle)
	require.NoError(t, err)
	assert.Empty(t, f.hub.Writes())

	busy := idle
	busy.Idle, busy.HeadCommit, busy.Tree = false, commit("2"), commit("b")
	_, err = pullrequest.Prepare(t.Context(), f.repo, busy)
	require.NoError(t, err)
	assert.Empty(t, f.remote.Pull(1).AutoMerge)
	f.remote.SetBranch("deployment/main", commit("2"))
	_, err = pullrequest.Submit(t.Context(), f.repo, busy)
	require.NoError(t, err)
	f.remote.SetStatus(githubtest.Status{Commit: commit("2"), Context: "policy", State: "success"})
	assert.True(t, f.remote.Pull(1).Open)
}

// TestR12WritingCalls: an environment costs six writing calls at most, the push included.
func TestR12WritingCalls(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	f.remote.SetLabels(f.open(t), "promoted", "needs a look") // so that the repository has them
	f.remote.Close(1)
	_, err := pullrequest.Submit(t.Context(), f.repo, everything())
	require.NoError(t, err)
	assert.LessOrEqual(t, len(f.hub.Writes()), 5)
}
