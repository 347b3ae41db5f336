package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/shlex"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/told"
)

// usualPatience is how long a program that is asked to end has for it, and how long one that has ended may leave its
// output open in the hands of its children.
const usualPatience = 5 * time.Second

// process is a program to run. It reads nothing.
type process struct {
	// Args are the program, by name or path, and its arguments, as they are: no shell reads them.
	Args []string
	// Environ is its whole environment, as NAME=VALUE; of several of one name the last counts.
	Environ []string
	// Stdout and Stderr get what it prints, at once and never both at the same time; nil drops it. The program is
	// ended if they fail.
	Stdout, Stderr io.Writer

	// patience is usualPatience if it is zero.
	patience time.Duration
}

// Error is a program that could not be started, or that did not end well.
type Error struct {
	// Code is its exit code; -1 if it was not started, or was ended from outside.
	Code int
	// Message is one line, and names the program. Hint says what to do, and may be empty.
	Message, Hint string
	// Err is what was behind it: the end of the context, for one.
	Err error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns what was behind it.
func (e *Error) Unwrap() error { return e.Err }

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

// run runs a program and waits for it. If ctx is done it asks the program and all that it has started to end, and soon
// ends them; also what a program leaves behind is ended with it. The error is an *Error.
func run(ctx context.Context, p process) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	cmd.Env = append([]string{}, p.Environ...) // of nil it would inherit ours
	cmd.WaitDelay = usualPatience
	if p.patience > 0 {
		cmd.WaitDelay = p.patience
	}
	var turns sync.Mutex
	cmd.Stdout, cmd.Stderr = relayTo(p.Stdout, &turns, stop), relayTo(p.Stderr, &turns, stop)
	endAll := together(cmd)
	if err := cmd.Start(); err != nil {
		return notStarted(ctx, p.Args[0], err)
	}
	err := cmd.Wait()
	endAll()
	return outcome(ctx, p.Args[0], err)
}

// outcome says what came of a program that was started. That its output was held open is none of its faults.
func outcome(ctx context.Context, program string, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case ctx.Err() != nil:
		return stopped(ctx, program)
	case !errors.As(err, &exit):
		return &Error{Code: -1, Message: fmt.Sprintf("%s: %s", diag.Safe(program), diag.Safe(err.Error())), Err: err}
	case exit.ExitCode() < 0:
		return &Error{Code: -1, Message: fmt.Sprintf("%s was ended (%s)", diag.Safe(program), exit), Err: err}
	}
	return &Error{
		Code: exit.ExitCode(), Message: fmt.Sprintf("%s ended with exit code %d", diag.Safe(program), exit.ExitCode()), Err: err,
	}
}

// ended tells whether an error is the end of a context.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func stopped(ctx context.Context, program string) error {
	cause := context.Cause(ctx)
	why := cause.Error()
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		why = "time is up"
	case errors.Is(cause, context.Canceled):
		why = "the run was ended"
	}
	return &Error{Code: -1, Message: fmt.Sprintf("%s was stopped: %s", diag.Safe(program), why), Err: cause}
}

// notStarted says why a program could not be started. Systems say little: "no such file or directory" may well be about
// the interpreter that the first line of a script names.
func notStarted(ctx context.Context, program string, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx, program)
	}
	e := &Error{Code: -1, Message: fmt.Sprintf("%s cannot be started: %s", diag.Safe(program), told.Reason(err)), Err: err}
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, exec.ErrDot):
		e.Message = fmt.Sprintf("there is no program %q in PATH", program)
		e.Hint = "a program of this folder is written ./" + diag.Safe(program)
	case errors.Is(err, fs.ErrPermission):
		e.Hint = "it must be a file that may be executed: chmod +x"
	case errors.Is(err, fs.ErrNotExist):
		e.Hint = "the path is relative to the folder that kalypso was started in; of a script also the interpreter in its first line must exist"
	case errors.Is(err, syscall.ENOEXEC):
		e.Hint = `the first line of a script names its interpreter: "#!/bin/sh"`
	}
	return e
}
