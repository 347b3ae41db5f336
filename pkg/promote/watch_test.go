package promote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A clock that moves only when somebody sleeps.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Unix(1_700_000_000, 0)} }

func (c *clock) time() time.Time { return c.now }

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

// A scripted fleet answers look by look; the last answer stays.
type scripted struct {
	name  string
	looks []answer
	asked int
}

type answer struct {
	statuses []ReconcilerStatus
	err      error
	// before is what happens while it is asked.
	before func()
}

func (f *scripted) String() string { return f.name }

func (f *scripted) Query(context.Context, Deployment) ([]ReconcilerStatus, error) {
	a := f.looks[min(f.asked, len(f.looks)-1)]
	f.asked++
	if a.before != nil {
		a.before()
	}
	return a.statuses, a.err
}

func statusesOf(commit string, states ...State) answer {
	var a answer
	for i, state := range states {
		a.statuses = append(a.statuses, ReconcilerStatus{Cluster: fmt.Sprintf("cluster-%d", i+1), Commit: commit, State: state, Message: "message of " + string(state)})
	}
	return a
}

func newTestWatch(c *clock, fleets ...Fleet) *Watch {
	return &Watch{
		Fleets: fleets, Deployments: []Deployment{{Repo: "https://example.com/gitops", Branch: "dev", Path: ".", Commit: wantedCommit}},
		Rules: Rules{Timeout: time.Minute, Interval: 5 * time.Second, Grace: 30 * time.Second},
		Now:   c.time, Sleep: c.sleep,
		Newer: func(_ context.Context, _ Deployment, commit string) (bool, error) { return commit == newerCommit, nil },
	}
}

func TestWatchSucceeds(t *testing.T) {
	t.Parallel()
	c := newClock()
	flux := &scripted{name: "flux", looks: []answer{statusesOf(olderCommit, Compliant), statusesOf(wantedCommit, Pending), statusesOf(newerCommit, Compliant)}}
	argo := &scripted{name: "argocd", looks: []answer{statusesOf(wantedCommit, Compliant)}}
	w := newTestWatch(c, flux, argo)
	var shown []Counts
	w.Show = func(snapshot Snapshot) { shown = append(shown, snapshot.Counts) }
	state, snapshot, err := w.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, Succeeded, state)
	assert.Equal(t, Counts{Deployed: 2}, snapshot.Counts)
	assert.Equal(t, []Counts{{Deployed: 1, Behind: 1}, {Deployed: 1, Progressing: 1}, {Deployed: 2}, {Deployed: 2}}, shown)
	assert.Equal(t, 15*time.Second, c.now.Sub(newClock().now), "it waits between looks only")
}

// TestWatchTimesOutExactly: the last look is when the time is up, however the interval falls.
func TestWatchTimesOutExactly(t *testing.T) {
	t.Parallel()
	for _, interval := range []time.Duration{time.Second, 7 * time.Second, time.Minute, time.Hour} {
		c := newClock()
		w := newTestWatch(c, &scripted{name: "flux", looks: []answer{statusesOf(olderCommit, Compliant)}})
		w.Rules.Interval = interval
		state, _, err := w.Run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, TimedOut, state)
		assert.Equal(t, time.Minute, c.now.Sub(newClock().now), interval)
	}
}

func TestWatchOnce(t *testing.T) {
	t.Parallel()
	fleet := &scripted{name: "flux", looks: []answer{statusesOf(wantedCommit, Pending)}}
	w := newTestWatch(newClock(), fleet)
	w.Rules.Once = true
	state, _, err := w.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, Waiting, state)
	assert.Equal(t, 1, fleet.asked)
}

// TestC5FleetThatCannotBeAsked: what may pass is waited out, as long as the fleet says; what does not ends the watch.
func TestC5FleetThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	busy := answer{err: &FleetError{Temporary: true, Wait: 20 * time.Second, Message: "too many requests"}}
	t.Run("it passes", func(t *testing.T) {
		t.Parallel()
		c := newClock()
		state, _, err := newTestWatch(c, &scripted{name: "azure", looks: []answer{busy, statusesOf(wantedCommit, Compliant)}}).Run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, Succeeded, state)
		assert.Equal(t, 25*time.Second, c.now.Sub(newClock().now), "twenty for the fleet, five between two looks")
	})
	t.Run("it does not pass", func(t *testing.T) {
		t.Parallel()
		state, snapshot, err := newTestWatch(newClock(), &scripted{name: "azure", looks: []answer{busy}}, &scripted{name: "flux", looks: []answer{statusesOf(wantedCommit, Compliant)}}).Run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, Unreachable, state)
		assert.Contains(t, snapshot.QueryErrors, "too many requests")
		assert.Equal(t, 1, snapshot.Deployed, "the others are shown")
	})
	t.Run("for good", func(t *testing.T) {
		t.Parallel()
		denied := &FleetError{Message: "you may not"}
		fleet := &scripted{name: "azure", looks: []answer{{err: denied}}}
		_, _, err := newTestWatch(newClock(), fleet).Run(t.Context())
		require.ErrorIs(t, err, denied)
		assert.Equal(t, 1, fleet.asked)
	})
	t.Run("an error that says nothing", func(t *testing.T) {
		t.Parallel()
		_, _, err := newTestWatch(newClock(), &scripted{name: "azure", looks: []answer{{err: errors.New("broken")}}}).Run(t.Context())
		require.Error(t, err)
	})
}

// TestC5NoCommit: what a cluster calls its commit need not be one that git here knows. It stops nobody from asking the others.
func TestC5NoCommit(t *testing.T) {
	t.Parallel()
	for _, commit := range []string{strings.Repeat("a", 64), "main", "::error::"} {
		w := newTestWatch(newClock(), &scripted{name: "flux", looks: []answer{statusesOf(commit, Compliant)}})
		w.Newer = func(context.Context, Deployment, string) (bool, error) { return false, errors.New("it is no commit") }
		state, snapshot, err := w.Run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, TimedOut, state)
		assert.Equal(t, Counts{Behind: 1}, snapshot.Counts)
	}
}

func TestWatchIsStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	fleet := &scripted{name: "flux", looks: []answer{statusesOf(wantedCommit, Pending), {before: cancel, err: context.Canceled}}}
	_, _, err := newTestWatch(newClock(), fleet).Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 2, fleet.asked)
}

// TestWatchFlips: a fleet that flips between states is neither deployed nor failed.
func TestWatchFlips(t *testing.T) {
	t.Parallel()
	var looks []answer
	for range 20 {
		looks = append(looks, statusesOf(wantedCommit, Compliant), statusesOf(wantedCommit, Failed), statusesOf(olderCommit, Compliant), statusesOf(wantedCommit, Pending))
	}
	state, _, err := newTestWatch(newClock(), &scripted{name: "flux", looks: looks}).Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, TimedOut, state)
}

// TestWatchAsksOfEachCommitUntilItIsKnown: a commit that came after the branch was read is asked about again.
func TestWatchAsksOfEachCommitUntilItIsKnown(t *testing.T) {
	t.Parallel()
	w := newTestWatch(newClock(), &scripted{name: "flux", looks: []answer{statusesOf(newerCommit, Compliant, Compliant, Compliant)}})
	asked := 0
	w.Newer = func(context.Context, Deployment, string) (bool, error) { asked++; return asked >= 3, nil }
	state, _, err := w.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, Succeeded, state)
	assert.Equal(t, 3, asked, "once in a look, and never again when it is known")
}

// TestC3RetriedFailure: a failure that is tried again and again with the same commit is one failure. It ends with a success, or another commit.
func TestC3RetriedFailure(t *testing.T) {
	t.Parallel()
	failed, retried := statusesOf(wantedCommit, Failed), statusesOf(wantedCommit, Pending)
	c := newClock()
	state, snapshot, err := newTestWatch(c, &scripted{name: "flux", looks: []answer{failed, retried, failed, retried, retried, retried, retried}}).Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, Rejected, state)
	assert.Equal(t, 30*time.Second, c.now.Sub(newClock().now), "as long as a failure must last")
	assert.Equal(t, "message of failed", snapshot.Clusters[0].Message, "the message is that of the failure")

	for name, then := range map[string]answer{"success": statusesOf(wantedCommit, Compliant), "commit": statusesOf(newerCommit, Pending)} {
		after := statusesOf(wantedCommit, Pending)
		if name == "commit" {
			after = then
		}
		state, _, err := newTestWatch(newClock(), &scripted{name: "flux", looks: []answer{failed, then, after}}).Run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, TimedOut, state, name)
	}
	before, retry := statusesOf(olderCommit, Failed), statusesOf(wantedCommit, Pending)
	state, _, err = newTestWatch(newClock(), &scripted{name: "flux", looks: []answer{before, retry}}).Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, TimedOut, state, "a failure with an older commit is none of this one")
}

// TestC2DeployedWhileItReconcilesAgain: of many clusters, each of which reconciles again at another time, all are deployed. One that
// is pending for another reason, or was never seen to be deployed, is not.
func TestC2DeployedWhileItReconcilesAgain(t *testing.T) {
	t.Parallel()
	again := func(busy ...int) answer {
		a := statusesOf(wantedCommit, Compliant, Compliant, Compliant)
		for _, i := range busy {
			a.statuses[i].State, a.statuses[i].Again = Pending, true
		}
		return a
	}
	run := func(looks ...answer) RolloutState {
		state, _, err := newTestWatch(newClock(), &scripted{name: "flux", looks: looks}).Run(t.Context())
		require.NoError(t, err)
		return state
	}
	assert.Equal(t, Succeeded, run(again(0), again(1), again(2), again(0, 1, 2)))
	assert.Equal(t, TimedOut, run(again(0), again(0)), "the first was never seen to be deployed")
	assert.Equal(t, TimedOut, run(again(), statusesOf(wantedCommit, Compliant, Pending, Compliant)), "pending for another reason")
	newer := again(0)
	newer.statuses[0].Commit = newerCommit
	assert.Equal(t, TimedOut, run(again(), newer), "with another commit")
}
