package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// Check finds out whether the fleet has deployed a commit, reports that on the commit, and promotes it. A check that was
// killed at any point and runs again ends with the same result.
type Check struct {
	// Environment is the name of the one that is checked, and Next are those that come after it.
	Environment string
	Next        []string
	// Promoted is the commit of the control plane that the GitOps repositories were made from.
	Promoted string
	Reporting
	// ByHand leaves it to a person to set the final status.
	ByHand bool
	// Watch polls the fleet.
	Watch Watch
	// PostDeploy runs before the commit counts as deployed, for example tests; nil for nothing.
	PostDeploy func(ctx context.Context, snapshot Snapshot) error
	ControlPlane
}

// ControlPlane is the control plane, as seen by a Check of its promoted commit.
type ControlPlane interface {
	// Earlier returns the commits of the base branch before the promoted one, the newest first.
	Earlier(ctx context.Context) ([]string, error)
	// Overtaken returns the promoted commit that a GitOps branch has now if it is another one; else it is empty.
	Overtaken(ctx context.Context) (string, error)
	// Reverted returns what the environment has now instead of the promoted commit; zero if it has that or a newer one.
	Reverted(ctx context.Context) (Revision, error)
	// Revision compares what an environment has with the promoted commit.
	Revision(ctx context.Context, environment string) (Revision, error)
	// RolledBack reports whether the last promotion to an environment was a rollback from the promoted commit or a newer
	// one. It is called if there are no statuses.
	RolledBack(ctx context.Context, environment string) (bool, error)
	// Promote promotes the commit to an environment.
	Promote(ctx context.Context, environment string) (Outcome, error)
}

// CheckState is what a check has found.
type CheckState string

// The states of a check.
const (
	// CheckNothing: nothing was ever promoted.
	CheckNothing CheckState = "nothing-promoted"
	// CheckUnmerged: not all GitOps repositories have it.
	CheckUnmerged CheckState = "not-merged"
	// CheckDeployed: it is deployed.
	CheckDeployed CheckState = "deployed"
	// CheckFailed: it is not.
	CheckFailed CheckState = "failed"
	// CheckWaiting: it is not yet.
	CheckWaiting CheckState = "waiting"
	// CheckSuperseded: a newer commit replaced it.
	CheckSuperseded CheckState = "superseded"
	// CheckByHand: a person sets the status.
	CheckByHand CheckState = "by-hand"
)

// CheckResult is the result of a check.
type CheckResult struct {
	State   CheckState
	Rollout RolloutState
	// Snapshot is the last one; nil if the fleet was not looked at.
	Snapshot *Snapshot
	// Reason is why it failed, in one line.
	Reason string
	// Status is the last that was set on the commit; nil if none was.
	Status *Status
	// Superseded are the earlier commits that got the status Superseded by.
	Superseded []string
	// Next has the outcomes of the next environments.
	Next []Outcome
	// Notes are for people.
	Notes []string
}

// Run checks. The result is valid also if there is an error.
func (c *Check) Run(ctx context.Context) (CheckResult, error) {
	run := &checkRun{Check: c, text: statusText{c.Environment, c.Reporting}}
	if c.Statuses == nil {
		run.result.Notes = []string{"no status is set on the commit: " + c.NoStatuses}
	}
	err := run.run(ctx)
	return run.result, err
}

type checkRun struct {
	*Check
	text statusText
	// statuses are those of Promoted when they were read last, current is that of the environment; zero if it has none.
	statuses []Status
	current  Status
	result   CheckResult
}

func (c *checkRun) run(ctx context.Context) error {
	if err := c.readStatus(ctx); err != nil {
		return err
	}
	if s, found := findUntrusted(c.statuses, c.Environment); found && (s.State != StatusPending || isDeployed(s)) {
		c.result.Notes = append(c.result.Notes, fmt.Sprintf("the status %q, %s, was set by %s and does not count%s",
			s.Context, s.State, s.creator(), trustHint(c.Environment, s)))
	}
	if _, _, err := c.missing(ctx); err != nil { // before anybody waits for the fleet
		return err
	}
	deployed := isDeployed(c.current)
	switch {
	case c.rolledBack():
		return nil
	case c.ByHand && c.current.State == StatusFailure: // a person has said so
		c.result.State = CheckByHand
		return nil
	case c.ByHand && !deployed:
		c.result.State = CheckByHand
		if c.Statuses == nil {
			for _, next := range c.Next {
				c.result.Notes = append(c.result.Notes, fmt.Sprintf("when it is deployed, promote it with kalypso promote --env %s --commit %.12s --skip-gates", next, c.Promoted))
			}
		}
		return c.set(ctx, c.text.status(StatusPending, descriptionByHand))
	case c.ByHand:
		if back, err := c.reverted(ctx); back || err != nil {
			return err
		}
		c.result.State = CheckDeployed
		return c.promoteNext(ctx)
	}
	if !deployed { // else its gate stays open until there is a reason to close it
		if err := c.set(ctx, c.text.status(StatusPending, descriptionDeploying)); err != nil {
			return err
		}
	}
	status, err := c.watch(ctx)
	if status == nil {
		return err
	}
	if back, failed := c.reverted(ctx); back || failed != nil {
		return errors.Join(err, failed)
	}
	if err := errors.Join(err, c.set(ctx, *status)); err != nil {
		return err
	}
	if err := c.supersede(ctx); err != nil || c.result.State != CheckDeployed {
		return err
	}
	return c.promoteNext(ctx)
}

// rolledBack reports whether the commit has the status Rolled back.
func (c *checkRun) rolledBack() bool {
	if !c.current.isRolledBack() {
		return false
	}
	c.result.State, c.result.Reason = CheckSuperseded, c.current.Description
	return true
}

// reverted checks again that the environment has the commit: asking the fleet and running tests take time, in which a
// person may have reverted it. That is reported on the commit, unless it is already.
func (c *checkRun) reverted(ctx context.Context) (bool, error) {
	if err := c.readStatus(ctx); err != nil || c.rolledBack() {
		return err == nil, err
	}
	now, err := c.Reverted(ctx)
	if err != nil || now.Commit == "" {
		return false, err
	}
	status := c.text.superseded(now.Commit)
	if now.Relation == gitobject.Older {
		status = c.text.rolledBack(now.Commit)
	}
	c.result.State, c.result.Reason = CheckSuperseded, fmt.Sprintf("%s has %.12s now", c.Environment, now.Commit)
	return true, c.set(ctx, status)
}

func (c *checkRun) readStatus(ctx context.Context) error {
	if c.Statuses == nil {
		return nil
	}
	var err error
	c.statuses, err = c.Statuses.Statuses(ctx, c.Promoted)
	c.current, _ = find(c.statuses, c.Environment)
	return err
}

// missing returns the next environments that have neither the commit nor a newer one. One that has it without a status
// that reports it is missing too: a run was stopped between the two. One that had it is not: a person has reverted it, by a
// rollback, a revert or an edit, and the notes report that.
func (c *checkRun) missing(ctx context.Context) (missing, notes []string, err error) {
	for _, next := range c.Next {
		has, err := c.Revision(ctx, next)
		if err != nil {
			return nil, nil, fmt.Errorf("read the commit of %s: %w", next, err)
		}
		status, found := find(c.statuses, next)
		back := status.isRolledBack() || !has.contains() && found && status.wasPromoted()
		if c.Statuses == nil && !has.contains() {
			if back, err = c.RolledBack(ctx, next); err != nil {
				return nil, nil, fmt.Errorf("read the promotion history of %s: %w", next, err)
			}
		}
		switch {
		case back:
			notes = append(notes, fmt.Sprintf("%s was rolled back from %.12s: promote it manually", next, c.Promoted))
		case !has.contains(), has.Relation == gitobject.Same && !found && c.Statuses != nil:
			missing = append(missing, next)
		}
	}
	return missing, notes, nil
}

// set sets the status of the commit unless it is set already. A status of a deployed commit need not link to the last run.
func (c *checkRun) set(ctx context.Context, status Status) error {
	if c.Statuses == nil {
		return nil
	}
	now := c.current
	same := now.State == status.State && now.Description == status.Description
	if same && (isDeployed(status) || now.TargetURL == status.TargetURL) {
		return nil
	}
	if err := c.Statuses.SetStatus(ctx, c.Promoted, status); err != nil {
		return err
	}
	c.current, c.result.Status = status, &status
	return nil
}

// watch polls the fleet until the rollout has a final state, and returns the status for it; nil if it has none yet.
func (c *checkRun) watch(ctx context.Context) (*Status, error) {
	state, snapshot, err := c.Watch.Run(ctx)
	if c.result.Rollout = state; err == nil {
		c.result.Snapshot = &snapshot
	}
	if failed, ok := errors.AsType[*FleetError](err); ok && ctx.Err() == nil { // it will not answer the next time either
		c.result.State, c.result.Reason = CheckFailed, failed.Message
		status := c.text.failed("the fleet cannot be queried")
		return &status, err
	}
	switch {
	case err != nil:
		return nil, err
	case state == Waiting, state == Unreachable && c.Watch.Rules.Once:
		c.result.State, c.result.Reason = CheckWaiting, snapshot.QueryErrors
		return nil, nil
	case state != Succeeded:
		c.result.State, c.result.Reason = CheckFailed, c.Watch.Rules.reason(state, snapshot)
		return c.overtaken(ctx, snapshot)
	default:
		c.result.State = CheckDeployed
		return c.postDeploy(ctx, snapshot)
	}
}

// overtaken checks whether a newer commit has been merged meanwhile. Then that one is at fault, unless a cluster has failed
// with this one.
func (c *checkRun) overtaken(ctx context.Context, snapshot Snapshot) (*Status, error) {
	status := c.text.failed(c.result.Reason)
	ours := func(cluster Cluster) bool {
		return cluster.State == Broken && slices.ContainsFunc(c.Watch.Deployments, func(d Deployment) bool { return d.Commit == cluster.Commit })
	}
	if slices.ContainsFunc(snapshot.Clusters, ours) {
		return &status, nil
	}
	newer, err := c.Overtaken(ctx)
	if err != nil {
		return nil, err
	}
	if newer != "" {
		c.result.State, c.result.Reason = CheckSuperseded, fmt.Sprintf("%.12s replaced it", newer)
		status = c.text.superseded(newer)
	}
	return &status, nil
}

// postDeploy runs what must succeed before the commit counts as deployed.
func (c *checkRun) postDeploy(ctx context.Context, snapshot Snapshot) (*Status, error) {
	status := c.text.deployed(snapshot.Counts.String(), len(c.Next) > 0)
	if c.PostDeploy == nil {
		return &status, nil
	}
	err := c.PostDeploy(ctx, snapshot)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		c.result.State, c.result.Reason = CheckFailed, err.Error()
		status = c.text.failed(c.result.Reason)
	}
	return &status, nil
}

// MaxEarlier is how many commits are looked at that may have been overtaken.
const MaxEarlier = 25

// supersede sets the status of the commits that were promoted before this one and were not deployed: their pull request
// was overtaken by this one's, or their check was cancelled.
func (c *checkRun) supersede(ctx context.Context) error {
	if c.Statuses == nil || c.result.State == CheckSuperseded {
		return nil
	}
	earlier, err := c.Earlier(ctx)
	if err != nil {
		return err
	}
	for _, commit := range earlier[:min(len(earlier), MaxEarlier)] {
		statuses, err := c.Statuses.Statuses(ctx, commit)
		if err != nil {
			return err
		}
		status, found := find(statuses, c.Environment)
		switch {
		case !found || status.State == StatusFailure || status.State == StatusError:
		case isDeployed(status):
			return nil // its check has superseded what came before it
		default:
			if err := c.Statuses.SetStatus(ctx, commit, c.text.superseded(c.Promoted)); err != nil {
				return err
			}
			c.result.Superseded = append(c.result.Superseded, commit)
		}
	}
	return nil
}

// promoteNext promotes the commit to the next environments that do not have it. One that fails does not stop the others.
func (c *checkRun) promoteNext(ctx context.Context) error {
	missing, notes, err := c.missing(ctx)
	c.result.Notes = append(c.result.Notes, notes...)
	if err != nil {
		return err
	}
	var errs []error
	for _, next := range missing {
		outcome, err := c.Promote(ctx, next)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("promote to %s: %w", next, err))
			continue
		}
		c.result.Next = append(c.result.Next, outcome)
	}
	return errors.Join(errs...)
}
