package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// A run ends before it is done for one of two reasons, each the cause of its context: a signal, or
// the end of what --timeout gives it.

// defaultTimeout ends a run that no limit of a single request ends. It is far beyond what a healthy
// one takes.
const defaultTimeout = 30 * time.Minute

// ruleTimeUp is the rule of a run that took longer than it may.
const ruleTimeUp = "time-is-up"

var errTimeUp = errors.New("time is up")

// signalError is the signal that ended a run.
type signalError struct{ signal os.Signal }

func (e signalError) Error() string { return e.signal.String() }

// untilSignal returns a context that ends with the first SIGINT or SIGTERM. After it, signals do what
// they do to any process: a second one ends it at once.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case got := <-signals:
			signal.Stop(signals)
			cancel(signalError{got})
		case <-ctx.Done(): // the run is over: a signal that comes so late changes nothing
		}
	}()
	return ctx, func() { cancel(nil) }
}

// interruptedCode is the exit code of a run whose context ended: 128 and the number of the signal, as
// shells have it.
func interruptedCode(cause error) int {
	var stopped signalError
	if errors.As(cause, &stopped) {
		if number, ok := stopped.signal.(syscall.Signal); ok {
			return exitSignal + int(number)
		}
	}
	return exitSignal + int(syscall.SIGINT)
}

// limited returns a context that ends when the time of --timeout is up.
func (f *fleetFlags) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, f.timeout, errTimeUp)
}

// stopped ends a run whose context has ended. If its time is up, all that is known is reported, and
// what it was about.
func (s *session) stopped(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, errTimeUp) {
		s.progress.done()
		for _, published := range s.pushed() {
			s.sayPushed(published.Commit, published.Branch, published.Repo)
		}
		return cause // run says so
	}
	s.timeUp()
	return s.finish(s.leftUndone())
}

// sayPushed tells people what a run that is interrupted has pushed.
func (s *session) sayPushed(commit, branch, repo string) {
	fmt.Fprintf(s.stderr, "kalypso: pushed %.12s to %s of %s; the next run does the rest\n", commit, diag.Safe(branch), repo)
}

// timeUp reports that a run took longer than it may.
func (s *session) timeUp() {
	s.diags.Error(ruleTimeUp, diag.Place{}, fmt.Sprintf("time is up after %v, while %s", s.flags.timeout, s.doing),
		diag.Hint("--timeout gives a run more time"))
}

// leftUnread says what comes of a control plane that cannot be read.
func (s *session) leftUnread() string {
	if s.flags.promotion != nil {
		return "nothing was promoted"
	}
	return "nothing was compiled"
}

// unfinished reports whether there is an environment that was compiled and then neither compared nor
// written.
func (s *session) unfinished() bool {
	return slices.ContainsFunc(s.results, func(r *result) bool { return len(r.changes) == 0 })
}

// leftUndone says what was written or published before something went wrong.
func (s *session) leftUndone() string {
	if len(s.pushed()) > 0 {
		return "not everything was published"
	}
	var written []string
	for _, result := range s.results {
		if result.folder != "" {
			written = append(written, result.environment.Name.Value)
		}
	}
	if len(written) == 0 {
		return "nothing was written"
	}
	return "only " + strings.Join(written, ", ") + " was written"
}
