package promotion

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// end says what came of the check.
func (c *deploymentCheck) end(ctx context.Context, report promote.CheckResult, err error) error {
	switch code, _ := cli.ExitOf(err); {
	case code == cli.ExitUsage:
		return err
	case ctx.Err() != nil:
		return c.stopped(ctx)
	}
	if c.checked == nil {
		c.checked = &Checked{CheckResult: report}
	}
	c.checked.environment, c.checked.promoted = c.environment.Name.Value, c.promoted.Commit
	c.checked.deployments = c.deployments
	c.noteStuck()
	c.noteUnseen()
	c.explain(report, err)
	if err := c.promotionRun.end(ctx); err != nil {
		return err
	}
	if c.checked.State == promote.CheckWaiting {
		return cli.ExitWith(cli.ExitTimeUp)
	}
	return nil
}

// noteStuck names the cluster types of clusters for which the GitOps branch has nothing: they keep what they have, and
// some say that all is well.
func (c *deploymentCheck) noteStuck() {
	if c.checked.Snapshot == nil || len(c.promoted.ClusterTypes) == 0 {
		return
	}
	stuck := map[string]bool{}
	count := 0
	for _, cluster := range c.checked.Snapshot.Clusters {
		if cluster.ClusterType != "" && !slices.Contains(c.promoted.ClusterTypes, cluster.ClusterType) {
			stuck[cluster.ClusterType] = true
			count++
		}
	}
	if count > 0 {
		c.checked.Notes = append(c.checked.Notes, fmt.Sprintf("%s of a cluster type that the GitOps branch does not have: %s",
			diag.Plural(count, "cluster"), strings.Join(slices.Sorted(maps.Keys(stuck)), ", ")))
	}
}

// noteUnseen names the cluster types that no cluster was seen of. That may be right: nobody says how many there are.
func (c *deploymentCheck) noteUnseen() {
	if c.checked.Snapshot == nil || len(c.checked.Snapshot.Clusters) == 0 {
		return
	}
	seen := map[string]bool{}
	for _, cluster := range c.checked.Snapshot.Clusters {
		if cluster.ClusterType == "" {
			return // it may be of any
		}
		seen[cluster.ClusterType] = true
	}
	var unseen []string
	for _, clusterType := range c.promoted.ClusterTypes {
		if !seen[clusterType] && (c.rules.Counts == nil || c.rules.Counts(clusterType)) {
			unseen = append(unseen, clusterType)
		}
	}
	if len(unseen) > 0 {
		c.checked.Notes = append(c.checked.Notes, "no cluster was seen of "+diag.Plural(len(unseen), "cluster type")+": "+strings.Join(unseen, ", "))
	}
}

// explain turns what went wrong into diagnostics.
func (c *deploymentCheck) explain(report promote.CheckResult, err error) {
	at := c.environment.Name.At
	if report.Snapshot != nil {
		for _, w := range report.Snapshot.Warnings {
			c.Diags.Warning(ruleHealthUnseen, at, term.Line(w.Message, term.MaxMessage), diag.Hint(w.Hint))
		}
	}
	for _, err := range unjoined(err) {
		if !errors.Is(err, errSaid) {
			_ = c.Fail(at, err) // end returns what is wrong usage
		}
	}
	if report.State == promote.CheckWaiting && report.Reason != "" {
		c.Diags.Error(session.RuleFleetUnasked, at, diag.Safe(report.Reason))
	}
	if report.State != promote.CheckFailed || err != nil {
		return
	}
	rule, hint := ruleNotDeployed, ""
	switch report.Verdict {
	case promote.TimedOut:
		rule, hint = session.RuleTimeUp, timeHint(report.Snapshot)
	case promote.NoClusters:
		rule, hint = ruleNoClusters, "--allow-no-clusters says that this is fine"
	case promote.Unreachable:
		rule = session.RuleFleetUnasked
	case promote.Succeeded:
		rule = rulePostDeploy
	}
	c.Diags.Error(rule, at, fmt.Sprintf("%s has not deployed %.12s: %s", c.environment.Name.Value, c.promoted.Commit, diag.Safe(report.Reason)), diag.Hint(hint))
}

// timeHint says what would help a check whose time was up.
func timeHint(look *promote.Snapshot) string {
	switch {
	case look.Need > look.Total():
		return "--healthy, or spec.promotion.checks.healthy, asks for more clusters than there are"
	case look.Missing > 0:
		return "register the clusters that are missing; --expect, or spec.promotion.checks.expect, says how many there are"
	default:
		return "--timeout gives the fleet more time"
	}
}

// unjoined returns the errors that were joined; none for nil.
func unjoined(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
