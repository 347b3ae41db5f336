package gitops

import (
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// advice says which credential could open the repository.
func (k *keyring) advice(role model.Role, a address) string {
	variable := roleVariable(role)
	k.mu.Lock()
	bound := k.bound[variable]
	k.mu.Unlock()
	if k.env(variable) != "" && !slices.Contains(k.tokenHosts(), a.authority()) {
		return variable + " is not sent to " + a.authority() + ": add the host to " + envTokenHosts +
			", or use netrc or a git credential helper"
	}
	if k.env(variable) != "" && bound != a.authority() {
		if bound == "" {
			bound = "and the repositories of this role are on several"
		}
		return variable + " is not sent to " + a.authority() + ": a token goes to one host only, " + bound +
			"; use netrc or a git credential helper"
	}
	if k.tokens != nil && a.scheme != "ssh" {
		if advice := k.tokens.Advice(role, a.String()); advice != "" {
			return advice + ", or set " + variable
		}
	}
	if a.authority() != k.gitHubHost() {
		return "set " + variable + ", or use netrc or a git credential helper"
	}
	if k.inWorkflow() {
		return "set " + variable + ", or use a GitHub App: the GITHUB_TOKEN of a workflow reaches only " + k.workflowRepo()
	}
	return "set " + variable + " or " + envGitHub + ", or log in with a git credential helper"
}

// adviceToWrite says what a credential that was refused lacks for writing. What is written to is a GitOps repository,
// or else the control plane.
func (k *keyring) adviceToWrite(role model.Role, c *credential, a address) string {
	permission, inJob := "publishing", "pull-requests"
	if role != model.Output {
		permission, inJob = "promoting", "statuses"
	}
	permission += " needs the permission contents: write on it; "
	switch {
	case c == nil:
		return permission + k.advice(role, a)
	case c.origin == envGitHub && k.inWorkflow() && !k.isWorkflowRepo(a):
		return permission + "the GITHUB_TOKEN of a workflow reaches only " + k.workflowRepo() +
			": set " + roleVariable(role) + ", or use a GitHub App"
	case c.origin == envGitHub && k.inWorkflow():
		return permission + `write "permissions: {contents: write, ` + inJob + `: write}" into the job of the workflow`
	case c.origin == AppOrigin:
		return permission + "the GitHub App has it: a ruleset, or that the repository is archived, may be in the way"
	default:
		return permission + k.advice(role, a)
	}
}

// inWorkflow reports whether GITHUB_TOKEN is that of a workflow of GitHub Actions.
func (k *keyring) inWorkflow() bool {
	return k.env("GITHUB_ACTIONS") == "true" && k.env(envGitHub) != ""
}

// workflowRepo is the only repository that the token of a workflow can write to.
func (k *keyring) workflowRepo() string {
	if repo := k.env("GITHUB_REPOSITORY"); repo != "" {
		return oneLine(repo)
	}
	return "the repository of the workflow"
}

func (k *keyring) isWorkflowRepo(a address) bool {
	return strings.EqualFold(strings.Trim(a.normalPath(), "/"), k.env("GITHUB_REPOSITORY"))
}
