// Package command runs programs of others: one that reports what clusters run, and one that follows a deployment.
//
// In: the text of a command, which no shell reads, and a promote.Deployment, which the program finds in its environment,
// where the secrets of kalypso are not. Out: of the first promote.ReconcilerStatus values or a promote.FleetError, of
// the second that it ended well. What they print is bounded or passed on as it comes, and they end with the run.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

// maxOutput bounds what a program may print, in bytes: some hundred thousand clusters.
const maxOutput = 64 << 20

// fleet is any program that reports what clusters run: see readAnswer for what it prints. It gets
// KALYPSO_FLEET_REPO, KALYPSO_FLEET_BRANCH, KALYPSO_FLEET_PATH, KALYPSO_FLEET_COMMIT and KALYPSO_FLEET_ENVIRONMENT in its
// environment, which else is that of kalypso without its secrets. What it writes to stderr is shown if it fails only.
type fleet struct {
	args    []string
	environ []string
	// limit is how much it may print, in bytes.
	limit int
}

// New makes the fleet "command:TEXT" of the text of a command: see Split. Of the environment the secrets of kalypso are left out.
// The error is wrong usage.
func New(argument string, o api.Options) (promote.Fleet, error) {
	args, err := Split(argument)
	if err != nil {
		return nil, err
	}
	return &fleet{args: args, environ: withoutOwnSecrets(o.Environ), limit: maxOutput}, nil
}

// String leaves out the arguments, in which there may be a secret.
func (c *fleet) String() string { return "command:" + c.args[0] }

// Query runs the program once.
func (c *fleet) Query(ctx context.Context, wanted promote.Deployment) ([]promote.ReconcilerStatus, error) {
	printed, complaints := &boundedOutput{limit: c.limit}, &tailOutput{}
	err := run(ctx, process{
		Args: c.args, Environ: slices.Concat(c.environ, deploymentFacts(wanted)), Stdout: printed, Stderr: complaints,
	})
	program := diag.Safe(c.args[0])
	if printed.full {
		return nil, &promote.FleetError{Message: fmt.Sprintf("%s was stopped: its output exceeds %d MiB", program, c.limit>>20)}
	}
	if failure, ok := errors.AsType[*promote.FleetError](err); ok {
		if complaint := complaints.lastLine(); complaint != "" {
			failure.Message += ": " + complaint
		}
		return nil, failure
	}
	seen, err := readAnswer(printed.kept)
	if err != nil {
		failure := &promote.FleetError{Message: program + ": " + err.Error(), Hint: answerHint}
		if errors.Is(err, errCutAnswer) {
			// A script without "set -o pipefail" hides that its curl failed, and then prints nothing, or half of it.
			failure.Temporary, failure.Hint = true, `a script must report a failure by its exit code: "set -eo pipefail" in bash`
		}
		return nil, failure
	}
	return seen, nil
}

// boundedOutput keeps what a program prints, and fails when it is more than limit bytes. It has no other method, such as
// the ReadFrom of a buffer, which would read without end.
type boundedOutput struct {
	kept  []byte
	limit int
	full  bool
}

func (b *boundedOutput) Write(p []byte) (int, error) {
	if b.full = len(b.kept)+len(p) > b.limit; b.full {
		return 0, io.ErrShortWrite // the program gets SIGPIPE
	}
	b.kept = append(b.kept, p...)
	return len(p), nil
}

// tailOutput keeps the end of what a program prints.
type tailOutput struct{ kept []byte }

// tailLength is how much tailOutput keeps, in bytes. It is more than the longest line that is shown.
const tailLength = 4 << 10

func (t *tailOutput) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	t.kept = append(t.kept[:0], t.kept[max(0, len(t.kept)-tailLength):]...)
	return len(p), nil
}

// lastLine returns the last line that is not blank, fit to show.
func (t *tailOutput) lastLine() string {
	text := strings.TrimSpace(string(t.kept))
	return statustext.Line(text[strings.LastIndexAny(text, "\r\n")+1:])
}

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
