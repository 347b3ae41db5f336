package cli

import (
	"errors"
	"fmt"
	"io"
)

// The exit codes, as ExitCodes has them.
const (
	ExitDone    = 0
	ExitModel   = 1
	ExitUsage   = 2
	ExitRemote  = 3
	ExitChanges = 4
	ExitTimeUp  = 5
	// ExitSignal and the number of a signal is the code of a run that the signal ended.
	ExitSignal = 128
)

// ExitCodes explains them to people.
const ExitCodes = `Exit codes:
    0  done, or nothing to do
    1  the model, the rendering or the fleet is at fault, or what would be published
    2  wrong usage
    3  a remote failed: network, permission, rate limit, lost races
    4  with --exit-code: there are changes
    5  time is up (--timeout), or with --once it is too early
  130  interrupted (SIGINT)
  143  terminated (SIGTERM)
`

// exit is an error with the code that the process ends with.
type exit struct {
	code int
	// err is nil if everything has been said.
	err error
}

// ExitWith returns the error of a run that has said everything.
func ExitWith(code int) error { return &exit{code: code} }

// Usage is the error of wrong usage.
func Usage(format string, args ...any) error {
	return &exit{ExitUsage, fmt.Errorf(format, args...)}
}

// Failure is the error of something that cannot be done on this machine.
func Failure(format string, args ...any) error {
	return &exit{ExitModel, fmt.Errorf(format, args...)}
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// ExitOf returns the code that an error asks for, and whether it asks for one.
func ExitOf(err error) (code int, asks bool) {
	var e *exit
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.code, true
}

// Report tells people what a run ended with, unless that has been said, and returns its code.
func Report(err error, stderr io.Writer) int {
	var e *exit
	switch {
	case err == nil:
		return ExitDone
	case !errors.As(err, &e): // cobra's own errors are about the command line
		fmt.Fprintf(stderr, "kalypso: %v\n", err)
		return ExitUsage
	case e.err != nil:
		fmt.Fprintf(stderr, "kalypso: %v\n", e.err)
	}
	return e.code
}
