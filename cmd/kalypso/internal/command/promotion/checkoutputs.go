package promotion

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/render"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet"
)

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
		return cli.Usage("--gitops-repo %s: %s has no such GitOpsRepo (%s)", c.flags.gitOpsRepo, name, diag.DidYouMean(c.flags.gitOpsRepo, c.outputNames()))
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
		diag.Hint("give the commit of the GitOps repository that was merged, not one of the control plane"))
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
		c.noteNothing(promote.CheckNothing, "commit %.12s of the GitOps repository has nothing that was promoted: there is no commit to report on", c.flags.commit)
		return true, nil
	}
	if c.promoted.Commit == "" {
		c.noteNothing(promote.CheckNothing, "nothing was ever promoted to %s: there is no commit to report on", c.environment.Name.Value)
		return true, nil
	}
	for _, output := range c.outputs {
		if output.promoted.Commit != c.promoted.Commit {
			c.noteNothing(promote.CheckUnmerged, "GitOpsRepo %q has not %.12s: once all have it, the check after that merge counts",
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
		Repo: repo, Branch: output.repo.Branch.Value, Path: gitops.OutputFolder(output.repo),
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

// noteNothing says why there is nothing to check.
func (c *deploymentCheck) noteNothing(state promote.CheckState, format string, args ...any) {
	c.checked = &Checked{CheckResult: promote.CheckResult{State: state, Notes: []string{fmt.Sprintf(format, args...)}}}
}
