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
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/command"
)

// newer reports whether a GitOps branch got a commit after the wanted one. A commit that is not known may have come
// since it was read.
func (c *deploymentCheck) newer(ctx context.Context, wanted promote.Deployment, commit string) (bool, error) {
	i := slices.IndexFunc(c.deployments, func(d promote.Deployment) bool {
		return d.Repo == wanted.Repo && d.Branch == wanted.Branch && d.Path == wanted.Path
	})
	output := &c.outputs[i]
	has, err := output.history.Has(ctx, commit)
	if err != nil {
		return false, err
	}
	if !has {
		if c.Now().Sub(output.refreshed) < c.flags.interval {
			return false, nil
		}
		output.refreshed = c.Now()
		if err := output.history.Refresh(ctx); err != nil {
			return false, nil // it is asked again
		}
	}
	relation, err := output.history.Relation(ctx, wanted.Commit, commit)
	if err != nil || relation != gitobject.Newer {
		return false, err
	}
	return c.keeps(ctx, output.repo, commit)
}

// keeps reports whether what was promoted with a commit of a GitOps branch is what is checked, or newer. After a rollback it
// is not.
func (c *deploymentCheck) keeps(ctx context.Context, repo *model.GitOpsRepo, commit string) (bool, error) {
	now, err := gitops.ReadPromoted(ctx, c.Reader, repo, commit)
	if err != nil || now.Commit == "" || now.Commit == c.promoted.Commit {
		return err == nil && now.Commit != "", err
	}
	relation, err := c.promoter.Relation(ctx, c.promoted.Commit, now.Commit)
	return relation == gitobject.Newer, err
}

// Earlier returns commits of the base branch that came before the promoted one.
func (c *deploymentCheck) Earlier(ctx context.Context) ([]string, error) {
	history, err := c.promoter.History(ctx)
	if err != nil {
		return nil, err
	}
	return history.Line(ctx, c.promoted.Commit, promote.MaxEarlier)
}

// Overtaken returns the promoted commit that the GitOps branch has now, if that is another one.
func (c *deploymentCheck) Overtaken(ctx context.Context) (string, error) {
	for i := range c.outputs {
		output := &c.outputs[i]
		if err := output.history.Refresh(ctx); err != nil {
			return "", err
		}
		if output.history.Tip() == output.commit {
			continue
		}
		now, err := gitops.ReadPromoted(ctx, c.Reader, output.repo, output.history.Tip())
		if err != nil {
			return "", err
		}
		if now.Commit != "" && now.Commit != c.promoted.Commit {
			return now.Commit, nil
		}
	}
	return "", nil
}

// Reverted returns what the environment has now instead of the promoted commit.
func (c *deploymentCheck) Reverted(ctx context.Context) (promote.Revision, error) {
	err := c.Reader.VerifyAll(ctx)
	if errors.Is(err, giterror.ErrConflict) {
		before := c.Diags
		err = c.readAnew(ctx)
		c.Diags = slices.Concat(before, c.Diags.Only(diag.Error))
	}
	if err != nil {
		return promote.Revision{}, err
	}
	found, err := c.stillThere(c.environment.Name.Value)
	if err != nil {
		return promote.Revision{}, err
	}
	return c.promoter.Reverted(ctx, found, c.promoted.Commit)
}

// Revision compares what an environment has with the promoted commit.
func (c *deploymentCheck) Revision(ctx context.Context, environment string) (promote.Revision, error) {
	found, err := c.stillThere(environment)
	if err != nil {
		return promote.Revision{}, err
	}
	return c.promoter.Revision(ctx, found, c.promoted.Commit)
}

// RolledBack reports whether an environment was rolled back from the promoted commit.
func (c *deploymentCheck) RolledBack(ctx context.Context, environment string) (bool, error) {
	found, err := c.stillThere(environment)
	if err != nil {
		return false, err
	}
	return c.promoter.RolledBack(ctx, found, c.promoted.Commit)
}

// Promote promotes to an environment that comes next, or has a workflow do it.
func (c *deploymentCheck) Promote(ctx context.Context, environment string) (promote.Outcome, error) {
	if c.flags.dispatch == "" {
		return c.promote(ctx, environment, promotionOf{commit: c.promoted.Commit, deployed: []string{c.environment.Name.Value}}), nil
	}
	outcome := promote.Outcome{Environment: environment, Commit: c.promoted.Commit, Action: promote.ActionDispatched}
	err := c.forge.Repo.Dispatch(ctx, c.flags.dispatch, c.Loader.Main().Ref.Branch,
		map[string]string{"environment": environment, "commit": c.promoted.Commit})
	if err != nil {
		outcome.Action = promote.ActionRefused
		return outcome, err
	}
	c.outcomes = append(c.outcomes, outcome)
	return outcome, nil
}

func (c *deploymentCheck) runPostDeploy(ctx context.Context, snapshot promote.Snapshot) error {
	c.Begin("running the post-deployment command")
	deployment := c.deployments[0]
	for i, output := range c.outputs {
		if output.bound {
			deployment = c.deployments[i]
		}
	}
	return command.PostDeploy(ctx, c.flags.postDeploy, command.PostDeployOptions{
		Environ: c.Variables(), Deployment: deployment, Promoted: c.promoted.Commit, Clusters: snapshot.Deployed,
		Stdout: c.Stderr, Stderr: c.Stderr,
	})
}

// end reports the result of the check.
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
	c.noteUnmerged()
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

// noteUnmerged names the promoted commit if the GitOps branch has another one. With --commit the caller chose that.
func (c *deploymentCheck) noteUnmerged() {
	said := c.checked.State == promote.CheckUnmerged || c.checked.State == promote.CheckSuperseded
	if said || c.objects == nil || c.promoted.Commit == "" || c.flags.commit != "" {
		return
	}
	i := slices.IndexFunc(c.objects.BaseRepos, func(b *model.BaseRepo) bool {
		return b.Name.Value == model.MainBase && giturl.IsFullCommit(b.Commit.Value)
	})
	if i < 0 || strings.HasPrefix(c.promoted.Commit, c.objects.BaseRepos[i].Commit.Value) {
		return
	}
	c.checked.Notes = append(c.checked.Notes, fmt.Sprintf("%s is promoted to %.12s; its GitOps branch still has %.12s: merge the pull request",
		c.environment.Name.Value, c.objects.BaseRepos[i].Commit.Value, c.promoted.Commit))
}

// noteStuck names the cluster types of clusters for which the GitOps branch has nothing: they keep what they have, and
// some report that they are healthy.
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

// noteUnseen names the cluster types that no cluster state available of. That may be correct, because the number of clusters per type is unknown.
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
		c.checked.Notes = append(c.checked.Notes, "no cluster state available for "+diag.Plural(len(unseen), "cluster type")+": "+strings.Join(unseen, ", "))
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
		if !errors.Is(err, errReported) {
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
	switch report.Rollout {
	case promote.TimedOut:
		rule, hint = session.RuleTimeUp, timeHint(report.Snapshot)
	case promote.NoClusters:
		rule, hint = ruleNoClusters, "--allow-no-clusters accepts that"
	case promote.Unreachable:
		rule = session.RuleFleetUnasked
	case promote.Succeeded:
		rule = rulePostDeploy
	}
	c.Diags.Error(rule, at, fmt.Sprintf("%s has not deployed %.12s: %s", c.environment.Name.Value, c.promoted.Commit, diag.Safe(report.Reason)), diag.Hint(hint))
}

// timeHint returns the hint for a check that timed out.
func timeHint(snapshot *promote.Snapshot) string {
	switch {
	case snapshot.Need > snapshot.Total():
		return "--healthy, or spec.promotion.checks.healthy, requires more clusters than exist"
	case snapshot.Missing > 0:
		return "register the missing clusters, or change --expect or spec.promotion.checks.expect"
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
