package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// A run ends before it is done for one of two reasons, each the cause of its context: a signal, or
// the end of what --timeout gives it.

// RuleTimeUp is the rule of a run that took longer than it may.
const RuleTimeUp = "time-is-up"

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

// Stopped ends a run whose context has ended. If its time is up, all that is known is reported, and
// what it was about.
func (s *Session) Stopped(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ErrTimeUp) {
		s.Progress.Done()
		for _, published := range s.Pushed() {
			s.SayPushed(published.Commit, published.Branch, published.Repo)
		}
		return cause // the caller reports it
	}
	s.TimeUp()
	return s.Finish(s.LeftUndone())
}

// SayPushed tells people what a run that is interrupted has pushed.
func (s *Session) SayPushed(commit, branch, repo string) {
	fmt.Fprintf(s.Stderr, "kalypso: pushed %.12s to %s of %s; the next run does the rest\n", commit, diag.Safe(branch), repo)
}

// TimeUp reports that a run took longer than it may.
func (s *Session) TimeUp() {
	s.Diags.Error(RuleTimeUp, diag.Place{}, fmt.Sprintf("time is up after %v, while %s", s.Flags.timeout, s.doing),
		diag.Hint("--timeout gives a run more time"))
}

// leftUnread says what comes of a control plane that cannot be read.
func (s *Session) leftUnread() string {
	return "nothing was " + cmp.Or(s.Flags.Purpose, "compiled")
}

// Unfinished reports whether there is an environment that was compiled and then neither compared nor
// written.
func (s *Session) Unfinished() bool {
	return slices.ContainsFunc(s.Results, func(r *Result) bool { return len(r.Changes) == 0 })
}

// LeftUndone says what was written or published before something went wrong.
func (s *Session) LeftUndone() string {
	if len(s.Pushed()) > 0 {
		return "not everything was published"
	}
	var written []string
	for _, result := range s.Results {
		if result.Folder != "" {
			written = append(written, result.Environment.Name.Value)
		}
	}
	if len(written) == 0 {
		return "nothing was written"
	}
	return "only " + strings.Join(written, ", ") + " was written"
}

// Pushed is what was pushed in this run.
func (s *Session) Pushed() []*Published {
	var pushed []*Published
	for _, result := range s.Results {
		for _, change := range result.Changes {
			if change.Published != nil && change.Published.Pushed {
				pushed = append(pushed, change.Published)
			}
		}
	}
	return pushed
}
