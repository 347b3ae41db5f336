package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Check finds out whether the fleet has deployed a commit, says so on it, and lets it go on. Killed at any point and
// run again, it ends in the same place.
type Check struct {
	// Environment is the name of the one that is checked, and Next are those that come after it.
	Environment string
	Next        []string
	// Promoted is the commit of the control plane that the GitOps repositories were made from.
	Promoted string
	// Statuses are those of the control plane's commits; nil if there are none, and NoStatuses says why.
	Statuses   Statuses
	NoStatuses string
	// TargetURL is the page that statuses link to; it may be empty.
	TargetURL string
	// SeedStatuses says no more in a status than the seeds' workflows do.
	SeedStatuses bool
	// ByHand leaves it to a person to say that the commit is deployed.
	ByHand bool
	// Watch looks at the fleet.
	Watch Watch
	// PostDeploy is what is to be done before it counts as deployed, for example tests; nil for nothing.
	PostDeploy func(ctx context.Context, look Look) error
	// Earlier returns the commits of the base branch before Promoted, the newest first.
	Earlier func(ctx context.Context) ([]string, error)
	// Overtaken returns the promoted commit that a GitOps branch has by now, if that is another one than Promoted; else
	// it is empty.
	Overtaken func(ctx context.Context) (string, error)
	// TakenBack tells whether the environment has, by now, neither Promoted nor anything newer.
	TakenBack func(ctx context.Context) (TakenBack, error)
	// Has tells whether an environment has Promoted, or something newer.
	Has func(ctx context.Context, environment string) (Possession, error)
	// RolledBack tells whether the last promotion to an environment has taken it back from Promoted, or from something
	// newer. It is asked where there are no statuses.
	RolledBack func(ctx context.Context, environment string) (bool, error)
	// Promote promotes Promoted to an environment.
	Promote func(ctx context.Context, environment string) (Outcome, error)
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
	// CheckSuperseded: a newer commit has come in its place.
	CheckSuperseded CheckState = "superseded"
	// CheckByHand: a person is to say so.
	CheckByHand CheckState = "by-hand"
)

// Report is what came of a check.
type Report struct {
	State   CheckState
	Verdict Verdict
	// Look is the last one; nil if the fleet was not looked at.
	Look *Look
	// Reason says in a line why it failed.
	Reason string
	// Status is the last that was set on the commit; nil if none was.
	Status *Status
	// Superseded are the commits that were told that this one has overtaken them.
	Superseded []string
	// Next is what became of the environments that come after.
	Next []Outcome
	// Notes are for people.
	Notes []string
}

// Run checks. The report is what was reached, also if there is an error.
func (c *Check) Run(ctx context.Context) (Report, error) {
	run := &checkRun{Check: c, words: words{environment: c.Environment, targetURL: c.TargetURL, seed: c.SeedStatuses}}
	if c.Statuses == nil {
		run.report.Notes = []string{"no status is set on the commit: " + c.NoStatuses}
	}
	err := run.run(ctx)
	return run.report, err
}

type checkRun struct {
	*Check
	words words
	// statuses are those of Promoted when they were read last, current is that of the environment, if it is known.
	statuses []Status
	current  Status
	known    bool
	report   Report
}

func (c *checkRun) run(ctx context.Context) error {
	if err := c.readStatus(ctx); err != nil {
		return err
	}
	if s, found := findUntrusted(c.statuses, c.Environment); found && (s.State != StatusPending || isDeployed(s)) {
		c.report.Notes = append(c.report.Notes, fmt.Sprintf("the status %q, %s, was set by %s and does not count%s",
			s.Context, s.State, s.creator(), trustHint(c.Environment, s)))
	}
	if _, _, err := c.missing(ctx); err != nil { // before anybody waits for the fleet
		return err
	}
	deployed := c.known && isDeployed(c.current)
	switch {
	case c.rolledBack():
		return nil
	case c.ByHand && c.known && c.current.State == StatusFailure: // a person has said so
		c.report.State = CheckByHand
		return nil
	case c.ByHand && !deployed:
		c.report.State = CheckByHand
		return c.set(ctx, c.words.waitsForPerson())
	case c.ByHand:
		if back, err := c.takenBack(ctx); back || err != nil {
			return err
		}
		c.report.State = CheckDeployed
		return c.goOn(ctx)
	}
	if !deployed { // else its gate stays open until there is a reason to close it
		if err := c.set(ctx, c.words.deploying()); err != nil {
			return err
		}
	}
	status, err := c.watch(ctx)
	if status == nil {
		return err
	}
	if back, failed := c.takenBack(ctx); back || failed != nil {
		return errors.Join(err, failed)
	}
	if err := errors.Join(err, c.set(ctx, *status)); err != nil {
		return err
	}
	if err := c.supersede(ctx); err != nil || c.report.State != CheckDeployed {
		return err
	}
	return c.goOn(ctx)
}

// rolledBack tells whether the status says that the commit was taken back, which is to be remembered.
func (c *checkRun) rolledBack() bool {
	if !c.current.isRolledBack() {
		return false
	}
	c.report.State, c.report.Reason = CheckSuperseded, c.current.Description
	return true
}

// takenBack looks again whether the environment has the commit: that the fleet was looked at, or tests ran, took its time,
// and a person may have decided meanwhile. Then that is said on the commit, unless it is said already.
func (c *checkRun) takenBack(ctx context.Context) (bool, error) {
	if err := c.readStatus(ctx); err != nil || c.rolledBack() {
		return err == nil, err
	}
	now, err := c.TakenBack(ctx)
	if err != nil || now.To == "" {
		return false, err
	}
	status := c.words.superseded(now.To)
	if now.Older {
		status = c.words.rolledBack(now.To)
	}
	c.report.State, c.report.Reason = CheckSuperseded, fmt.Sprintf("%s has %.12s by now", c.Environment, now.To)
	return true, c.set(ctx, status)
}

func (c *checkRun) readStatus(ctx context.Context) error {
	if c.Statuses == nil {
		return nil
	}
	var err error
	c.statuses, err = c.Statuses.Statuses(ctx, c.Promoted)
	c.current, c.known = find(c.statuses, c.Environment)
	return err
}

// missing returns the environments that come next and have neither the commit nor a newer one. One that has it counts
// as missing if no status says so: then a run was stopped between the two. One that had it does not: a person has taken it
// back, be it by a rollback that was proposed, a revert, or an edit; of that the notes tell.
func (c *checkRun) missing(ctx context.Context) (missing, notes []string, err error) {
	for _, next := range c.Next {
		has, err := c.Has(ctx, next)
		if err != nil {
			return nil, nil, fmt.Errorf("find out what %s has: %w", next, err)
		}
		said, told := find(c.statuses, next)
		back := said.isRolledBack() || has == HasOlder && told && said.wasPromoted()
		if c.Statuses == nil && has == HasOlder {
			if back, err = c.RolledBack(ctx, next); err != nil {
				return nil, nil, fmt.Errorf("find out how %s came to what it has: %w", next, err)
			}
		}
		switch {
		case back:
			notes = append(notes, fmt.Sprintf("%s was rolled back from %.12s: it is promoted there only by hand", next, c.Promoted))
		case has == HasOlder, has == HasIt && !told && c.Statuses != nil:
			missing = append(missing, next)
		}
	}
	return missing, notes, nil
}

// set sets the status of the commit, unless it is that already. That it is deployed need not link to the last run that
// has found so.
func (c *checkRun) set(ctx context.Context, status Status) error {
	if c.Statuses == nil {
		return nil
	}
	now := c.current
	same := c.known && now.State == status.State && now.Description == status.Description
	if same && (isDeployed(status) || now.TargetURL == status.TargetURL) {
		return nil
	}
	if err := c.Statuses.SetStatus(ctx, c.Promoted, status); err != nil {
		return err
	}
	c.current, c.known, c.report.Status = status, true, &status
	return nil
}

// watch looks at the fleet until it is clear what has become of the commit, and returns the status that says so: nil if
// it is not clear yet, or if it was not found out.
func (c *checkRun) watch(ctx context.Context) (*Status, error) {
	verdict, look, err := c.Watch.Run(ctx)
	if c.report.Verdict = verdict; err == nil {
		c.report.Look = &look
	}
	var failed *FleetError
	if errors.As(err, &failed) && ctx.Err() == nil { // it will not answer the next time either
		c.report.State, c.report.Reason = CheckFailed, failed.Message
		status := c.words.failed("the fleet cannot be asked")
		return &status, err
	}
	switch {
	case err != nil:
		return nil, err
	case verdict == Waiting, verdict == Unreachable && c.Watch.Rules.Once:
		c.report.State, c.report.Reason = CheckWaiting, look.Unasked
		return nil, nil
	case verdict != Succeeded:
		c.report.State, c.report.Reason = CheckFailed, c.Watch.reason(verdict, look)
		return c.overtaken(ctx, look)
	default:
		c.report.State = CheckDeployed
		return c.postDeploy(ctx, look)
	}
}

// overtaken finds out whether a newer commit has come meanwhile. Then it is that which fails or takes its time, unless
// a cluster has failed with just this one.
func (c *checkRun) overtaken(ctx context.Context, look Look) (*Status, error) {
	status := c.words.failed(c.report.Reason)
	ours := func(cluster Cluster) bool {
		return cluster.Standing == Broken && slices.ContainsFunc(c.Watch.Deployments, func(d Deployment) bool { return d.Commit == cluster.Commit })
	}
	if c.Overtaken == nil || slices.ContainsFunc(look.Clusters, ours) {
		return &status, nil
	}
	newer, err := c.Overtaken(ctx)
	if err != nil {
		return nil, err
	}
	if newer != "" {
		c.report.State, c.report.Reason = CheckSuperseded, fmt.Sprintf("%.12s has come in its place", newer)
		status = c.words.superseded(newer)
	}
	return &status, nil
}

// postDeploy does what is to be done before the commit counts as deployed.
func (c *checkRun) postDeploy(ctx context.Context, look Look) (*Status, error) {
	status := c.words.deployed(look.Counts.String(), len(c.Next) > 0)
	if c.PostDeploy == nil {
		return &status, nil
	}
	err := c.PostDeploy(ctx, look)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		c.report.State, c.report.Reason = CheckFailed, err.Error()
		status = c.words.failed(c.report.Reason)
	}
	return &status, nil
}

// MaxEarlier is how many commits are looked at that may have been overtaken.
const MaxEarlier = 25

// supersede tells the commits that were promoted before this one, and never got as far: their pull request was
// overtaken by this one's, or the run that watched them was cancelled.
func (c *checkRun) supersede(ctx context.Context) error {
	if c.Statuses == nil || c.Earlier == nil || c.report.State == CheckSuperseded {
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
			return nil // what came before that was told then
		default:
			if err := c.Statuses.SetStatus(ctx, commit, c.words.superseded(c.Promoted)); err != nil {
				return err
			}
			c.report.Superseded = append(c.report.Superseded, commit)
		}
	}
	return nil
}

// goOn promotes the commit to the environments that do not have it. One that fails does not stop the others.
func (c *checkRun) goOn(ctx context.Context) error {
	missing, notes, err := c.missing(ctx)
	c.report.Notes = append(c.report.Notes, notes...)
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
		c.report.Next = append(c.report.Next, outcome)
	}
	return errors.Join(errs...)
}
