package promotion

import (
	"context"
	"slices"
	"time"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/fleetstatus"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// deploymentCheck is a run of kalypso check-promote.
type deploymentCheck struct {
	*promotionRun
	flags       *checkPromoteOptions
	environment *model.Environment
	// objects are those of the environment's branch.
	objects *model.Objects
	// outputs are its GitOps branches, and deployments what the fleet is asked about of each.
	outputs     []checkedOutput
	deployments []promote.Deployment
	rules       promote.Rules
	// promoted is the commit of the base branch that they were made from.
	promoted gitops.Promoted
}

// checkedOutput is a GitOps branch with the commit that is checked.
type checkedOutput struct {
	repo    *model.GitOpsRepo
	history *remote.History
	commit  string
	// bound says that --commit named it; promoted is what was promoted with it.
	bound    bool
	promoted gitops.Promoted
	// refreshed is when its history was last brought up to date.
	refreshed time.Time
}

func (c *deploymentCheck) run(ctx context.Context) error {
	name := c.environment.Name.Value
	c.Begin("reading what was deployed to " + name)
	if c.flags.dispatch != "" && c.forge.Repo == nil {
		return cli.Usage("--dispatch: no workflow can be started: %s", c.promoter.NoStatuses)
	}
	check, err := c.prepareCheck(ctx)
	if err != nil {
		return c.end(ctx, promote.CheckResult{}, err)
	}
	if check == nil || c.Failed() {
		return c.end(ctx, promote.CheckResult{}, nil)
	}
	report, err := check.Run(ctx)
	return c.end(ctx, report, err)
}

// prepareCheck reads what is to be checked. It returns nil if there is nothing.
func (c *deploymentCheck) prepareCheck(ctx context.Context) (*promote.Check, error) {
	objects, diags := c.Loader.Platform(ctx, c.environment)
	if objects == nil {
		c.Diags.Add(diags)
		return nil, nil
	}
	c.objects = objects
	if objects.Incomplete || slices.ContainsFunc(objects.GitOpsRepos, func(r *model.GitOpsRepo) bool { return r.Broken }) {
		c.Diags.Add(diags) // else what is wrong in the branch is for rendering to say
	}
	if err := c.findOutputs(ctx); err != nil || c.Failed() {
		return nil, err
	}
	if done, err := c.findPromoted(ctx); done || err != nil || c.Failed() {
		return nil, err
	}
	fleets, byHand, err := c.fleets()
	if err != nil {
		return nil, err
	}
	if err := c.findReconcilers(ctx); err != nil {
		return nil, err
	}
	if c.rules = c.newRules(ctx); c.Failed() {
		return nil, nil
	}
	return c.newCheck(fleets, byHand), nil
}

func (c *deploymentCheck) newCheck(fleets []promote.Fleet, byHand bool) *promote.Check {
	name := c.environment.Name.Value
	watch := fleetstatus.NewWatch(c.Progress, c.rules.Timeout)
	check := &promote.Check{
		Environment: name, Next: c.chain.Next(name), Promoted: c.promoted.Commit,
		Reporting: c.promoter.Reporting, ByHand: byHand, ControlPlane: c,
		Watch: promote.Watch{
			Fleets: fleets, Deployments: c.deployments, Rules: c.rules, Newer: c.newer, Now: c.Now, Sleep: c.Sleep,
			Show: watch.Look,
		},
	}
	check.Seed = c.flags.seedStatuses
	if c.flags.postDeploy != "" {
		check.PostDeploy = c.runPostDeploy
	}
	return check
}
