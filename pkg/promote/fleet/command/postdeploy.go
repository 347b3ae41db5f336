package command

import (
	"context"
	"io"
	"slices"
	"strconv"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// PostDeployOptions are the facts for the command that follows a deployment, and where it prints.
type PostDeployOptions struct {
	// Deployment is what is deployed now.
	Deployment promote.Deployment
	// Promoted is the commit of the control plane that it came from.
	Promoted string
	// Clusters is how many have it.
	Clusters int
	// Environ is the environment of kalypso; its own secrets are left out.
	Environ []string
	// Stdout and Stderr get what the command prints as it prints it. What it prints is not trusted.
	Stdout, Stderr io.Writer
}

// PostDeploy runs the command that follows a deployment: see Split for its text, which the caller does well to
// check before the wait for the fleet. Its environment is that of kalypso without its secrets, with KALYPSO_FLEET_REPO,
// KALYPSO_FLEET_BRANCH, KALYPSO_FLEET_PATH, KALYPSO_FLEET_COMMIT, KALYPSO_FLEET_ENVIRONMENT, KALYPSO_FLEET_CLUSTERS and
// KALYPSO_PROMOTED_COMMIT. An exit code that is not zero is an error.
func PostDeploy(ctx context.Context, text string, o PostDeployOptions) error {
	args, err := Split(text)
	if err != nil {
		return err
	}
	return run(ctx, process{
		Args: args,
		Environ: slices.Concat(withoutOwnSecrets(o.Environ), deploymentFacts(o.Deployment), []string{
			"KALYPSO_PROMOTED_COMMIT=" + o.Promoted,
			"KALYPSO_FLEET_CLUSTERS=" + strconv.Itoa(o.Clusters),
		}),
		Stdout: o.Stdout, Stderr: o.Stderr,
	})
}
