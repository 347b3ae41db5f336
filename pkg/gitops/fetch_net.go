package gitops

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// network sends requests: a bounded number at once, each with a deadline, again if that is worth it.
type network struct {
	transport http.RoundTripper
	sleep     func(ctx context.Context, d time.Duration) error
	waiting   func(pause time.Duration, why string)
	slots     chan struct{}
	limits    Limits
}

func newNetwork(opts Options, limits Limits) *network {
	n := &network{transport: opts.Transport, sleep: opts.Sleep, waiting: opts.Waiting, limits: limits}
	n.slots = make(chan struct{}, limits.Parallel)
	if n.transport == nil {
		n.transport = http.DefaultTransport
	}
	if n.sleep == nil {
		n.sleep = retryafter.Sleep
	}
	return n
}

const (
	// tries is how often a request is sent at most.
	tries = 3
	// firstPause is about how long to wait before the second try; each further pause is twice that.
	firstPause = 500 * time.Millisecond
	// maxPause is how long a server may make us wait. If it asks for more, its answer is final.
	maxPause = time.Minute
)

// attempt is one try of a request.
type attempt struct {
	ctx context.Context
	// alive is called when enough bytes have arrived; it restarts the stall timeout.
	alive func()
	// least is the number of bytes that must arrive between two calls of alive; 0 means any.
	least int
}

var (
	errStalled = fmt.Errorf("the server fell silent: %w", context.DeadlineExceeded)
	errTooLong = fmt.Errorf("the request took too long: %w", context.DeadlineExceeded)
)

// retry sends a request until it succeeds, fails for good, was tried often enough, or has used up the budget.
func (n *network) retry(ctx context.Context, b *budget, send func(attempt) error) error {
	for try := 1; ; try++ {
		if err := b.exhausted(); err != nil {
			return err
		}
		err := n.once(ctx, b, send)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return giterror.Interrupted(ctx)
		}
		pause, worthwhile := pauseAfter(err, try)
		if !worthwhile || try == tries {
			return err
		}
		if err := n.pause(ctx, b, pause, err); err != nil {
			return err
		}
	}
}

// pause waits after a failure, as long as the budget lasts.
func (n *network) pause(ctx context.Context, b *budget, pause time.Duration, failure error) error {
	limited, end, err := b.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	switch err := n.wait(limited, pause, failure); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return giterror.Interrupted(ctx)
	default:
		return b.exhaust(context.Cause(limited))
	}
}

// wait pauses after a failure, and says so.
func (n *network) wait(ctx context.Context, pause time.Duration, failure error) error {
	if n.waiting != nil {
		why := "as the server does not answer"
		var status *statusError
		if errors.As(failure, &status) {
			why = fmt.Sprintf("as the server answers %d", status.code)
		}
		n.waiting(pause, why)
	}
	return n.sleep(ctx, pause)
}

// once sends a request once, when there is a free slot.
func (n *network) once(ctx context.Context, b *budget, send func(attempt) error) error {
	select {
	case n.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	release := sync.OnceFunc(func() { <-n.slots })
	defer release()
	budgeted, end, err := b.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	least := 0
	if b != nil {
		least = minBytes
		defer time.AfterFunc(n.limits.Slow, release).Stop()
	}
	limited, cancel := context.WithTimeoutCause(budgeted, n.limits.Request, errTooLong)
	defer cancel()
	watched, stop := context.WithCancelCause(limited)
	defer stop(nil)
	timer := time.AfterFunc(n.limits.Stall, func() { stop(errStalled) })
	defer timer.Stop()
	err = send(attempt{ctx: watched, alive: func() { timer.Reset(n.limits.Stall) }, least: least})
	cause := context.Cause(watched)
	var timeSpent timeSpentError
	switch {
	case err == nil || ctx.Err() != nil || cause == nil:
		return err
	case errors.As(cause, &timeSpent):
		return b.exhaust(cause)
	default:
		return brokenError{cause}
	}
}

// pauseAfter says whether a failed request is worth another try, and after how long.
func pauseAfter(err error, try int) (pause time.Duration, worthwhile bool) {
	if !transient(err) {
		return 0, false
	}
	var status *statusError
	if errors.As(err, &status) && status.retryAfter > 0 {
		return status.retryAfter, status.retryAfter <= maxPause
	}
	return retryafter.Backoff(firstPause, try), true
}

// brokenError is a connection that failed, as opposed to a server that answered.
type brokenError struct{ err error }

func (e brokenError) Error() string { return e.err.Error() }
func (e brokenError) Unwrap() error { return e.err }

// serverError is what a git server says instead of an answer.
type serverError struct{ text string }

func (e *serverError) Error() string { return e.text }

// statusError is an http status other than 200.
type statusError struct {
	code       int
	text       string
	retryAfter time.Duration
	// minted says that the credential was made for this run: it may not be known to all of GitHub yet.
	minted bool
}

func (e *statusError) Error() string {
	message := fmt.Sprintf("%d %s", e.code, http.StatusText(e.code))
	if e.text != "" {
		message += ": " + e.text
	}
	return message
}

// transient reports whether the same request may succeed a little later.
func transient(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		switch status.code {
		case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
			http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		case http.StatusUnauthorized:
			return status.minted
		default:
			// GitHub announces its secondary rate limits so.
			return status.code == http.StatusForbidden && status.retryAfter > 0
		}
	}
	var (
		broken    brokenError
		dns       *net.DNSError
		cert      *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		elsewhere *redirectError
	)
	switch {
	case errors.As(err, &elsewhere), errors.Is(err, errTooLong):
		return false
	case errors.As(err, &dns):
		return !dns.IsNotFound
	case errors.As(err, &cert), errors.As(err, &record), errors.Is(err, syscall.ECONNREFUSED):
		return false
	default:
		return errors.As(err, &broken) || errors.Is(err, io.ErrUnexpectedEOF)
	}
}

// liveReader reports that something arrived, and tells a broken connection from an answer.
type liveReader struct {
	io.ReadCloser
	at attempt
	// arrived counts the bytes since the last call of alive.
	arrived int
}

func (r *liveReader) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	if r.arrived += n; n > 0 && r.arrived >= r.at.least {
		r.at.alive()
		r.arrived = 0
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = brokenError{err}
	}
	return n, err
}

// asServerError keeps the failures of connections apart from what servers say.
func asServerError(err error) error {
	var (
		broken  brokenError
		tooMuch gitobject.PackLimitError
		line    *pktline.ErrorLine
	)
	switch {
	case err == nil, errors.As(err, &broken), errors.As(err, &tooMuch), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.As(err, &line):
		return &serverError{giterror.OneLine(line.Text)}
	default:
		return &serverError{giterror.OneLine(err.Error())}
	}
}
