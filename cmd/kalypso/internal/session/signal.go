package session

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
)

// A run is stopped by a signal or by --timeout; both are the cause of its context.

// SignalError is the signal that stopped a run.
type SignalError struct{ Signal os.Signal }

func (e SignalError) Error() string { return e.Signal.String() }

// UntilSignal returns a context that ends with the first SIGINT or SIGTERM, or SIGHUP unless the process was
// started to ignore it, as by nohup. A second signal ends the process at once.
func UntilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // without it, programs of a fleet would outlive a terminal that is closed
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		select {
		case got := <-signals:
			signal.Stop(signals)
			cancel(SignalError{got})
		case <-ctx.Done(): // the run is over
		}
	}()
	return ctx, func() { cancel(nil) }
}

// InterruptedCode is the exit code of a run whose context ended: 128 plus the number of the signal, as in shells.
func InterruptedCode(cause error) int {
	var stopped SignalError
	if errors.As(cause, &stopped) {
		if number, ok := stopped.Signal.(syscall.Signal); ok {
			return cli.ExitSignal + int(number)
		}
	}
	return cli.ExitSignal + int(syscall.SIGINT)
}
