package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// Network sends requests, with limits of concurrency and time, and retries.
type Network struct {
	Transport http.RoundTripper
	sleep     func(ctx context.Context, d time.Duration) error
	waiting   func(pause time.Duration, why string)
	slots     chan struct{}
	Limits    Limits
}

// NewNetwork returns a network. transport, sleep and waiting may be nil.
func NewNetwork(transport http.RoundTripper, sleep func(context.Context, time.Duration) error,
	waiting func(pause time.Duration, why string), limits Limits,
) *Network {
	n := &Network{Transport: transport, sleep: sleep, waiting: waiting, Limits: limits.orDefaults()}
	n.slots = make(chan struct{}, n.Limits.Parallel)
	if n.Transport == nil {
		n.Transport = http.DefaultTransport
	}
	if n.sleep == nil {
		n.sleep = retryafter.Sleep
	}
	return n
}

const (
	// Tries is the maximum number of attempts of a request.
	Tries = 3
	// firstPause is the approximate wait before the first retry; it doubles with each retry.
	firstPause = 500 * time.Millisecond
	// maxPause is the maximum wait that a server can request; a longer one makes its answer final.
	maxPause = time.Minute
)

// Attempt is one attempt of a request.
type Attempt struct {
	Ctx context.Context
	// Alive is called when enough bytes have arrived; it restarts the stall timeout.
	Alive func()
	// least is the number of bytes that must arrive between two calls of alive; 0 means any.
	least int
}

var (
	errStalled = fmt.Errorf("the server stopped responding: %w", context.DeadlineExceeded)
	errTooLong = fmt.Errorf("the request took too long: %w", context.DeadlineExceeded)
)

// Retry sends a request until it succeeds, fails permanently, has used all attempts, or exhausts the budget.
func (n *Network) Retry(ctx context.Context, b *Budget, send func(Attempt) error) error {
	for try := 1; ; try++ {
		if err := b.Exhausted(); err != nil {
			return err
		}
		err := n.Once(ctx, b, send)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return giterror.Interrupted(ctx)
		}
		pause, worthwhile := PauseAfter(err, try)
		if !worthwhile || try == Tries {
			return err
		}
		if err := n.pause(ctx, b, pause, err); err != nil {
			return err
		}
	}
}

// pause waits after a failure, within the budget.
func (n *Network) pause(ctx context.Context, b *Budget, pause time.Duration, failure error) error {
	limited, end, err := b.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	switch err := n.Wait(limited, pause, failure); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return giterror.Interrupted(ctx)
	default:
		return b.Exhaust(context.Cause(limited))
	}
}

// Wait pauses after a failure, and reports the pause.
func (n *Network) Wait(ctx context.Context, pause time.Duration, failure error) error {
	if n.waiting != nil {
		why := "because the server does not answer"
		var status *StatusError
		if errors.As(failure, &status) {
			why = fmt.Sprintf("because the server answers %d", status.Code)
		}
		n.waiting(pause, why)
	}
	return n.sleep(ctx, pause)
}

// Once sends a request once, when there is a free slot.
func (n *Network) Once(ctx context.Context, b *Budget, send func(Attempt) error) error {
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
		defer time.AfterFunc(n.Limits.Slow, release).Stop()
	}
	limited, cancel := context.WithTimeoutCause(budgeted, n.Limits.Request, errTooLong)
	defer cancel()
	watched, stop := context.WithCancelCause(limited)
	defer stop(nil)
	timer := time.AfterFunc(n.Limits.Stall, func() { stop(errStalled) })
	defer timer.Stop()
	err = send(Attempt{Ctx: watched, Alive: func() { timer.Reset(n.Limits.Stall) }, least: least})
	cause := context.Cause(watched)
	var timeSpent TimeSpentError
	switch {
	case err == nil || ctx.Err() != nil || cause == nil:
		return err
	case errors.As(cause, &timeSpent):
		return b.Exhaust(cause)
	default:
		return BrokenError{cause}
	}
}

// PauseAfter returns whether a failed request should be retried, and after which pause.
func PauseAfter(err error, try int) (pause time.Duration, worthwhile bool) {
	if !Transient(err) {
		return 0, false
	}
	var status *StatusError
	if errors.As(err, &status) && status.retryAfter > 0 {
		return status.retryAfter, status.retryAfter <= maxPause
	}
	return retryafter.Backoff(firstPause, try), true
}

// Sender pushes to a git server. build returns the request for the references of the server; if it is nil, nothing is
// sent.
type Sender interface {
	ReceivePack(at Attempt, build func(*packp.AdvRefs) (*packp.ReferenceUpdateRequest, error)) (*packp.ReportStatus, error)
}

// BrokenError is the error of a broken connection, not of a server that answered.
type BrokenError struct{ Err error }

func (e BrokenError) Error() string { return e.Err.Error() }
func (e BrokenError) Unwrap() error { return e.Err }

// ServerError is an error message of a git server.
type ServerError struct{ Text string }

func (e *ServerError) Error() string { return e.Text }

// StatusError is an http status other than 200.
type StatusError struct {
	Code       int
	Text       string
	retryAfter time.Duration
	// minted is true if the credential was created in this run: not all servers of GitHub may accept it yet.
	minted bool
}

func (e *StatusError) Error() string {
	message := fmt.Sprintf("%d %s", e.Code, http.StatusText(e.Code))
	if e.Text != "" {
		message += ": " + e.Text
	}
	return message
}

// Transient reports whether a retry of the request may succeed.
func Transient(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		switch status.Code {
		case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
			http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		case http.StatusUnauthorized:
			return status.minted
		default:
			// the form of GitHub's secondary rate limits
			return status.Code == http.StatusForbidden && status.retryAfter > 0
		}
	}
	var (
		broken    BrokenError
		dns       *net.DNSError
		cert      *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		elsewhere *RedirectError
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

// LiveReader reports received data, and marks the errors of a broken connection.
type LiveReader struct {
	io.ReadCloser
	At Attempt
	// arrived counts the bytes since the last call of alive.
	arrived int
}

func (r *LiveReader) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	if r.arrived += n; n > 0 && r.arrived >= r.At.least {
		r.At.Alive()
		r.arrived = 0
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = BrokenError{err}
	}
	return n, err
}

// AsServerError turns an error into a ServerError, unless it is one of the connection.
func AsServerError(err error) error {
	var (
		broken  BrokenError
		tooMuch gitobject.PackLimitError
		line    *pktline.ErrorLine
	)
	switch {
	case err == nil, errors.As(err, &broken), errors.As(err, &tooMuch), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.As(err, &line):
		return &ServerError{giterror.OneLine(line.Text)}
	default:
		return &ServerError{giterror.OneLine(err.Error())}
	}
}

// Branches returns the branches of a list of references.
func Branches(refs *packp.AdvRefs) map[string]plumbing.Hash {
	branches := map[string]plumbing.Hash{}
	for name, id := range refs.References {
		if branch, found := strings.CutPrefix(name, "refs/heads/"); found {
			branches[branch] = id
		}
	}
	return branches
}
