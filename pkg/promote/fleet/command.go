package fleet

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// maxCommandOutput bounds what a program may print, in bytes: some hundred thousand clusters.
const maxCommandOutput = 64 << 20

// commandFleet is any program that tells what clusters run: see readCommandAnswer for what it prints. It gets
// KALYPSO_FLEET_REPO, KALYPSO_FLEET_BRANCH, KALYPSO_FLEET_PATH, KALYPSO_FLEET_COMMIT and KALYPSO_FLEET_ENVIRONMENT in its
// environment, which else is that of kalypso without its secrets. What it writes to stderr is shown if it fails only.
type commandFleet struct {
	text    string
	args    []string
	environ []string
	// limit is how much it may print, in bytes.
	limit int
}

func newCommandFleet(argument string, o Options) (promote.Fleet, error) {
	args, err := SplitCommand(argument)
	if err != nil {
		return nil, fmt.Errorf("--fleet command: %w", err)
	}
	return &commandFleet{text: argument, args: args, environ: withoutOwnSecrets(o.Environ), limit: maxCommandOutput}, nil
}

func (c *commandFleet) String() string { return "command:" + c.text }

// Look runs the program once.
func (c *commandFleet) Look(ctx context.Context, wanted promote.Deployment) ([]promote.Sighting, error) {
	printed, complaints := &boundedOutput{limit: c.limit}, &tailOutput{}
	err := Run(ctx, Process{
		Args:    c.args,
		Environ: slices.Concat(c.environ, deploymentFacts(wanted)),
		Stdout:  printed, Stderr: complaints,
	})
	if err != nil {
		return nil, c.failure(err, complaints.lastLine())
	}
	seen, err := readCommandAnswer(printed.Bytes())
	if err != nil {
		// A script without "set -o pipefail" hides that its curl failed, and then prints nothing, or half of it.
		cut := errors.Is(err, errCutAnswer)
		return nil, &promote.FleetError{
			Temporary: cut, Message: fmt.Sprintf("%s: %s", diag.Safe(c.args[0]), err), Hint: commandHint(cut), Err: err,
		}
	}
	return seen, nil
}

// failure says that the program did not end well. Asking again may help if it did start: what it asks itself is a
// network away, and the wait for a fleet must not end with one request that failed.
func (c *commandFleet) failure(err error, complaint string) error {
	failure := &promote.FleetError{Message: err.Error(), Err: err}
	var process *ProcessError
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
