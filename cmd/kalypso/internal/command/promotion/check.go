package promotion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/render"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/fleetstatus"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/command"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// deploymentCheck is a run of kalypso check-promote.
type deploymentCheck struct {
	*promotionRun
	flags       *checkPromoteOptions
	environment *model.Environment
	// objects are those of the environment's branch.
	objects *model.Objects
	// outputs are its GitOps branches, and deployments what the fleet is queried for, one for each.
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
			Show: watch.Show,
		},
	}
	check.Seed = c.flags.seedStatuses
	if c.flags.postDeploy != "" {
		check.PostDeploy = c.runPostDeploy
	}
	return check
}

// fleets returns the fleets of the command line, else of the Environment.
func (c *deploymentCheck) fleets() (fleets []promote.Fleet, byHand bool, err error) {
	texts, from := c.fleetTexts()
	if len(texts) == 1 && texts[0] == model.NoFleet {
		return nil, true, nil
	}
	for _, text := range texts {
		name, argument, _ := strings.Cut(text, ":") // what follows may be a secret
		if name == model.NoFleet && len(texts) == 1 {
			return nil, false, cli.Usage("%s %s: no argument allowed after the colon", from, name)
		}
		if name == model.NoFleet {
			return nil, false, cli.Usage("%s %s: cannot be combined with another fleet source", from, name)
		}
		asked, err := fleet.New(text, fleet.Options{
			Env: c.Env, Environ: c.Variables(), Sleep: c.Sleep, Now: c.Now, UserAgent: "kalypso/" + c.Build.Version,
		})
		if err == nil && name == "command" {
			_, err = command.Find(argument)
		}
		if err != nil {
			return nil, false, cli.Usage("%s %s: %w", from, name, err)
		}
		fleets = append(fleets, asked)
	}
	if len(fleets) == 0 {
		return nil, false, cli.Usage("no fleet source: set --fleet, or spec.promotion.checks.fleet of the Environment: %s",
			strings.Join(append(fleet.Names(), model.NoFleet), ", "))
	}
	return fleets, false, nil
}

// fleetTexts returns the fleets as --fleet or the Environment names them, and the flag or field that names them.
func (c *deploymentCheck) fleetTexts() (texts []string, from string) {
	if len(c.flags.fleets) > 0 {
		return c.flags.fleets, "--fleet"
	}
	for _, text := range c.checks().Fleets {
		texts = append(texts, text.Value)
	}
	return texts, "spec.promotion.checks.fleet"
}

// checks returns spec.promotion.checks of the Environment.
func (c *deploymentCheck) checks() model.Checks {
	if c.environment.Promotion == nil {
		return model.Checks{}
	}
	return c.environment.Promotion.Checks
}

// newRules merges the rules of the command line and the Environment.
func (c *deploymentCheck) newRules(ctx context.Context) promote.Rules {
	checks := c.checks()
	rules := promote.Rules{
		AllowNone: c.flags.allowNone, Timeout: c.flags.wait, Interval: c.flags.interval, Grace: c.flags.grace, Once: c.flags.once,
		Expect: checks.Expect.Value, Need: checks.Healthy.Of,
	}
	if !c.flags.given.Changed("timeout") && checks.Timeout.Value > 0 {
		rules.Timeout = checks.Timeout.Value
	}
	if c.flags.expect > 0 {
		rules.Expect = c.flags.expect
	}
	if c.flags.healthy != "" {
		rules.Need = c.flags.atLeast.Of
	}
	if selector := checks.ClusterTypes; len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 {
		rules.Counts = c.newCounts(ctx, selector)
	}
	return rules
}

// newCounts reports whether the clusters of a type count. It reports an error unless all cluster types can
// be read, because those that cannot be might be the ones that fail.
func (c *deploymentCheck) newCounts(ctx context.Context, selector model.Selector) func(clusterType string) bool {
	all, known, reasons := c.Loader.ClusterTypes(ctx, c.environment)
	if !known {
		c.Diags.Add(reasons)
	}
	selected, diags := schedule.SelectClusterTypes(selector, all)
	c.Diags.Add(diags)
	names := map[string]bool{}
	for _, clusterType := range selected {
		names[clusterType.Name.Value] = true
	}
	return func(clusterType string) bool { return names[clusterType] }
}

// ruleNotOnGitOps is a commit that is not on the GitOps branch of the environment.
const ruleNotOnGitOps = "not-on-gitops-branch"

// findOutputs reads the GitOps branches, and finds the one that --commit is on. The others are checked as they are.
func (c *deploymentCheck) findOutputs(ctx context.Context) error {
	name := c.environment.Name.Value
	for _, repo := range c.objects.GitOpsRepos {
		if repo.Broken {
			continue
		}
		history, err := c.Reader.History(ctx, source.OutputRef(repo), nil)
		if err != nil {
			return err
		}
		c.outputs = append(c.outputs, checkedOutput{repo: repo, history: history, commit: history.Tip(), refreshed: c.Now()})
	}
	if len(c.outputs) == 0 {
		c.Diags.Error(render.RuleNoGitOpsRepo, c.environment.Name.At, fmt.Sprintf("Environment %q has no GitOpsRepo, so nothing is deployed", name),
			diag.Hint("add one to its branch"))
		return nil
	}
	if c.flags.gitOpsRepo != "" && !slices.Contains(c.outputNames(), c.flags.gitOpsRepo) {
		return cli.UsageHint(diag.DidYouMean(c.flags.gitOpsRepo, c.outputNames()), "GitOpsRepo %q not found in environment %s", c.flags.gitOpsRepo, name)
	}
	if c.flags.commit == "" {
		return nil
	}
	return c.bind(ctx)
}

// bind finds the branch that has --commit.
func (c *deploymentCheck) bind(ctx context.Context) error {
	var missing error
	for i, output := range c.outputs {
		if c.flags.gitOpsRepo != "" && output.repo.Name.Value != c.flags.gitOpsRepo {
			continue
		}
		commit, err := output.history.Resolve(ctx, c.flags.commit)
		var known *giterror.Error
		switch {
		case err == nil:
			c.outputs[i].commit, c.outputs[i].bound = commit, true
			return nil
		case errors.As(err, &known) && known.Rule == giterror.RuleCommitNotFound:
			missing = err
		default:
			return err
		}
	}
	c.Diags.Error(ruleNotOnGitOps, c.outputs[0].repo.Branch.At, fmt.Sprintf("--commit: %v", missing),
		diag.Hint("use the merged commit of the GitOps repository, not a commit of the control plane"))
	return nil
}

func (c *deploymentCheck) outputNames() []string {
	var names []string
	for _, output := range c.outputs {
		names = append(names, output.repo.Name.Value)
	}
	return names
}

// findPromoted reads which commit of the base branch was deployed. If several GitOps branches do not have the same
// one, the others are not merged yet: whoever merges the last of them starts the check that counts.
func (c *deploymentCheck) findPromoted(ctx context.Context) (done bool, err error) {
	for i := range c.outputs {
		output := &c.outputs[i]
		if output.promoted, err = gitops.ReadPromoted(ctx, c.Reader, output.repo, output.commit); err != nil {
			return false, err
		}
		if output.bound || i == 0 {
			c.promoted = output.promoted
		}
	}
	if c.promoted.Commit == "" && c.flags.commit != "" {
		c.noteNothing(promote.CheckNothing, "commit %.12s of the GitOps repository contains no promotion: no commit to check", c.flags.commit)
		return true, nil
	}
	if c.promoted.Commit == "" {
		c.noteNothing(promote.CheckNothing, "nothing is published in %s yet: no commit to check; publish with kalypso render --env %[1]s, then merge the pull request or branch %s of the GitOps repository",
			c.environment.Name.Value, gitops.DeploymentBranch(c.outputs[0].repo))
		return true, nil
	}
	for _, output := range c.outputs {
		if output.promoted.Commit != c.promoted.Commit {
			c.noteNothing(promote.CheckUnmerged, "GitOpsRepo %q does not have %.12s yet: run the check again when all GitOpsRepos have it",
				output.repo.Name.Value, c.promoted.Commit)
			return true, nil
		}
		if err := c.addDeployment(output); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (c *deploymentCheck) addDeployment(output checkedOutput) error {
	repo, err := giturl.NormalURL(output.repo.Repo.Value)
	if err != nil {
		return err
	}
	c.deployments = append(c.deployments, promote.Deployment{
		Repo: repo, Branch: output.repo.Branch.Value, Path: gitops.OutputDirectory(output.repo),
		Commit: output.commit, Environment: c.environment.Name.Value,
	})
	return nil
}

// findReconcilers reads the reconcilers in the published trees, if a fleet can report their state.
func (c *deploymentCheck) findReconcilers(ctx context.Context) error {
	texts, _ := c.fleetTexts()
	if !slices.ContainsFunc(texts, fleet.SeesReconcilers) {
		return nil
	}
	for i, output := range c.outputs {
		var err error
		if c.deployments[i].Reconcilers, err = gitops.ReadReconcilers(ctx, c.Reader, output.repo, output.commit); err != nil {
			return err
		}
	}
	return nil
}

// noteNothing notes the reason why there is nothing to check.
func (c *deploymentCheck) noteNothing(state promote.CheckState, format string, args ...any) {
	c.checked = &Checked{CheckResult: promote.CheckResult{State: state, Notes: []string{fmt.Sprintf(format, args...)}}}
}
