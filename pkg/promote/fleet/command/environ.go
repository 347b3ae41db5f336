package command

import (
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// deploymentFacts describe a deployment to programs, as environment variables.
func deploymentFacts(d promote.Deployment) []string {
	return []string{
		"KALYPSO_FLEET_REPO=" + d.Repo,
		"KALYPSO_FLEET_BRANCH=" + d.Branch,
		"KALYPSO_FLEET_PATH=" + d.Path,
		"KALYPSO_FLEET_COMMIT=" + d.Commit,
		"KALYPSO_FLEET_ENVIRONMENT=" + d.Environment,
	}
}

// withoutOwnSecrets returns an environment without what kalypso proves itself with: its tokens can write repositories
// and set statuses, which is what a program that only looks must not. Credentials of others, as of a cloud, are what
// such a program needs; they stay.
func withoutOwnSecrets(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return ownSecret(strings.ToUpper(name)) // Windows does not tell the cases apart
	})
}

func ownSecret(name string) bool {
	switch name {
	case "GITHUB_TOKEN", "GH_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_ENTERPRISE_TOKEN",
		"ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN":
		return true
	}
	return strings.HasPrefix(name, "KALYPSO_") && strings.HasSuffix(name, "_TOKEN") || strings.HasPrefix(name, "ARGOCD_AUTH_TOKEN") ||
		strings.HasPrefix(name, "KALYPSO_GITHUB_APP_")
}
