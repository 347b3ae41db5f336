package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// A world is what a check sees: statuses, a fleet and the environments that come next. Every step into it can be the
// last.
type world struct {
	clock *clock
	// board are the statuses of commits, the newest first.
	board map[string][]Status
	// has is what each environment has.
	has   map[string]string
	fleet *scripted
	// steps counts the steps, and stop is called before the one of that number.
	steps, stopAt int
	stop          func()
	promotions    []string
	overtaken     string
	onOvertaken   func()
	// refuses is an environment that cannot be promoted to.
	refuses string
	// reverted is what the environment that is checked has now instead of the promoted commit.
	reverted Revision
	earlier  []string
	// rolledBack are environments whose branch says that they were taken back from the commit.
	rolledBack []string
	postDeploy func() error
}

const promotedCommit = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func newWorld(looks ...answer) *world {
	return &world{clock: newClock(), board: map[string][]Status{}, has: map[string]string{}, fleet: &scripted{name: "flux", looks: looks}}
}

func (w *world) step(ctx context.Context) error {
	w.steps++
	if w.steps == w.stopAt {
		w.stop()
	}
	return ctx.Err()
}

func (w *world) Statuses(ctx context.Context, commit string) ([]Status, error) {
	if err := w.step(ctx); err != nil {
		return nil, err
	}
	var newest []Status
	for _, s := range w.board[commit] {
		if !slices.ContainsFunc(newest, func(n Status) bool { return n.Context == s.Context }) {
			newest = append(newest, s)
		}
	}
	return newest, nil
}

func (w *world) SetStatus(ctx context.Context, commit string, status Status) error {
	if err := w.step(ctx); err != nil {
		return err
	}
	w.board[commit] = append([]Status{status}, w.board[commit]...)
	return nil
}

func (w *world) Query(ctx context.Context, d Deployment) ([]ReconcilerStatus, error) {
	if err := w.step(ctx); err != nil {
		return nil, err
	}
	return w.fleet.Query(ctx, d)
}

func (w *world) String() string { return w.fleet.name }

func (w *world) Promote(ctx context.Context, environment string) (Outcome, error) {
	if err := w.step(ctx); err != nil {
		return Outcome{}, err
	}
	if environment == w.refuses {
		return Outcome{}, errors.New("it is protected")
	}
	if w.has[environment] != promotedCommit {
		w.promotions = append(w.promotions, environment)
	}
	w.has[environment] = promotedCommit
	err := w.SetStatus(ctx, promotedCommit, statusText{environment: environment}.promoted())
	return Outcome{Environment: environment, Action: ActionPromoted, Commit: promotedCommit}, err
}

func (w *world) Revision(ctx context.Context, environment string) (Revision, error) {
	commit := w.has[environment]
	relation := map[string]gitobject.Relation{promotedCommit: gitobject.Same, newerCommit: gitobject.Newer}[commit]
	return Revision{commit, relation}, w.step(ctx)
}

func (w *world) RolledBack(ctx context.Context, environment string) (bool, error) {
	return slices.Contains(w.rolledBack, environment), w.step(ctx)
}

func (w *world) Reverted(ctx context.Context) (Revision, error) { return w.reverted, w.step(ctx) }

func (w *world) Earlier(ctx context.Context) ([]string, error) { return w.earlier, w.step(ctx) }

func (w *world) Overtaken(ctx context.Context) (string, error) {
	if w.onOvertaken != nil {
		w.onOvertaken()
	}
	return w.overtaken, w.step(ctx)
}

func (w *world) check(next ...string) *Check {
	c := &Check{
		Environment: "dev", Next: next, Promoted: promotedCommit, Reporting: Reporting{Statuses: w},
		Watch: *newTestWatch(w.clock, w), ControlPlane: w,
	}
	if w.postDeploy != nil {
		c.PostDeploy = func(ctx context.Context, _ Snapshot) error {
			if err := w.step(ctx); err != nil {
				return err
			}
			return w.postDeploy()
		}
	}
	return c
}

// said is the newest status of a commit for dev, in a line.
func (w *world) said(commit string) string { return w.saidOf("dev", commit) }

func (w *world) saidOf(environment, commit string) string {
	s, found := find(w.board[commit], environment)
	if !found {
		return ""
	}
	return fmt.Sprintf("%s: %s %s", s.Context, s.State, s.Description)
}

// history are all statuses of the promoted commit, the oldest first.
func (w *world) history() []string {
	var lines []string
	for _, s := range slices.Backward(w.board[promotedCommit]) {
		if s.Context != "dev environment" {
			continue
		}
		lines = append(lines, string(s.State)+" "+s.Description)
	}
	return lines
}

func TestCheck(t *testing.T) {
	t.Parallel()
	healthy := statusesOf(wantedCommit, Compliant, Compliant, Compliant)
	failing := statusesOf(wantedCommit, Compliant, Failed, Compliant)
	for name, test := range map[string]struct {
		looks  []answer
		change func(w *world, c *Check)
		state  CheckState
		status string
		next   []string
	}{
		"deployed": {
			looks: []answer{statusesOf(olderCommit, Compliant, Compliant, Compliant), healthy},
			state: CheckDeployed, status: "dev environment: success Deployed: 3 of 3 clusters", next: []string{"eu", "us"},
		},
		"failed": {
			looks: []answer{failing},
			state: CheckFailed, status: "dev environment: failure Failed to deploy: 2 of 3 clusters; cluster-2: message of failed",
		},
		"time is up": {
			looks: []answer{statusesOf(wantedCommit, Compliant, Pending, Compliant)},
			state: CheckFailed, status: "dev environment: failure Failed to deploy: 2 of 3 clusters after 1m0s",
		},
		"C1 no clusters": {
			looks: []answer{{}},
			state: CheckFailed, status: "dev environment: failure Failed to deploy: no cluster is registered after 1m0s",
		},
		"C3 a failure for a moment": {
			looks: []answer{failing, failing, healthy},
			state: CheckDeployed, status: "dev environment: success Deployed: 3 of 3 clusters", next: []string{"eu", "us"},
		},
		"the fleet cannot be queried": {
			looks: []answer{{err: &FleetError{Temporary: true, Message: "it is busy"}}},
			state: CheckFailed, status: "dev environment: failure Failed to deploy: no cluster state available after 1m0s; flux: it is busy",
		},
		"seed statuses": {
			looks:  []answer{healthy},
			change: func(_ *world, c *Check) { c.Seed = true },
			state:  CheckDeployed, status: "dev environment: pending Deployed", next: []string{"eu", "us"},
		},
		"seed statuses at the end": {
			looks:  []answer{healthy},
			change: func(_ *world, c *Check) { c.Seed, c.Next = true, nil },
			state:  CheckDeployed, status: "dev environment: success Deployed",
		},
		"seed statuses of a failure": {
			looks:  []answer{failing},
			change: func(_ *world, c *Check) { c.Seed = true },
			state:  CheckFailed, status: "dev environment: failure Failed to deploy",
		},
		"the post-deployment command fails": {
			looks: []answer{healthy},
			change: func(w *world, c *Check) {
				c.PostDeploy = func(context.Context, Snapshot) error { return errors.New("it ended with code 3") }
			},
			state: CheckFailed, status: "dev environment: failure Failed to deploy: it ended with code 3",
		},
		"one environment has it": {
			looks:  []answer{healthy},
			change: func(w *world, _ *Check) { w.has["eu"] = newerCommit },
			state:  CheckDeployed, status: "dev environment: success Deployed: 3 of 3 clusters", next: []string{"us"},
		},
		"deployed before, and all have it": {
			looks: []answer{healthy},
			change: func(w *world, _ *Check) {
				w.has["eu"], w.has["us"] = promotedCommit, newerCommit
				w.board[promotedCommit] = []Status{
					{Context: "eu environment", State: StatusPending, Description: "Promoted"},
					{Context: "dev environment", State: StatusSuccess, Description: "Deployed"},
				}
			},
			state: CheckDeployed, status: "dev environment: success Deployed: 3 of 3 clusters",
		},
		"deployed before, and broken by what was merged since": {
			looks: []answer{failing},
			change: func(w *world, _ *Check) {
				w.has["eu"], w.has["us"] = promotedCommit, promotedCommit
				w.board[promotedCommit] = []Status{{Context: "dev environment", State: StatusSuccess, Description: "Deployed"}}
			},
			state: CheckFailed, status: "dev environment: failure Failed to deploy: 2 of 3 clusters; cluster-2: message of failed",
		},
		"rolled back on purpose": {
			looks: []answer{healthy},
			change: func(w *world, _ *Check) {
				w.board[promotedCommit] = []Status{{Context: "dev environment", State: StatusError, Description: "Rolled back to 1234567"}}
			},
			state: CheckSuperseded, status: "dev environment: error Rolled back to 1234567",
		},
		"the next is rolled back from it on purpose": {
			looks: []answer{healthy},
			change: func(w *world, _ *Check) {
				w.board[promotedCommit] = []Status{{Context: "eu environment", State: StatusError, Description: "Rolled back to 1234567"}}
			},
			state: CheckDeployed, status: "dev environment: success Deployed: 3 of 3 clusters", next: []string{"us"},
		},
		"somebody took it back in the next by a way of his own": {
			looks: []answer{healthy},
			change: func(w *world, _ *Check) {
				w.board[promotedCommit] = []Status{
					{Context: "eu environment", State: StatusSuccess, Description: "Deployed: 3 of 3 clusters"},
					{Context: "us environment", State: StatusPending, Description: "Promoted"},
				}
			},
			state: CheckDeployed, status: "dev environment: success Deployed: 3 of 3 clusters",
		},
		"proposed to the next, but not merged": {
			looks: []answer{healthy},
			change: func(w *world, _ *Check) {
				w.board[promotedCommit] = []Status{
					{Context: "eu environment", State: StatusPending, Description: "Promotion proposed in #12"},
					{Context: "us environment", State: StatusError, Description: "Superseded by 1234567"},
				}
			},
			state: CheckDeployed, status: "dev environment: success Deployed: 3 of 3 clusters", next: []string{"eu", "us"},
		},
		"deployed before, but a run was cancelled before it promoted": {
			looks: []answer{healthy},
			change: func(w *world, _ *Check) {
				w.board[promotedCommit] = []Status{{Context: "dev environment", State: StatusSuccess, Description: "Deployed"}}
			},
			state: CheckDeployed, status: "dev environment: success Deployed: 3 of 3 clusters", next: []string{"eu", "us"},
		},
		"failed before, and a fix of the environment's branch healed it": {
			looks: []answer{healthy},
			change: func(w *world, _ *Check) {
				w.board[promotedCommit] = []Status{{Context: "dev environment", State: StatusFailure, Description: "Failed to deploy"}}
			},
			state: CheckDeployed, status: "dev environment: success Deployed: 3 of 3 clusters", next: []string{"eu", "us"},
		},
		"once, and it fails": {
			looks:  []answer{failing},
			change: func(_ *world, c *Check) { c.Watch.Rules.Once = true },
			state:  CheckFailed, status: "dev environment: failure Failed to deploy: 2 of 3 clusters; cluster-2: message of failed",
		},
		"once, and nothing is registered": {
			looks:  []answer{{}},
			change: func(_ *world, c *Check) { c.Watch.Rules.Once = true },
			state:  CheckFailed, status: "dev environment: failure Failed to deploy: no cluster is registered",
		},
		"once, and it cannot be asked": {
			looks:  []answer{{err: &FleetError{Temporary: true, Message: "it is busy"}}},
			change: func(_ *world, c *Check) { c.Watch.Rules.Once = true },
			state:  CheckWaiting, status: "dev environment: pending Deploying",
		},
		"once": {
			looks:  []answer{statusesOf(wantedCommit, Pending)},
			change: func(_ *world, c *Check) { c.Watch.Rules.Once = true },
			state:  CheckWaiting, status: "dev environment: pending Deploying",
		},
		"overtaken while it takes its time": {
			looks:  []answer{statusesOf(olderCommit, Compliant)},
			change: func(w *world, _ *Check) { w.overtaken = newerCommit },
			state:  CheckSuperseded, status: "dev environment: error Superseded by 2222222",
		},
		"overtaken by what fails": {
			looks:  []answer{statusesOf(newerCommit, Failed)},
			change: func(w *world, _ *Check) { w.overtaken = newerCommit },
			state:  CheckSuperseded, status: "dev environment: error Superseded by 2222222",
		},
		"failed and overtaken": {
			looks:  []answer{failing},
			change: func(w *world, _ *Check) { w.overtaken = newerCommit },
			state:  CheckFailed, status: "dev environment: failure Failed to deploy: 2 of 3 clusters; cluster-2: message of failed",
		},
		"by hand": {
			change: func(_ *world, c *Check) { c.ByHand = true },
			state:  CheckByHand, status: "dev environment: pending Deploying: a person decides whether it is deployed",
		},
		"by hand, and a person has refused": {
			change: func(w *world, c *Check) {
				c.ByHand = true
				w.board[promotedCommit] = []Status{{Context: "dev environment", State: StatusFailure, Description: "The tills do not start"}}
			},
			state: CheckByHand, status: "dev environment: failure The tills do not start",
		},
		"by hand, and a person has decided": {
			change: func(w *world, c *Check) {
				c.ByHand = true
				w.board[promotedCommit] = []Status{{Context: "dev environment", State: StatusSuccess, Description: "Looks good"}}
			},
			state: CheckDeployed, status: "dev environment: success Looks good", next: []string{"eu", "us"},
		},
		"C7 it was rolled back meanwhile": {
			looks: []answer{healthy, healthy},
			change: func(w *world, c *Check) {
				c.PostDeploy = func(ctx context.Context, _ Snapshot) error {
					w.reverted = Revision{olderCommit, gitobject.Older}
					return w.SetStatus(ctx, promotedCommit, statusText{environment: "dev"}.rolledBack(olderCommit))
				}
			},
			state: CheckSuperseded, status: "dev environment: error Rolled back to " + olderCommit[:7],
		},
		"C7 it was rolled back meanwhile, and fails": {
			looks: []answer{statusesOf(wantedCommit, Compliant, Pending, Compliant)},
			change: func(w *world, _ *Check) {
				w.onOvertaken = func() {
					w.board[promotedCommit] = append([]Status{statusText{environment: "dev"}.rolledBack(olderCommit)}, w.board[promotedCommit]...)
				}
			},
			state: CheckSuperseded, status: "dev environment: error Rolled back to " + olderCommit[:7],
		},
		"C7 somebody took it back by a way of his own": {
			looks: []answer{healthy},
			change: func(w *world, _ *Check) {
				w.board[promotedCommit] = []Status{{Context: "dev environment", State: StatusSuccess, Description: "Deployed: 3 of 3 clusters"}}
				w.reverted = Revision{olderCommit, gitobject.Older}
			},
			state: CheckSuperseded, status: "dev environment: error Rolled back to " + olderCommit[:7],
		},
		"C7 it has something else": {
			looks:  []answer{healthy},
			change: func(w *world, _ *Check) { w.reverted = Revision{olderCommit, gitobject.Apart} },
			state:  CheckSuperseded, status: "dev environment: error Superseded by " + olderCommit[:7],
		},
		"C7 by hand": {
			change: func(w *world, c *Check) {
				c.ByHand, w.reverted = true, Revision{olderCommit, gitobject.Older}
				w.board[promotedCommit] = []Status{{Context: "dev environment", State: StatusSuccess, Description: "Looks good"}}
			},
			state: CheckSuperseded, status: "dev environment: error Rolled back to " + olderCommit[:7],
		},
		"C2 more are needed than there are": {
			looks:  []answer{healthy},
			change: func(_ *world, c *Check) { c.Watch.Rules.Need = func(int) int { return 5 } },
			state:  CheckFailed, status: "dev environment: failure Failed to deploy: 3 of 3 clusters; 5 needed after 1m0s",
		},
		"C7 without statuses": {
			looks: []answer{healthy},
			change: func(w *world, c *Check) {
				c.Statuses, c.NoStatuses = nil, "it is not on GitHub"
				w.reverted = Revision{olderCommit, gitobject.Older}
			},
			state: CheckSuperseded,
		},
		"no statuses": {
			looks:  []answer{healthy},
			change: func(_ *world, c *Check) { c.Statuses, c.NoStatuses = nil, "it is not on GitHub" },
			state:  CheckDeployed, next: []string{"eu", "us"},
		},
		"no statuses, and one was taken back": {
			looks: []answer{healthy},
			change: func(w *world, c *Check) {
				c.Statuses, c.NoStatuses = nil, "it is not on GitHub"
				w.rolledBack = []string{"eu"}
			},
			state: CheckDeployed, next: []string{"us"},
		},
		"statuses say more than the branch": {
			looks:  []answer{healthy},
			change: func(w *world, _ *Check) { w.rolledBack = []string{"eu"} },
			state:  CheckDeployed, status: "dev environment: success Deployed: 3 of 3 clusters", next: []string{"eu", "us"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(test.looks...)
			c := w.check("eu", "us")
			if test.change != nil {
				test.change(w, c)
			}
			report, err := c.Run(t.Context())
			require.NoError(t, err)
			assert.Equal(t, test.state, report.State)
			assert.Equal(t, test.status, w.said(promotedCommit))
			assert.Equal(t, test.next, w.promotions)
		})
	}
}

// TestCheckStatuses: what can be seen on a commit, in order.
func TestCheckStatuses(t *testing.T) {
	t.Parallel()
	w := newWorld(statusesOf(wantedCommit, Compliant))
	c := w.check("stage")
	c.TargetURL = "https://github.com/acme/control-plane/actions/runs/1"
	_, err := c.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"pending Deploying", "success Deployed: 1 of 1 cluster"}, w.history())
	for _, s := range w.board[promotedCommit] {
		if s.Context == "dev environment" { // that of stage is for its promotion to set
			assert.Equal(t, c.TargetURL, s.TargetURL)
		}
	}
}

// TestCheckTellsWhatWasOvertaken: commits whose own check never ran, or was cancelled, are told; those that had an
// end keep it, and what lies before a commit that was deployed is not looked at.
func TestCheckTellsWhatWasOvertaken(t *testing.T) {
	t.Parallel()
	w := newWorld(statusesOf(wantedCommit, Compliant))
	status := func(state StatusState, description string) []Status {
		return []Status{{Context: "dev environment", State: state, Description: description}}
	}
	w.earlier = []string{"b1", "b2", "b3", "b4", "b5", "b6"}
	w.board["b1"] = status(StatusPending, "Promoted")
	w.board["b2"] = status(StatusFailure, "Failed to deploy")
	w.board["b4"] = status(StatusPending, "Deploying")
	w.board["b5"] = status(StatusSuccess, "Deployed")
	w.board["b6"] = status(StatusPending, "Deploying")
	report, err := w.check().Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"b1", "b4"}, report.Superseded)
	assert.Equal(t, "dev environment: error Superseded by aaaaaaa", w.said("b1"))
	assert.Equal(t, "dev environment: failure Failed to deploy", w.said("b2"))
	assert.Empty(t, w.said("b3"), "it was never promoted")
	assert.Equal(t, "dev environment: error Superseded by aaaaaaa", w.said("b4"))
	assert.Equal(t, "dev environment: pending Deploying", w.said("b6"))
}

// TestCheckEndsInTheSamePlace: whatever step a check is killed at, the next one ends where it would have ended.
func TestCheckEndsInTheSamePlace(t *testing.T) {
	t.Parallel()
	world := func() *world {
		w := newWorld(statusesOf(olderCommit, Compliant), statusesOf(wantedCommit, Compliant))
		w.earlier = []string{"b1"}
		w.board["b1"] = []Status{{Context: "dev environment", State: StatusPending, Description: "Promoted"}}
		w.postDeploy = func() error { return nil }
		return w
	}
	whole := world()
	_, err := whole.check("eu", "us").Run(t.Context())
	require.NoError(t, err)
	require.Greater(t, whole.steps, 10)
	for stopAt := 1; stopAt <= whole.steps; stopAt++ {
		w := world()
		ctx, cancel := context.WithCancel(t.Context())
		w.stopAt, w.stop = stopAt, cancel
		_, err := w.check("eu", "us").Run(ctx)
		require.ErrorIs(t, err, context.Canceled, "step %d", stopAt)
		report, err := w.check("eu", "us").Run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, CheckDeployed, report.State)
		assert.Equal(t, whole.has, w.has, "step %d", stopAt)
		assert.Equal(t, whole.said(promotedCommit), w.said(promotedCommit), "step %d", stopAt)
		assert.Equal(t, whole.said("b1"), w.said("b1"), "step %d", stopAt)
		for _, next := range []string{"eu", "us"} {
			assert.Equal(t, whole.saidOf(next, promotedCommit), w.saidOf(next, promotedCommit), "step %d", stopAt)
		}
		assert.Equal(t, whole.promotions, w.promotions, "step %d: promoted once", stopAt)
		again, err := w.check("eu", "us").Run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, CheckDeployed, again.State)
		assert.Equal(t, whole.promotions, w.promotions, "step %d: promoted once", stopAt)
	}
}

func TestCheckFleetDenies(t *testing.T) {
	t.Parallel()
	denied := &FleetError{Message: "you may not", Hint: "ask for the Reader role"}
	w := newWorld(answer{err: denied})
	report, err := w.check("stage").Run(t.Context())
	require.ErrorIs(t, err, denied)
	assert.Equal(t, CheckFailed, report.State)
	assert.Equal(t, "dev environment: failure Failed to deploy: the fleet cannot be queried", w.said(promotedCommit))
	assert.Empty(t, w.promotions)
}

// TestCheckOneOfSeveralFails: an environment that cannot be promoted to does not keep the others from it.
func TestCheckOneOfSeveralFails(t *testing.T) {
	t.Parallel()
	w := newWorld(statusesOf(wantedCommit, Compliant))
	c := w.check("eu", "us")
	w.refuses = "eu"
	_, err := c.Run(t.Context())
	require.ErrorContains(t, err, "promote to eu: it is protected")
	assert.Equal(t, []string{"us"}, w.promotions)
}

func TestDescriptionsFit(t *testing.T) {
	t.Parallel()
	w := statusText{environment: "dev"}
	long := w.failed("2 of 3 clusters; edge: " + string(make([]rune, 300)) + "\n\x1b[31m")
	assert.LessOrEqual(t, len([]rune(long.Description)), MaxDescription)
	assert.NotContains(t, long.Description, "\x1b")
	assert.NotContains(t, long.Description, "\x00")
	assert.Equal(t, "Superseded by aaaaaaa", w.superseded(promotedCommit).Description)
}
