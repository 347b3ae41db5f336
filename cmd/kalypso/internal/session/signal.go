package session

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
)

// A run ends before it is done for one of two reasons, each the cause of its context: a signal, or
// the end of what --timeout gives it.

// SignalError is the signal that ended a run.
type SignalError struct{ Signal os.Signal }

func (e SignalError) Error() string { return e.Signal.String() }

// UntilSignal returns a context that ends with the first SIGINT or SIGTERM. After it, signals do what
// they do to any process: a second one ends it at once.
func UntilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case got := <-signals:
			signal.Stop(signals)
			cancel(SignalError{got})
		case <-ctx.Done(): // the run is over: a signal that comes so late changes nothing
		}
	}()
	return ctx, func() { cancel(nil) }
}

// InterruptedCode is the exit code of a run whose context ended: 128 and the number of the signal, as
// shells have it.
func InterruptedCode(cause error) int {
	var stopped SignalError
	if errors.As(cause, &stopped) {
		if number, ok := stopped.Signal.(syscall.Signal); ok {
			return cli.ExitSignal + int(number)
		}
	}
	return cli.ExitSignal + int(syscall.SIGINT)
}
