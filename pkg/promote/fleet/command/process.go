package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/shlex"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

// defaultExitTimeout is how long a program that is asked to end has for it, and how long one that has ended may leave its
// output open in the hands of its children.
const defaultExitTimeout = 5 * time.Second

// process is a program to run. It reads nothing.
type process struct {
	// Args are the program, by name or path, and its arguments, as they are: no shell reads them.
	Args []string
	// Environ is its whole environment, as NAME=VALUE; of several of one name the last counts.
	Environ []string
	// Stdout and Stderr get what it prints, at once; nil drops it.
	Stdout, Stderr io.Writer

	// exitTimeout is defaultExitTimeout if it is zero.
	exitTimeout time.Duration
}

// Split splits the text of a command into the program and its arguments, by the rules of a shell for spaces,
// quotes, backslashes and comments. Nothing else means anything: not $, |, ;, &, * or >. The error is wrong usage.
func Split(text string) ([]string, error) {
	args, err := shlex.Split(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the command %q has a quote that is not closed, or ends in a backslash", text)
	case len(args) == 0 || args[0] == "":
		return nil, errors.New("the command is empty: name a program, such as ./state.sh")
	case slices.ContainsFunc(args, func(arg string) bool { return strings.ContainsRune(arg, 0) }):
		return nil, errors.New("the command has a zero byte in it")
	}
	return args, nil
}

// Find returns the program of a command and its arguments, as Split does, if there is such a program. The error is wrong
// usage.
func Find(text string) ([]string, error) {
	args, err := Split(text)
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		failure := notStarted(args[0], err)
		return nil, fmt.Errorf("%s; %s", failure.Message, failure.Hint)
	}
	return args, nil
}

// notStarted returns the error of a program that cannot be started.
func notStarted(program string, err error) *promote.FleetError {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, exec.ErrDot) {
		return &promote.FleetError{
			Message: fmt.Sprintf("program %q not found in PATH", program), Hint: "for a program in the working directory write ./" + diag.Safe(program), Err: err,
		}
	}
	return &promote.FleetError{
		Message: diag.Safe(program) + " cannot be started: " + statustext.Reason(err), Err: err,
		Hint: "name an executable file, relative to the working directory; the first line of a script must name an existing interpreter",
	}
}

// run runs a program and waits for it. If ctx is done it asks the program and all that it has started to end, and soon
// ends them; also what a program leaves behind is ended with it. Asking again may help if it did start: what it asks
// itself is a network away, and the wait for a fleet must not end with one request that failed. The error is a
// *promote.FleetError.
func run(ctx context.Context, p process) error {
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	cmd.Env = append([]string{}, p.Environ...) // of nil it would inherit ours
	cmd.WaitDelay = cmp.Or(p.exitTimeout, defaultExitTimeout)
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
	endAll := together(cmd)
	err := cmd.Run()
	started := cmd.Process != nil
	if started {
		endAll()
	}
	var exit *exec.ExitError
	program := diag.Safe(p.Args[0])
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // that its output was held open is none of its faults
		return nil
	case ctx.Err() != nil:
		why := "the run ended"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			why = "timed out"
		}
		return &promote.FleetError{Temporary: true, Message: program + " was stopped: " + why, Err: ctx.Err()}
	case !started:
		return notStarted(p.Args[0], err)
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		failure := &promote.FleetError{Temporary: true, Message: fmt.Sprintf("%s ended with exit code %d", program, exit.ExitCode()), Err: err}
		if code := exit.ExitCode(); code == 126 || code == 127 {
			failure.Temporary, failure.Hint = false, "a shell ends with 126 or 127 if a program that it runs is missing or not executable"
		}
		return failure
	}
	return &promote.FleetError{Temporary: true, Message: fmt.Sprintf("%s was terminated (%s)", program, diag.Safe(err.Error())), Err: err}
}

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
		return ownSecret.MatchString(name)
	})
}

// ownSecret matches the names of variables that hold secrets of kalypso. Windows does not tell the cases apart.
var ownSecret = regexp.MustCompile(`(?i)^(?:(?:GITHUB|GH)_(?:ENTERPRISE_)?TOKEN|ACTIONS_RUNTIME_TOKEN|ACTIONS_ID_TOKEN_REQUEST_TOKEN` +
	`|KALYPSO_(?:.*_)?TOKEN|KALYPSO_GITHUB_APP_.*|ARGOCD_AUTH_TOKEN.*)$`)
