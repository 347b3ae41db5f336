package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// checkRun is a run of kalypso check-promote.
type checkRun struct {
	*promotionRun
	flags       *checkPromoteOptions
	environment *model.Environment
	// objects are those of the environment's branch.
	objects *model.Objects
	// outputs are its GitOps branches, and deployments what the fleet is asked about of each.
	outputs     []checkedOutput
	deployments []promote.Deployment
	// promoted is the commit of the base branch that they were made from.
	promoted gitops.Promoted
}

// checkedOutput is a GitOps branch with the commit that is checked.
type checkedOutput struct {
	repo    *model.GitOpsRepo
	history *gitops.History
	commit  string
	// refreshed is when its history was last brought up to date.
	refreshed time.Time
}

func (c *checkRun) run(ctx context.Context) error {
	name := c.environment.Name.Value
	c.begin("reading what was deployed to " + name)
	if next, given := c.flags.nextEnvironments(c.env); given {
		chain, err := c.chain.With(name, next)
		if err != nil {
			return usageError("the environments after %s: %w", name, err)
		}
		c.chain = chain
	}
	check, err := c.prepareCheck(ctx)
	if err != nil {
		return c.end(ctx, promote.Report{}, err)
	}
	if check == nil || c.failed() {
		return c.end(ctx, promote.Report{}, nil)
	}
	report, err := check.Run(ctx)
	return c.end(ctx, report, err)
}

// prepareCheck reads what is to be checked. It returns nil if there is nothing.
func (c *checkRun) prepareCheck(ctx context.Context) (*promote.Check, error) {
	objects, diags := c.compiler.loader.Platform(ctx, c.environment)
	if objects == nil {
		c.diags.Add(diags)
		return nil, nil
	}
	c.objects = objects
	if err := c.findOutputs(ctx); err != nil || c.failed() {
		return nil, err
	}
	if done, err := c.findPromoted(ctx); done || err != nil || c.failed() {
		return nil, err
	}
	fleets, byHand, err := c.fleets()
	if err != nil {
		return nil, err
	}
	rules := c.rules()
	if c.failed() {
		return nil, nil
	}
	return c.newCheck(fleets, byHand, rules), nil
}

func (c *checkRun) newCheck(fleets []promote.Fleet, byHand bool, rules promote.Rules) *promote.Check {
	name := c.environment.Name.Value
	watch := newWatch(c.progress, watchOptions{
		timeout: rules.Timeout, size: c.stderrSize, palette: newPalette(c.colourful(c.session.flags.color, c.stderrTerminal)),
	})
	check := &promote.Check{
		Environment: name, Next: c.chain.Next(name), Promoted: c.promoted.Commit,
		Statuses: c.promoter.Statuses, NoStatuses: c.promoter.NoStatuses, TargetURL: c.promoter.TargetURL,
		SeedStatuses: c.flags.seedStatuses, ByHand: byHand,
		Watch: promote.Watch{
			Fleets: fleets, Deployments: c.deployments, Rules: rules, Newer: c.newer, Now: c.now, Sleep: c.sleep,
			Show: watch.look,
		},
		Earlier: c.earlier, Overtaken: c.overtaken, Has: c.has, Promote: c.promoteNext,
	}
	if c.flags.postDeploy != "" {
		check.PostDeploy = c.runPostDeploy
	}
	return check
}

// ruleNotOnGitOps is a commit that is not on the GitOps branch of the environment.
const ruleNotOnGitOps = "not-on-gitops-branch"

// findOutputs reads the GitOps branches, and finds the one that --commit is on. The others are checked as they are.
func (c *checkRun) findOutputs(ctx context.Context) error {
	name := c.environment.Name.Value
	for _, repo := range c.objects.GitOpsRepos {
		if repo.Broken {
			continue
		}
		history, err := c.reader.History(ctx, gitops.OutputRef(repo), nil)
		if err != nil {
			return err
		}
		c.outputs = append(c.outputs, checkedOutput{repo: repo, history: history, commit: history.Tip(), refreshed: c.now()})
	}
	if len(c.outputs) == 0 {
		c.diags.Error(ruleNoGitOpsRepo, c.environment.Name.At, fmt.Sprintf("Environment %q has no GitOpsRepo, so nothing is deployed", name),
			diag.Hint("add one to its branch"))
		return nil
	}
	if c.flags.gitOpsRepo != "" && !slices.Contains(c.outputNames(), c.flags.gitOpsRepo) {
		return usageError("--gitops-repo %s: %s has no such GitOpsRepo (%s)", c.flags.gitOpsRepo, name, diag.DidYouMean(c.flags.gitOpsRepo, c.outputNames()))
	}
	if c.flags.commit == "" {
		return nil
	}
	return c.bind(ctx)
}

// bind finds the branch that has --commit.
func (c *checkRun) bind(ctx context.Context) error {
	var missing error
	for i, output := range c.outputs {
		if c.flags.gitOpsRepo != "" && output.repo.Name.Value != c.flags.gitOpsRepo {
			continue
		}
		commit, err := output.history.Resolve(ctx, c.flags.commit)
		var known *gitops.Error
		switch {
		case err == nil:
			c.outputs[i].commit = commit
			return nil
		case errors.As(err, &known) && known.Rule == gitops.RuleCommitNotFound:
			missing = err
		default:
			return err
		}
	}
	c.diags.Error(ruleNotOnGitOps, c.outputs[0].repo.Branch.At, fmt.Sprintf("--commit: %v", missing),
		diag.Hint("give the commit of the GitOps repository that was merged, not one of the control plane"))
	return nil
}

func (c *checkRun) outputNames() []string {
	var names []string
	for _, output := range c.outputs {
		names = append(names, output.repo.Name.Value)
	}
	return names
}

// findPromoted reads which commit of the base branch was deployed. If several GitOps branches do not have the same
// one, the others are not merged yet: whoever merges the last of them starts the check that counts.
func (c *checkRun) findPromoted(ctx context.Context) (done bool, err error) {
	var at int
	if c.flags.commit != "" {
		at = slices.IndexFunc(c.outputs, func(o checkedOutput) bool { return strings.HasPrefix(o.commit, strings.ToLower(c.flags.commit)) })
	}
	for i, output := range c.outputs {
		promoted, err := c.reader.Promoted(ctx, output.repo, output.commit)
		if err != nil {
			return false, err
		}
		if i == at {
			c.promoted = promoted
		}
	}
	if c.promoted.Commit == "" {
		c.noteNothing("nothing was ever promoted to %s: there is no commit to report on", c.environment.Name.Value)
		return true, nil
	}
	for _, output := range c.outputs {
		other, err := c.reader.Promoted(ctx, output.repo, output.commit)
		if err != nil {
			return false, err
		}
		if other.Commit != c.promoted.Commit {
			c.noteNothing("GitOpsRepo %q does not have %.12s yet: the check after its merge counts", output.repo.Name.Value, c.promoted.Commit)
			return true, nil
		}
		if err := c.addDeployment(output); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (c *checkRun) addDeployment(output checkedOutput) error {
	repo, err := gitops.NormalURL(output.repo.Repo.Value)
	if err != nil {
		return err
	}
	c.deployments = append(c.deployments, promote.Deployment{
		Repo: repo, Branch: output.repo.Branch.Value, Path: gitops.OutputFolder(output.repo),
		Commit: output.commit, Environment: c.environment.Name.Value,
	})
	return nil
}

// noteNothing says why there is nothing to check.
func (c *checkRun) noteNothing(format string, args ...any) {
	c.checked = &checked{Report: promote.Report{State: promote.CheckDone, Notes: []string{fmt.Sprintf(format, args...)}}}
}

// fleets returns who is asked: what the command line says, else the Environment.
func (c *checkRun) fleets() (fleets []promote.Fleet, byHand bool, err error) {
	texts, from := c.flags.fleets, "--fleet"
	if len(texts) == 0 {
		from = "spec.promotion.checks.fleet"
		for _, text := range c.checks().Fleets {
			texts = append(texts, text.Value)
		}
	}
	if len(texts) == 1 && texts[0] == model.NoFleet {
		return nil, true, nil
	}
	for _, text := range texts {
		asked, err := fleet.New(text, c.fleetOptions())
		if err != nil {
			return nil, false, usageError("%s %s: %w", from, text, err)
		}
		fleets = append(fleets, asked)
	}
	if len(fleets) == 0 {
		return nil, false, usageError("say who knows what the clusters run with --fleet, or spec.promotion.checks.fleet of the Environment: %s",
			strings.Join(append(fleet.Names(), "none"), ", "))
	}
	return fleets, false, nil
}

// checks are what the Environment says.
func (c *checkRun) checks() model.Checks {
	if c.environment.Promotion == nil {
		return model.Checks{}
	}
	return c.environment.Promotion.Checks
}

// rules puts together what the command line and the Environment say.
func (c *checkRun) rules() promote.Rules {
	said := c.checks()
	rules := promote.Rules{
		AllowNone: c.flags.allowNone, Timeout: c.flags.wait, Interval: c.flags.interval, Grace: c.flags.grace, Once: c.flags.once,
		Expect: said.Expect.Value, Need: said.Healthy.Of,
	}
	if !c.flags.given.Changed("timeout") && said.Timeout.Value > 0 {
		rules.Timeout = said.Timeout.Value
	}
	if c.flags.expect > 0 {
		rules.Expect = c.flags.expect
	}
	if c.flags.healthy != "" {
		rules.Need = c.flags.atLeast.Of
	}
	if selector := said.ClusterTypes; len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 {
		selected, diags := schedule.SelectClusterTypes(selector, c.objects.ClusterTypes)
		c.diags.Add(diags)
		names := map[string]bool{}
		for _, clusterType := range selected {
			names[clusterType.Name.Value] = true
		}
		rules.Counts = func(clusterType string) bool { return names[clusterType] }
	}
	return rules
}

// newer tells whether a GitOps branch got a commit after the wanted one. A commit that is not known may have come
// since it was read.
func (c *checkRun) newer(ctx context.Context, wanted promote.Deployment, commit string) (bool, error) {
	i := slices.Index(c.deployments, wanted)
	output := &c.outputs[i]
	has, err := output.history.Has(ctx, commit)
	if err != nil {
		return false, err
	}
	if !has {
		if c.now().Sub(output.refreshed) < c.flags.interval {
			return false, nil
		}
		output.refreshed = c.now()
		if err := output.history.Refresh(ctx); err != nil {
			return false, nil // it is asked again
		}
	}
	relation, err := output.history.Relation(ctx, wanted.Commit, commit)
	return relation == gitops.Newer, err
}

// earlier returns commits of the base branch that came before the promoted one.
func (c *checkRun) earlier(ctx context.Context) ([]string, error) {
	history, err := c.promoter.History(ctx)
	if err != nil {
		return nil, err
	}
	return history.Line(ctx, c.promoted.Commit, maxEarlier)
}

// maxEarlier is how many commits of the base branch are looked at that may have been overtaken.
const maxEarlier = 25

// overtaken returns the promoted commit that the GitOps branch has by now, if that is another one.
func (c *checkRun) overtaken(ctx context.Context) (string, error) {
	for i := range c.outputs {
		output := &c.outputs[i]
		if err := output.history.Refresh(ctx); err != nil {
			return "", err
		}
		if output.history.Tip() == output.commit {
			continue
		}
		now, err := c.reader.Promoted(ctx, output.repo, output.history.Tip())
		if err != nil {
			return "", err
		}
		if now.Commit != "" && now.Commit != c.promoted.Commit {
			return now.Commit, nil
		}
	}
	return "", nil
}

// has tells whether an environment has the promoted commit or a newer one.
func (c *checkRun) has(ctx context.Context, environment string) (promote.Possession, error) {
	found := c.named(environment)
	if found == nil {
		return promote.HasOlder, fmt.Errorf("there is no environment %q any more", environment)
	}
	return c.promoter.Has(ctx, found, c.promoted.Commit)
}

// promoteNext promotes to an environment that comes next, or has a workflow do it.
func (c *checkRun) promoteNext(ctx context.Context, environment string) (promote.Outcome, error) {
	if c.flags.dispatch == "" {
		return c.promote(ctx, environment, promotionOf{commit: c.promoted.Commit, deployed: []string{c.environment.Name.Value}}), nil
	}
	outcome := promote.Outcome{Environment: environment, Commit: c.promoted.Commit, Action: promote.ActionDispatched}
	if c.forge.repo == nil {
		outcome.Action = promote.ActionRefused
		return outcome, usageError("--dispatch: %s", c.promoter.NoStatuses)
	}
	err := c.forge.repo.Dispatch(ctx, c.flags.dispatch, c.compiler.loader.Main().Ref.Branch,
		map[string]string{"environment": environment, "commit": c.promoted.Commit})
	if err != nil {
		outcome.Action = promote.ActionRefused
		return outcome, err
	}
	c.outcomes = append(c.outcomes, outcome)
	return outcome, nil
}

func (c *checkRun) runPostDeploy(ctx context.Context, look promote.Look) error {
	c.begin("running the post-deployment command")
	return fleet.PostDeploy(ctx, c.flags.postDeploy, fleet.PostDeployOptions{
		Environ: c.allVariables(), Deployment: c.deployments[0], Promoted: c.promoted.Commit, Clusters: look.Seen(),
		Stdout: c.stderr, Stderr: c.stderr,
	})
}

// end says what came of the check.
func (c *checkRun) end(ctx context.Context, report promote.Report, err error) error {
	var exit *exitError
	switch {
	case errors.As(err, &exit) && exit.code == exitUsage:
		return err
	case ctx.Err() != nil:
		return c.stopped(ctx)
	}
	if c.checked == nil {
		c.checked = &checked{Report: report}
	}
	c.checked.environment, c.checked.promoted = c.environment.Name.Value, c.promoted.Commit
	c.checked.deployments = c.deployments
	c.explain(report, err)
	if err := c.promotionRun.end(ctx); err != nil {
		return err
	}
	if report.State == promote.CheckWaiting {
		return &exitError{code: exitTimeUp}
	}
	return nil
}

// explain turns what went wrong into diagnostics.
func (c *checkRun) explain(report promote.Report, err error) {
	at := c.environment.Name.At
	var unasked *promote.FleetError
	switch {
	case errors.As(err, &unasked):
		c.diags.Error(ruleFleetUnasked, at, c.reader.Scrub(unasked.Error()), diag.Hint(unasked.Hint))
	case err != nil:
		for _, err := range unjoined(err) {
			rule, hint := causeOf(err)
			c.diags.Error(rule, at, c.reader.Scrub(err.Error()), diag.Hint(hint))
		}
	}
	if report.State != promote.CheckFailed || err != nil {
		return
	}
	rule, hint := ruleNotDeployed, ""
	switch report.Verdict {
	case promote.TimedOut:
		rule, hint = ruleTimeUp, "--timeout gives the fleet more time"
	case promote.NoClusters:
		rule, hint = ruleNoClusters, "--allow-no-clusters says that this is fine"
	case promote.Unreachable:
		rule = ruleFleetUnasked
	case promote.Succeeded:
		rule = rulePostDeploy
	}
	c.diags.Error(rule, at, fmt.Sprintf("%s has not deployed %.12s: %s", c.environment.Name.Value, c.promoted.Commit, diag.Safe(report.Reason)), diag.Hint(hint))
}

// unjoined returns the errors that were joined.
func unjoined(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
