package program

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// maxOutput bounds what a program may print, in bytes: some hundred thousand clusters.
const maxOutput = 64 << 20

// fleet is any program that tells what clusters run: see readAnswer for what it prints. It gets
// KALYPSO_FLEET_REPO, KALYPSO_FLEET_BRANCH, KALYPSO_FLEET_PATH, KALYPSO_FLEET_COMMIT and KALYPSO_FLEET_ENVIRONMENT in its
// environment, which else is that of kalypso without its secrets. What it writes to stderr is shown if it fails only.
type fleet struct {
	args    []string
	environ []string
	// limit is how much it may print, in bytes.
	limit int
}

// New makes the fleet "command:TEXT" of the text of a command: see Split. environ is the environment of kalypso; its own
// secrets are left out. The error is wrong usage.
func New(argument string, environ []string) (promote.Fleet, error) {
	args, err := Split(argument)
	if err != nil {
		return nil, err
	}
	return &fleet{args: args, environ: withoutOwnSecrets(environ), limit: maxOutput}, nil
}

// String leaves out the arguments, in which there may be a secret.
func (c *fleet) String() string { return "command:" + c.args[0] }

// Look runs the program once.
func (c *fleet) Look(ctx context.Context, wanted promote.Deployment) ([]promote.Sighting, error) {
	printed, complaints := &boundedOutput{limit: c.limit}, &tailOutput{}
	err := run(ctx, process{
		Args:    c.args,
		Environ: slices.Concat(c.environ, deploymentFacts(wanted)),
		Stdout:  printed, Stderr: complaints,
	})
	if err != nil {
		return nil, c.failure(err, complaints.lastLine())
	}
	seen, err := readAnswer(printed.Bytes())
	if err != nil {
		// A script without "set -o pipefail" hides that its curl failed, and then prints nothing, or half of it.
		cut := errors.Is(err, errCutAnswer)
		return nil, &promote.FleetError{
			Temporary: cut, Message: fmt.Sprintf("%s: %s", diag.Safe(c.args[0]), err), Hint: answerHint(cut), Err: err,
		}
	}
	return seen, nil
}

// failure says that the program did not end well. Asking again may help if it did start: what it asks itself is a
// network away, and the wait for a fleet must not end with one request that failed.
func (c *fleet) failure(err error, complaint string) error {
	failure := &promote.FleetError{Message: err.Error(), Err: err}
	var process *Error
	if errors.As(err, &process) {
		failure.Hint = process.Hint
	}
	var exit *exec.ExitError
	failure.Temporary = errors.As(err, &exit) || ended(err)
	if complaint != "" {
		failure.Message += ": " + complaint
	}
	return failure
}
