package credentials

import (
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Advice says which credential could open the repository.
func (k *Keyring) Advice(role model.Role, a giturl.Address) string {
	variable := RoleVariable(role)
	k.mu.Lock()
	bound := k.bound[variable]
	k.mu.Unlock()
	if k.env(variable) != "" && !slices.Contains(k.tokenHosts(), a.Authority()) {
		return variable + " is not sent to " + a.Authority() + ": add the host to " + EnvTokenHosts +
			", or use netrc or a git credential helper"
	}
	if k.env(variable) != "" && bound != a.Authority() {
		if bound == "" {
			bound = "and the repositories of this role are on several"
		}
		return variable + " is not sent to " + a.Authority() + ": a token goes to one host only, " + bound +
			"; use netrc or a git credential helper"
	}
	if k.tokens != nil && a.Scheme != "ssh" {
		if advice := k.tokens.Advice(role, a.String()); advice != "" {
			return advice + ", or set " + variable
		}
	}
	if a.Authority() != k.gitHubHost() {
		return "set " + variable + ", or use netrc or a git credential helper"
	}
	if k.inWorkflow() {
		return "set " + variable + ", or use a GitHub App: the GITHUB_TOKEN of a workflow reaches only " + k.workflowRepo()
	}
	return "set " + variable + " or " + EnvGitHub + ", or log in with a git credential helper"
}

// AdviceToWrite says what a credential that was refused lacks for writing. What is written to is a GitOps repository,
// or else the control plane.
func (k *Keyring) AdviceToWrite(role model.Role, c *Credential, a giturl.Address) string {
	permission, inJob := "publishing", "pull-requests"
	if role != model.Output {
		permission, inJob = "promoting", "statuses"
	}
	permission += " needs the permission contents: write on it; "
	switch {
	case c == nil:
		return permission + k.Advice(role, a)
	case c.Origin == EnvGitHub && k.inWorkflow() && !k.isWorkflowRepo(a):
		return permission + "the GITHUB_TOKEN of a workflow reaches only " + k.workflowRepo() +
			": set " + RoleVariable(role) + ", or use a GitHub App"
	case c.Origin == EnvGitHub && k.inWorkflow():
		return permission + `write "permissions: {contents: write, ` + inJob + `: write}" into the job of the workflow`
	case c.Origin == AppOrigin:
		return permission + "the GitHub App has it: a ruleset, or that the repository is archived, may be in the way"
	default:
		return permission + k.Advice(role, a)
	}
}

// inWorkflow reports whether GITHUB_TOKEN is that of a workflow of GitHub Actions.
func (k *Keyring) inWorkflow() bool {
	return k.env("GITHUB_ACTIONS") == "true" && k.env(EnvGitHub) != ""
}

// workflowRepo is the only repository that the token of a workflow can write to.
func (k *Keyring) workflowRepo() string {
	if repo := k.env("GITHUB_REPOSITORY"); repo != "" {
		return giterror.OneLine(repo)
	}
	return "the repository of the workflow"
}

func (k *Keyring) isWorkflowRepo(a giturl.Address) bool {
	return strings.EqualFold(strings.Trim(a.NormalPath(), "/"), k.env("GITHUB_REPOSITORY"))
}
