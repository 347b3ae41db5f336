package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
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
	// Has tells whether an environment has Promoted, or something newer.
	Has func(ctx context.Context, environment string) (Possession, error)
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
	err := run.run(ctx)
	return run.report, err
}

type checkRun struct {
	*Check
	words words
	// statuses are those of Promoted when the check began, current is that of the environment, if it is known.
	statuses []Status
	current  Status
	known    bool
	report   Report
}

func (c *checkRun) run(ctx context.Context) error {
	if err := c.readStatus(ctx); err != nil {
		return err
	}
	missing, err := c.missing(ctx)
	if err != nil {
		return err
	}
	deployed := c.known && isDeployed(c.current)
	switch {
	case c.current.isRolledBack(): // which is to be remembered
		c.report.State, c.report.Reason = CheckSuperseded, c.current.Description
		return nil
	case c.ByHand && c.known && c.current.State == StatusFailure: // a person has said so
		c.report.State = CheckByHand
		return nil
	case c.ByHand && !deployed:
		c.report.State = CheckByHand
		return c.set(ctx, c.words.waitsForPerson())
	case c.ByHand:
		c.report.State = CheckDeployed
		return c.goOn(ctx, missing)
	}
	if !deployed { // else its gate stays open until there is a reason to close it
		if err := c.set(ctx, c.words.deploying()); err != nil {
			return err
		}
	}
	if err := c.watch(ctx); err != nil {
		return err
	}
	if c.report.State == CheckWaiting {
		return nil
	}
	if err := c.conclude(ctx); err != nil {
		return err
	}
	if c.report.State != CheckDeployed {
		return nil
	}
	return c.goOn(ctx, missing)
}

func (c *checkRun) readStatus(ctx context.Context) error {
	if c.Statuses == nil {
		c.note("no status is set on the commit: %s", c.NoStatuses)
		return nil
	}
	var err error
	c.statuses, err = c.Statuses.Statuses(ctx, c.Promoted)
	c.current, c.known = find(c.statuses, c.Environment)
	return err
}

// missing returns the environments that come next and have neither the commit nor a newer one. One that has it counts
// as missing if no status says so: then a run was stopped between the two. One that had it does not: a person has taken it
// back, be it by a rollback that was proposed, a revert, or an edit.
func (c *checkRun) missing(ctx context.Context) (missing []string, err error) {
	for _, next := range c.Next {
		has, err := c.Has(ctx, next)
		if err != nil {
			return nil, fmt.Errorf("find out what %s has: %w", next, err)
		}
		said, told := find(c.statuses, next)
		switch {
		case said.isRolledBack(), has == HasOlder && told && said.wasPromoted():
			c.note("%s was rolled back from %.12s: it is promoted there only by hand", next, c.Promoted)
		case has == HasOlder, has == HasIt && !told && c.Statuses != nil:
			missing = append(missing, next)
		}
	}
	return missing, nil
}

func (c *checkRun) note(format string, args ...any) {
	c.report.Notes = append(c.report.Notes, fmt.Sprintf(format, args...))
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

// watch looks at the fleet until it is clear what has become of the commit.
func (c *checkRun) watch(ctx context.Context) error {
	verdict, look, err := c.Watch.Run(ctx)
	if c.report.Verdict = verdict; err == nil {
		c.report.Look = &look
	}
	var failed *FleetError
	if errors.As(err, &failed) && ctx.Err() == nil { // it will not answer the next time either
		c.report.State, c.report.Reason = CheckFailed, failed.Message
		return errors.Join(err, c.set(ctx, c.words.failed("the fleet cannot be asked")))
	}
	if err != nil {
		return err
	}
	switch {
	case verdict == Waiting, verdict == Unreachable && c.Watch.Rules.Once:
		c.report.State, c.report.Reason = CheckWaiting, look.Unasked
	case verdict == Succeeded:
		c.report.State = CheckDeployed
	default:
		c.report.State, c.report.Reason = CheckFailed, c.reason(verdict, look)
		return c.overtaken(ctx, look)
	}
	return nil
}

// overtaken finds out whether a newer commit has come meanwhile. Then it is that which fails or takes its time, unless
// a cluster has failed with just this one.
func (c *checkRun) overtaken(ctx context.Context, look Look) error {
	ours := func(cluster Cluster) bool {
		return cluster.Standing == Broken && slices.ContainsFunc(c.Watch.Deployments, func(d Deployment) bool { return d.Commit == cluster.Commit })
	}
	if c.Overtaken == nil || slices.ContainsFunc(look.Clusters, ours) {
		return nil
	}
	newer, err := c.Overtaken(ctx)
	if err != nil || newer == "" {
		return err
	}
	c.report.State, c.report.Reason = CheckSuperseded, fmt.Sprintf("%.12s has come in its place", newer)
	return c.set(ctx, c.words.superseded(newer))
}

// reason says in a line why a commit is not deployed.
func (c *checkRun) reason(verdict Verdict, look Look) string {
	counts, after := look.Counts.String(), ""
	if !c.Watch.Rules.Once {
		after = fmt.Sprintf(" after %v", c.Watch.Rules.Timeout)
	}
	if look.Seen() == 0 {
		counts = "no cluster was seen"
	}
	switch verdict {
	case NoClusters:
		return "no cluster is registered" + after
	case Unreachable:
		return fmt.Sprintf("%s%s; %s", counts, after, look.Unasked)
	case TimedOut:
		for _, name := range look.Silent {
			counts += "; none for " + name
		}
		return counts + after + firstOf(look)
	default:
		return counts + firstOf(look)
	}
}

// firstOf names the first cluster that failed, with what it says.
func firstOf(look Look) string {
	at := slices.IndexFunc(look.Clusters, func(c Cluster) bool { return c.Standing == Broken })
	if at < 0 {
		return ""
	}
	failed := look.Clusters[at]
	if failed.Message == "" {
		return "; " + failed.Name
	}
	return fmt.Sprintf("; %s: %s", failed.Name, diag.Safe(failed.Message))
}

// conclude runs the post-deployment command and says on the commit what has become of it, and on those that it has
// overtaken.
func (c *checkRun) conclude(ctx context.Context) error {
	if c.report.State == CheckSuperseded {
		return nil
	}
	if c.report.State == CheckDeployed && c.PostDeploy != nil {
		if err := c.PostDeploy(ctx, *c.report.Look); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			c.report.State, c.report.Reason = CheckFailed, err.Error()
		}
	}
	status := c.words.failed(c.report.Reason)
	if c.report.State == CheckDeployed {
		status = c.words.deployed(c.report.Look.Counts.String(), len(c.Next) > 0)
	}
	if err := c.set(ctx, status); err != nil {
		return err
	}
	return c.supersede(ctx)
}

// MaxEarlier is how many commits are looked at that may have been overtaken.
const MaxEarlier = 25

// supersede tells the commits that were promoted before this one, and never got as far: their pull request was
// overtaken by this one's, or the run that watched them was cancelled.
func (c *checkRun) supersede(ctx context.Context) error {
	if c.Statuses == nil || c.Earlier == nil {
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
func (c *checkRun) goOn(ctx context.Context, missing []string) error {
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
