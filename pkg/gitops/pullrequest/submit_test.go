package pullrequest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
)

// wanted is a submission that asks for everything.
func wanted() pullrequest.Submission {
	return pullrequest.Submission{
		Environment: "dev", Head: "deployment/main", Base: "main", HeadCommit: "c1", Tree: "aa11",
		Title: "Deploy dev", Body: "Two targets change.", Promoted: true,
		Options: pullrequest.Options{
			Labels: []string{"gitops"}, Reviewers: []string{"ann", "acme/fleet"}, Assignees: []string{"bob"},
		},
	}
}

// plain is one that asks for nothing but to be there.
func plain() pullrequest.Submission {
	s := wanted()
	s.Promoted, s.Labels, s.Reviewers, s.Assignees = false, nil, nil, nil
	return s
}

func submit(t *testing.T, f *forge, s pullrequest.Submission) pullrequest.Result {
	t.Helper()
	f.reads, f.writes = nil, nil
	result, err := pullrequest.Submit(t.Context(), f, s)
	require.NoError(t, err)
	return result
}

// openPulls returns the numbers of all open pull requests.
func (f *forge) openPulls() []int {
	var numbers []int
	for _, p := range f.pulls {
		if p.State == pullrequest.Open {
			numbers = append(numbers, p.Number)
		}
	}
	return numbers
}

func TestSubmitOpens(t *testing.T) {
	t.Parallel()
	f := newForge()
	result := submit(t, f, wanted())
	assert.Equal(t, pullrequest.Created, result.Action)
	assert.Equal(t, []string{"create", "label 1 gitops,promoted", "review 1", "assign 1", "edit 1"}, f.writes)
	assert.Equal(t, f.pulls[0], result.PullRequest)
	assert.Equal(t, []string{"ann", "acme/fleet", "bob"}, f.asked[1])
	assert.Equal(t, "Deploy dev", f.pulls[0].Title)
	assert.Equal(t, "<!-- kalypso:v1 environment=dev path=. tree=aa11 asked promoted -->\n\nTwo targets change.\n\n<!-- /kalypso:v1 -->", f.pulls[0].Body)
}

func TestSubmitOpensInOneWrite(t *testing.T) {
	t.Parallel()
	f := newForge()
	submit(t, f, plain())
	assert.Equal(t, []string{"create"}, f.writes)
}

func TestR5SubmitAgainWritesNothing(t *testing.T) {
	t.Parallel()
	f := newForge()
	submit(t, f, wanted())
	// GitHub's editor writes line ends in its own way.
	f.pulls[0].Body = strings.ReplaceAll(f.pulls[0].Body, "\n", "\r\n") + "\r\n"
	result := submit(t, f, wanted())
	assert.Equal(t, pullrequest.Unchanged, result.Action)
	assert.Empty(t, f.writes)
	assert.Equal(t, []string{"open"}, f.reads)
}

func TestSubmitUpdatesWhatDiffers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*pullrequest.Submission)
		want   []string
	}{
		"title":        {func(s *pullrequest.Submission) { s.Title = "Deploy more" }, []string{"edit 1"}},
		"body":         {func(s *pullrequest.Submission) { s.Body = "Three." }, []string{"edit 1"}},
		"tree":         {func(s *pullrequest.Submission) { s.Tree = "bb22" }, []string{"edit 1"}},
		"label":        {func(s *pullrequest.Submission) { s.Labels = append(s.Labels, "big") }, []string{"label 1 big"}},
		"letter case":  {func(s *pullrequest.Submission) { s.Labels = []string{"GitOps"} }, nil},
		"not promoted": {func(s *pullrequest.Submission) { s.Promoted = false }, []string{"edit 1", "unlabel 1 promoted"}},
		"reviewers":    {func(s *pullrequest.Submission) { s.Reviewers = []string{"cid"} }, nil},
		"draft":        {func(s *pullrequest.Submission) { s.Draft = true }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForge()
			submit(t, f, wanted())
			changed := wanted()
			test.change(&changed)
			submit(t, f, changed)
			assert.Equal(t, test.want, f.writes)
			submit(t, f, changed)
			assert.Empty(t, f.writes)
			assert.Equal(t, []int{1}, f.openPulls())
		})
	}
}

func TestSubmitKeepsWhatPeopleWriteAround(t *testing.T) {
	t.Parallel()
	f := newForge()
	submit(t, f, plain())
	f.pulls[0].Body = "Careful!\n\n" + f.pulls[0].Body + "\n\nI mean it."
	changed := plain()
	changed.Body = "Three."
	submit(t, f, changed)
	body := f.pulls[0].Body
	assert.True(t, strings.HasPrefix(body, "Careful!\n\n<!-- kalypso"), body)
	assert.True(t, strings.HasSuffix(body, "/kalypso:v1 -->\n\nI mean it."), body)
	assert.Contains(t, body, "Three.")
	assert.NotContains(t, body, "Two targets")
}

func TestR9SubmitAdoptsThePullRequestOfAPerson(t *testing.T) {
	t.Parallel()
	f := newForge()
	f.open(pullrequest.Request{Title: "My try", Body: "Please merge.", Head: "deployment/main", Base: "main"})
	result := submit(t, f, plain())
	assert.Equal(t, pullrequest.Updated, result.Action)
	assert.Equal(t, []string{"edit 1"}, f.writes)
	assert.Equal(t, "My try", f.pulls[0].Title)
	assert.True(t, strings.HasPrefix(f.pulls[0].Body, "Please merge.\n\n<!-- kalypso:v1 environment=dev path=. tree=aa11 adopted -->"), f.pulls[0].Body)
	submit(t, f, plain())
	assert.Empty(t, f.writes)
}

func TestSubmitClosesOlderOnesOfOurs(t *testing.T) {
	t.Parallel()
	f := newForge()
	f.tips["old"], f.tips["other"], f.tips["below"] = "c9", "c8", "c7"
	ours := func(change func(*pullrequest.Submission)) {
		s := plain()
		change(&s)
		s.HeadCommit = f.tips[s.Head]
		submit(t, f, s)
	}
	ours(func(s *pullrequest.Submission) { s.Head = "other"; s.Environment = "prod" })
	ours(func(s *pullrequest.Submission) { s.Head = "below"; s.Path = "clusters" })
	f.open(pullrequest.Request{Title: "Docs", Body: "Only docs.", Head: "docs", Base: "main"})
	ours(func(s *pullrequest.Submission) { s.Head = "old" })
	ours(func(s *pullrequest.Submission) { s.Path = "./" }) // is the root, too
	result := submit(t, f, plain())
	assert.Empty(t, f.writes)
	assert.Equal(t, pullrequest.Unchanged, result.Action)
	assert.Equal(t, []int{1, 2, 3, 5}, f.openPulls())
	assert.Equal(t, []string{"Closed in favour of #5, which publishes the same environment."}, f.comments[4])
	assert.Contains(t, f.pulls[3].Body, " closed -->")
}

func TestR15SubmitDoesNotOpenAgainWhatAPersonClosed(t *testing.T) {
	t.Parallel()
	f := newForge()
	submit(t, f, plain())
	f.pulls[0].State = pullrequest.Closed

	result := submit(t, f, plain())
	assert.Equal(t, pullrequest.Declined, result.Action)
	assert.Equal(t, 1, result.PullRequest.Number)
	assert.Contains(t, result.Notes[0], "--reopen")
	assert.Empty(t, f.writes)
	declined, err := pullrequest.Prepare(t.Context(), f, plain())
	require.NoError(t, err)
	assert.Equal(t, 1, declined.Number)

	again := plain()
	again.Reopen = true
	assert.Equal(t, pullrequest.Created, submit(t, f, again).Action)
	f.pulls[1].State = pullrequest.Closed
	other := plain()
	other.Tree = "cc33"
	assert.Equal(t, pullrequest.Created, submit(t, f, other).Action)
	f.pulls[2].State = pullrequest.Merged
	assert.Equal(t, pullrequest.Created, submit(t, f, other).Action, "one that was merged was not declined")
}

func TestSubmitOpensAgainWhatWeWithdrew(t *testing.T) {
	t.Parallel()
	f := newForge()
	submit(t, f, plain())
	closed, err := pullrequest.Withdraw(t.Context(), f, pullrequest.Withdrawal{
		Environment: "dev", Head: "deployment/main", Base: "main", HeadCommit: "c1", Why: "Nothing differs any more.",
	})
	require.NoError(t, err)
	assert.Len(t, closed, 1)
	assert.Equal(t, []string{"create", "close 1", "comment 1"}, f.writes)
	assert.Equal(t, []string{"Nothing differs any more."}, f.comments[1])
	assert.Contains(t, f.pulls[0].Body, "Two targets change.")
	assert.Equal(t, pullrequest.Created, submit(t, f, plain()).Action)
}

func TestWithdraw(t *testing.T) {
	t.Parallel()
	w := pullrequest.Withdrawal{Environment: "dev", Head: "deployment/main", Base: "main", HeadCommit: "c1", Why: "Gone."}
	f := newForge()
	f.open(pullrequest.Request{Title: "Mine", Head: "deployment/main", Base: "main"})
	closed, err := pullrequest.Withdraw(t.Context(), f, w)
	require.NoError(t, err)
	assert.Empty(t, closed)
	assert.Empty(t, f.writes, "no pull request of kalypso")

	submit(t, f, plain()) // adopts it
	f.tips["deployment/main"], f.writes = "c2", nil
	_, err = pullrequest.Withdraw(t.Context(), f, w)
	require.ErrorIs(t, err, giterror.ErrConflict, "another run has pushed")
	assert.Empty(t, f.writes)

	w.HeadCommit = "c2"
	f.after = func(int, string) error { f.tips["deployment/main"] = "c3"; return nil }
	closed, err = pullrequest.Withdraw(t.Context(), f, w)
	require.ErrorIs(t, err, giterror.ErrConflict, "another run pushed while it was closed")
	assert.Len(t, closed, 1)
}

func TestSubmitAutoMerge(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mode        pullrequest.AutoMerge
		idle, draft bool
		want        []string
	}{
		"never":                     {mode: pullrequest.AutoMergeNever, idle: true, want: []string{"create"}},
		"always":                    {mode: pullrequest.AutoMergeAlways, want: []string{"create", "auto-merge 1", "edit 1"}},
		"no change, and a change":   {mode: pullrequest.AutoMergeNoChange, want: []string{"create"}},
		"no change, and there none": {mode: pullrequest.AutoMergeNoChange, idle: true, want: []string{"create", "auto-merge 1", "edit 1"}},
		"draft":                     {mode: pullrequest.AutoMergeAlways, draft: true, want: []string{"create"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForge()
			f.note = "starts no workflow"
			s := plain()
			s.AutoMerge, s.Idle, s.Draft = test.mode, test.idle, test.draft
			result := submit(t, f, s)
			assert.Equal(t, test.want, f.writes)
			assert.Equal(t, len(test.want) > 1 || test.draft, len(result.Notes) > 0)
			submit(t, f, s)
			assert.Empty(t, f.writes)
		})
	}
}

func TestSubmitMergesAtOnce(t *testing.T) {
	t.Parallel()
	f := newForge()
	f.ready = true
	s := plain()
	s.AutoMerge = pullrequest.AutoMergeAlways
	result := submit(t, f, s)
	assert.Equal(t, pullrequest.Merged, result.PullRequest.State)
	assert.Equal(t, []string{"create", "auto-merge 1"}, f.writes)
}

func TestSubmitLeavesAutoMergeOffThatAPersonTurnedOff(t *testing.T) {
	t.Parallel()
	f := newForge()
	s := plain()
	s.AutoMerge = pullrequest.AutoMergeAlways
	submit(t, f, s)
	f.pulls[0].AutoMerging = false
	s.Body = "Three."
	result := submit(t, f, s)
	assert.Equal(t, []string{"edit 1"}, f.writes)
	assert.Contains(t, result.Notes[0], "stays off")
}

func TestPrepareTurnsOffTheAutoMergeOfWhatChangesClusters(t *testing.T) {
	t.Parallel()
	f := newForge()
	idle := plain()
	idle.AutoMerge, idle.Idle = pullrequest.AutoMergeNoChange, true
	submit(t, f, idle)
	require.True(t, f.pulls[0].AutoMerging)

	busy := idle
	busy.Idle, busy.Tree, busy.HeadCommit = false, "dd44", "c2"
	f.writes = nil
	_, err := pullrequest.Prepare(t.Context(), f, busy)
	require.NoError(t, err)
	assert.Equal(t, []string{"keep-open 1"}, f.writes)
	f.tips["deployment/main"] = "c2"
	submit(t, f, busy)
	assert.Equal(t, []string{"edit 1"}, f.writes)

	idle.HeadCommit, idle.Tree = "c2", "ee55"
	submit(t, f, idle)
	assert.True(t, f.pulls[0].AutoMerging, "on again once nothing changes again")

	f.pulls[0].Body = strings.Replace(f.pulls[0].Body, " auto on -->", " -->", 1)
	f.writes = nil
	_, err = pullrequest.Prepare(t.Context(), f, busy)
	require.NoError(t, err)
	assert.Empty(t, f.writes, "a person turned it on")
}

func TestSubmitFindsOutThatSomebodyElsePushed(t *testing.T) {
	t.Parallel()
	f := newForge()
	f.after = func(int, string) error { f.tips["deployment/main"] = "c2"; return nil }
	result, err := pullrequest.Submit(t.Context(), f, plain())
	require.ErrorIs(t, err, giterror.ErrConflict)
	assert.Equal(t, 1, result.PullRequest.Number)
}

func TestR15SubmitStartsOverWhenThingsMove(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given func(*forge)
	}{
		"merged meanwhile": {func(f *forge) {
			f.open(pullrequest.Request{Title: "Mine", Head: "deployment/main", Base: "main"})
			f.before = func(int, string) error { f.pulls[0].State = pullrequest.Merged; return nil }
		}},
		"base deleted": {func(f *forge) {
			f.before = func(int, string) error { delete(f.tips, "main"); return nil }
		}},
		"head deleted": {func(f *forge) {
			f.after = func(int, string) error { delete(f.tips, "deployment/main"); return nil }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForge()
			test.given(f)
			_, err := pullrequest.Submit(t.Context(), f, plain())
			require.ErrorIs(t, err, giterror.ErrConflict)
		})
	}
}

func TestSubmitFindsTheOneThatWasOpenedMeanwhile(t *testing.T) {
	t.Parallel()
	f := newForge()
	f.before = func(n int, _ string) error {
		if n == 1 {
			f.open(pullrequest.Request{Title: "Faster", Head: "deployment/main", Base: "main"})
		}
		return nil
	}
	result := submit(t, f, plain())
	assert.Equal(t, pullrequest.Updated, result.Action)
	assert.Equal(t, []int{1}, f.openPulls())
}

// TestR3SubmitAfterEveryFault: whichever write fails, before or after it was done, the next run ends where one
// without faults ends.
func TestR3SubmitAfterEveryFault(t *testing.T) {
	t.Parallel()
	s := wanted()
	s.AutoMerge = pullrequest.AutoMergeAlways
	start := func() *forge {
		f := newForge()
		f.tips["old"] = "c9"
		old := plain()
		old.Head, old.HeadCommit = "old", "c9"
		submit(t, f, old)
		return f
	}
	undisturbed := start()
	submit(t, undisturbed, s)
	steps := len(undisturbed.writes)
	require.Equal(t, 8, steps)
	for fault := 1; fault <= steps; fault++ {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d late %v", fault, late), func(t *testing.T) {
				t.Parallel()
				f := start()
				strike := func(n int, _ string) error {
					if n == fault {
						return errForge
					}
					return nil
				}
				f.writes = nil
				if late {
					f.after = strike
				} else {
					f.before = strike
				}
				_, err := pullrequest.Submit(t.Context(), f, s)
				require.ErrorIs(t, err, errForge)
				f.before, f.after = nil, nil
				submit(t, f, s)
				assert.Equal(t, undisturbed.pulls[0].State, f.pulls[0].State)
				assert.Equal(t, []int{2}, f.openPulls())
				assert.Equal(t, undisturbed.pulls[1], f.pulls[1])
				submit(t, f, s)
				assert.Empty(t, f.writes)
			})
		}
	}
}

func TestSubmitAsksAgainOnlyWhoWasNotAsked(t *testing.T) {
	t.Parallel()
	f := newForge()
	refused := errors.New("ann is the author")
	f.before = func(_ int, call string) error {
		if call == "review 1" {
			return refused
		}
		return nil
	}
	result, err := pullrequest.Submit(t.Context(), f, wanted())
	require.ErrorIs(t, err, refused)
	assert.Equal(t, 1, result.PullRequest.Number, "the pull request is there")
	assert.Equal(t, []string{"bob"}, f.asked[1], "who can be assigned is")
}

func TestSubmitKeepsToTheLimitsOfTheForge(t *testing.T) {
	t.Parallel()
	f := newForge()
	person := strings.Repeat("ä", 60_000)
	f.open(pullrequest.Request{Title: "Mine", Body: person, Head: "deployment/main", Base: "main"})
	s := plain()
	s.Body = strings.Repeat("a line\n", 5_000)
	submit(t, f, s)
	body := f.pulls[0].Body
	assert.LessOrEqual(t, len([]rune(body)), 65_536)
	assert.True(t, strings.HasPrefix(body, person))
	assert.True(t, strings.HasSuffix(body, "a line\n\n_The rest does not fit._\n\n<!-- /kalypso:v1 -->"), body[len(body)-200:])
	submit(t, f, s)
	assert.Empty(t, f.writes)

	f = newForge()
	s.Title, s.Body = strings.Repeat("é", 300), strings.Repeat("x", pullrequest.MaxBody)
	submit(t, f, s)
	assert.Len(t, []rune(f.pulls[0].Title), 256)
	assert.Contains(t, f.pulls[0].Body, s.Body, "a body of that length is never cut")
	submit(t, f, s)
	assert.Empty(t, f.writes)
}

func TestSubmitWritesNothingThatAForgeWouldChange(t *testing.T) {
	t.Parallel()
	f := newForge()
	s := plain()
	s.Title, s.Body = "  Deploy\n dev\x00 ", "a\x00\x1b[31m\xff\tb"
	submit(t, f, s)
	assert.Equal(t, "Deploy dev", f.pulls[0].Title)
	assert.Contains(t, f.pulls[0].Body, "\na[31m\uFFFD\tb\n")
}

func TestSubmitRefusesWhatCannotBeMarked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*pullrequest.Submission){
		"environment": func(s *pullrequest.Submission) { s.Environment = "dev --> <b>" },
		"tree":        func(s *pullrequest.Submission) { s.Tree = "-->" },
		"head":        func(s *pullrequest.Submission) { s.Head = s.Base },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForge()
			s := plain()
			change(&s)
			_, err := pullrequest.Submit(t.Context(), f, s)
			require.Error(t, err)
			_, err = pullrequest.Prepare(t.Context(), f, s)
			require.Error(t, err)
			assert.Empty(t, f.reads)
		})
	}
}

// FuzzSubmit: whatever stands in a body and in a path, the second run writes nothing, and what a person wrote stays.
func FuzzSubmit(f *testing.F) {
	f.Add("", "Two targets.", ".")
	f.Add("text\r\n", "<!-- /kalypso:v1 -->", "a/b c")
	f.Add("<!-- kalypso:v1 environment=dev path=. tree=aa11 -->", "<!-- kalypso:v1 environment=dev path=. tree= closed -->", "")
	f.Add("<!-- kalypso:v1 environment=dev path=%zz tree=aa11 -->\n<!-- kalypso:v1 environment=prod path=. tree=aa11 -->", "x", "--> <b>")
	f.Fuzz(func(t *testing.T, person, text, path string) {
		forge := newForge()
		forge.open(pullrequest.Request{Title: "Mine", Body: person, Head: "deployment/main", Base: "main"})
		s := plain()
		s.Body, s.Path = text, path
		submit(t, forge, s)
		submit(t, forge, s)
		assert.Empty(t, forge.writes)
		if !strings.Contains(person, "kalypso:v1") {
			assert.True(t, strings.HasPrefix(forge.pulls[0].Body, strings.TrimRight(person, "\r\n ")))
		}
	})
}
