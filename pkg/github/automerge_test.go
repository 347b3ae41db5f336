package github_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

// pending makes pull requests wait for a check.
func pending(o *githubtest.RepoOptions) { o.RequiredChecks = []string{"policy"} }

func TestAutoMergeWaitsForWhatIsRequired(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]githubtest.Options{"github.com": {}, "Enterprise": {Enterprise: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, options, nil)
			f.remote.SetOptions(pending)
			number := f.open(t)
			merged, note, err := f.repo.AutoMerge(t.Context(), number, commit("1"))
			require.NoError(t, err)
			assert.False(t, merged)
			assert.Empty(t, note)
			assert.Equal(t, "merge", f.remote.Pull(number).AutoMerge)
			writes := f.hub.Writes()
			require.Len(t, writes, 1)
			assert.Equal(t, http.MethodPost, writes[0].Method)

			open, err := f.repo.Open(t.Context(), "main")
			require.NoError(t, err)
			assert.True(t, open[0].AutoMerging)

			f.hub.Forget()
			_, _, err = f.repo.AutoMerge(t.Context(), number, commit("1"))
			require.NoError(t, err)
			assert.Empty(t, f.hub.Writes(), "it is on already")
		})
	}
}

func TestAutoMergeMergesWhatIsReady(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"clean", "unstable"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, func(o *github.Options) { o.ActionsToken = true })
			number := f.open(t)
			if state == "unstable" {
				f.remote.SetStatus(githubtest.Status{Commit: commit("1"), Context: "spelling", State: "failure"})
			}
			merged, note, err := f.repo.AutoMerge(t.Context(), number, commit("1"))
			require.NoError(t, err)
			assert.True(t, merged)
			assert.Equal(t, "the merge of #1 starts no workflow, because it uses GITHUB_TOKEN; use a GitHub App if a workflow waits for it", note)
			assert.True(t, f.remote.Pull(number).Merged)
			assert.Len(t, f.hub.Writes(), 1)
			assert.Contains(t, f.hub.Writes()[0].Body, commit("1"), "only this commit")

			merged, _, err = f.repo.AutoMerge(t.Context(), number, commit("1"))
			require.NoError(t, err)
			assert.True(t, merged, "it is merged already")
		})
	}
}

func TestAutoMergeBecomesReadyMeanwhile(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	number := f.open(t)
	f.remote.SetMergeableState(number, "blocked")
	read := false
	f.hub.Inject(githubtest.HTTPError(http.StatusBadGateway), func(r githubtest.Request) bool {
		if r.Path == "/graphql" && !read { // the first try: what was missing comes while it is sent again
			read = true
			return true
		}
		return false
	})
	f.clock.others = append(f.clock.others, func(time.Duration) { f.remote.SetOptions(func(o *githubtest.RepoOptions) { o.RequiredChecks = nil }) })
	f.remote.SetOptions(pending)
	f.remote.SetMergeableState(number, "")
	merged, _, err := f.repo.AutoMerge(t.Context(), number, commit("1"))
	require.NoError(t, err)
	assert.True(t, merged)
}

func TestAutoMergeOfSomethingElse(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	number := f.open(t)
	_, _, err := f.repo.AutoMerge(t.Context(), number, commit("7"))
	require.ErrorIs(t, err, giterror.ErrConflict)
	assert.Empty(t, f.hub.Writes())
	assert.Len(t, f.clock.slept(), 4, "GitHub may be slow to see a push")
	f.remote.Close(number)
	_, _, err = f.repo.AutoMerge(t.Context(), number, commit("1"))
	require.ErrorIs(t, err, giterror.ErrConflict)
}

func TestAutoMergeSeesAPushLate(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	number := f.open(t)
	f.clock.others = append(f.clock.others, func(time.Duration) { f.remote.SetBranch("deployment/main", commit("2")) })
	merged, _, err := f.repo.AutoMerge(t.Context(), number, commit("2"))
	require.NoError(t, err)
	assert.True(t, merged)
}

func TestAutoMergeWaitsForGitHubToKnowWhetherItCan(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	number := f.open(t)
	f.remote.SetMergeableState(number, "unknown")
	merged, _, err := f.repo.AutoMerge(t.Context(), number, commit("1"))
	require.NoError(t, err)
	assert.False(t, merged, "GitHub does not say: then auto-merge is turned on")
	assert.Len(t, f.clock.slept(), 4)
	assert.NotEmpty(t, f.remote.Pull(number).AutoMerge)
}

func TestAutoMergeMethods(t *testing.T) {
	t.Parallel()
	for want, allowed := range map[string][]string{
		"merge": {"squash", "merge", "rebase"}, "squash": {"rebase", "squash"}, "rebase": {"rebase"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, nil)
			f.remote.SetOptions(func(o *githubtest.RepoOptions) { o.MergeMethods = allowed; pending(o) })
			number := f.open(t)
			_, _, err := f.repo.AutoMerge(t.Context(), number, commit("1"))
			require.NoError(t, err)
			assert.Equal(t, want, f.remote.Pull(number).AutoMerge)
		})
	}
}

func TestAutoMergeRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given func(*fixture)
		kind  github.Kind
		hint  string
	}{
		"not allowed": {func(f *fixture) {
			f.remote.SetOptions(func(o *githubtest.RepoOptions) { o.AllowAutoMerge = false; pending(o) })
		}, github.Invalid, "Allow auto-merge"},
		"no permission": {func(f *fixture) {
			f.remote.SetOptions(pending)
			has := githubtest.AllPermissions()
			has["contents"] = "read"
			f.hub.AddToken(secret, githubtest.Token{Permissions: has})
		}, github.Denied, "contents: write and pull requests: write"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, nil)
			number := f.open(t)
			test.given(f)
			_, _, err := f.repo.AutoMerge(t.Context(), number, commit("1"))
			var failed *github.Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, test.kind, failed.Kind)
			assert.Contains(t, failed.Hint, test.hint)
			assert.Contains(t, err.Error(), "auto-merge pull request #1 in acme/gitops: GitHub answers: ")
		})
	}
}

func TestR15MergeOfABaseThatMoves(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		times   int
		message string
		want    error
		merged  bool
	}{
		"for a moment":   {times: 2, message: "Base branch was modified. Review and try the merge again.", merged: true},
		"all the time":   {times: 9, message: "Base branch was modified. Review and try the merge again."},
		"for a reason":   {times: 1, message: "At least 1 approving review is required by reviewers with write access."},
		"head was moved": {times: 1, message: "Head branch was modified. Review and try the merge again.", want: giterror.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, nil)
			status := http.StatusMethodNotAllowed
			if test.want != nil {
				status = http.StatusConflict
			}
			f.hub.Inject(githubtest.Refusal(status, test.message), githubtest.First(test.times, githubtest.On(http.MethodPut, "/repos/acme/gitops/pulls/*/merge")))
			number := f.open(t)
			merged, _, err := f.repo.AutoMerge(t.Context(), number, commit("1"))
			assert.Equal(t, test.merged, merged)
			if test.merged {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.message)
			if test.want != nil {
				require.ErrorIs(t, err, test.want)
			}
		})
	}
}

func TestR4MergeWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	number := f.open(t)
	f.hub.Inject(githubtest.LostAnswer(), githubtest.First(2, githubtest.On(http.MethodPut, "/repos/acme/gitops/pulls/*/merge")))
	merged, _, err := f.repo.AutoMerge(t.Context(), number, commit("1"))
	require.NoError(t, err)
	assert.True(t, merged)
}

func TestKeepOpen(t *testing.T) {
	t.Parallel()
	var sent []string
	answer := `{"data":{"disablePullRequestAutoMerge":{}}}`
	auto := `{}`
	repo := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprintf(w, `{"node_id":"PR_7","number":7,"state":"open","auto_merge":%s}`, auto)
			return
		}
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, string(body))
		fmt.Fprint(w, answer)
	})
	require.NoError(t, repo.KeepOpen(t.Context(), 7))
	require.Len(t, sent, 1)
	assert.Contains(t, sent[0], "disablePullRequestAutoMerge")
	assert.Contains(t, sent[0], `"id":"PR_7"`)

	for kind, problem := range map[github.Kind]string{
		github.Denied: "FORBIDDEN", github.NotFound: "NOT_FOUND", github.RateLimited: "RATE_LIMITED", github.Invalid: "UNPROCESSABLE",
	} {
		answer = fmt.Sprintf(`{"data":null,"errors":[{"type":%q,"message":"no"}]}`, problem)
		err := repo.KeepOpen(t.Context(), 7)
		var failed *github.Error
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, kind, failed.Kind)
	}

	auto, sent = "null", nil
	require.NoError(t, repo.KeepOpen(t.Context(), 7))
	assert.Empty(t, sent, "it is off already")
}
