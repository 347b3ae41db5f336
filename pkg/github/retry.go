package github

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
)

const (
	// firstDelay doubles with every try.
	firstDelay = time.Second
	// limitDelay is what GitHub asks for if it says that there were too many requests, and not for how long.
	limitDelay = time.Minute
)

// failure is a try after which a request may be sent again.
type failure struct {
	kind Kind
	// why is for people, after "GitHub".
	why string
	// wait is how long GitHub asks to wait; zero if it does not say.
	wait time.Duration
	// harmless says that nothing was done, so that any request may be sent again.
	harmless bool
	cause    error
}

// failure returns why a request may be sent again; nil if there is an answer to hand on, or an error that would stay.
func (t *transport) failure(answer *http.Response, err error) *failure {
	if err != nil {
		return t.failureOf(err)
	}
	switch status := answer.StatusCode; {
	case limited(answer):
		return &failure{kind: RateLimited, why: t.sayLimit(answer), wait: cmp.Or(retryafter.Parse(answer.Header, t.Now), t.untilReset(answer)), harmless: true}
	case status == http.StatusRequestTimeout, status >= 500 && status != http.StatusNotImplemented:
		return &failure{kind: Unavailable, why: "answers " + t.status(answer), wait: retryafter.Parse(answer.Header, t.Now)}
	}
	// Our tries are used up or not needed: go-github must not start to count by its own clock.
	for _, header := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After"} {
		answer.Header.Del(header)
	}
	return nil
}

func (t *transport) failureOf(err error) *failure {
	var (
		token       *tokenError
		certificate *tls.CertificateVerificationError
		dial        *net.OpError
	)
	failed := &failure{kind: Unavailable, cause: err}
	switch {
	case errors.As(err, &token), errors.As(err, &certificate):
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		failed.why = fmt.Sprintf("has not answered within %s", t.Limits.Request)
	case errors.As(err, &dial) && dial.Op == "dial":
		failed.why, failed.harmless = "cannot be reached: "+t.secrets.Line(reason(err)), true
	default:
		failed.why = "broke off: " + t.secrets.Line(reason(err))
	}
	return failed
}

// reason is the innermost of an error: the layers above it repeat the URL.
func reason(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "its answer was cut off"
	case errors.Is(err, io.EOF):
		return "the connection was closed"
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// wait waits for the next try. It returns an error if there is none.
func (t *transport) wait(r *http.Request, f *failure, try int) error {
	giveUp := func(why string) error {
		return &Error{
			Kind: f.kind, Message: "GitHub " + f.why + why, Hint: hintLater(f.kind),
			maybeDone: !f.harmless && r.Method != http.MethodGet, err: harmlessCause(f.cause),
		}
	}
	switch {
	case !f.harmless && !idempotent(r):
		return giveUp("")
	case try >= t.Limits.Tries:
		return giveUp(fmt.Sprintf(", %d times", try))
	}
	delay := f.wait
	switch {
	case f.kind != RateLimited:
		delay = max(delay, retryafter.Backoff(firstDelay, try))
	case delay == 0: // never less than what GitHub asks for
		delay = limitDelay<<(try-1) + rand.N(firstDelay)
	}
	deadline, bounded := r.Context().Deadline()
	if delay > t.Limits.Wait || bounded && t.Now().Add(delay).After(deadline) {
		return giveUp(fmt.Sprintf("; the next try would be in %s, which is too late", round(delay)))
	}
	t.Notice(fmt.Sprintf("GitHub %s: trying again in %s (%d of %d)", f.why, round(delay), try+1, t.Limits.Tries))
	return t.Sleep(r.Context(), delay)
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// limited reports whether an answer says that there were too many requests. Its words are known to change: headers
// and the address of the documentation go first.
func limited(answer *http.Response) bool {
	switch answer.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusForbidden:
	default:
		return false
	}
	if answer.Header.Get("Retry-After") != "" || answer.Header.Get("X-RateLimit-Remaining") == "0" {
		return true
	}
	said := remark(answer)
	return strings.Contains(said.Documentation, "rate-limit") || strings.Contains(said.Message, "rate limit") ||
		strings.Contains(said.Message, "abuse detection")
}

// saying is what GitHub says of an error.
type saying struct {
	Message       string `json:"message"`
	Documentation string `json:"documentation_url"`
}

// remark reads what an answer says, and leaves it to be read again.
func remark(answer *http.Response) saying {
	body, _ := io.ReadAll(answer.Body) // of memory: see readWhole
	answer.Body = io.NopCloser(bytes.NewReader(body))
	var said saying
	if json.Unmarshal(body, &said) != nil {
		return saying{} // a page of something in between
	}
	return said
}

// sayLimit says which limit was hit.
func (t *transport) sayLimit(answer *http.Response) string {
	if said := t.secrets.Line(remark(answer).Message); said != "" {
		return fmt.Sprintf("limits requests (%d: %s)", answer.StatusCode, said)
	}
	return fmt.Sprintf("limits requests (%d)", answer.StatusCode)
}

func (t *transport) status(answer *http.Response) string {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", answer.StatusCode, http.StatusText(answer.StatusCode)))
	if id := t.secrets.Line(answer.Header.Get("X-GitHub-Request-Id")); id != "" {
		status += " (request " + id + ")"
	}
	return status
}

// untilReset returns how long it is until requests are counted from zero, if there are none left. A second is
// added, for the clocks.
func (t *transport) untilReset(answer *http.Response) time.Duration {
	at, err := strconv.ParseInt(answer.Header.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil || answer.Header.Get("X-RateLimit-Remaining") != "0" {
		return 0
	}
	return max(time.Second, time.Unix(at, 0).Sub(t.Now())+time.Second)
}
