package github

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// firstDelay doubles with every try, up to maxDelay.
	firstDelay = time.Second
	maxDelay   = 30 * time.Second
	// limitDelay is what GitHub asks for if it says that there were too many requests, and not for how long.
	limitDelay = time.Minute
	// maxSeconds is as long as we read a number of seconds: longer than anybody waits, too short to overflow.
	maxSeconds = 24 * 60 * 60
)

// pace keeps apart what changes something.
type pace struct {
	apart time.Duration
	mu    sync.Mutex
	free  time.Time
}

// next takes the next free moment and returns how long it is until then.
func (p *pace) next(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := now
	if p.free.After(at) {
		at = p.free
	}
	p.free = at.Add(p.apart)
	return at.Sub(now)
}

// verdict is what an answer, or that there was none, means for the next try.
type verdict struct {
	// final is an answer to hand on, or an error that another try would not mend.
	final bool
	kind  Kind
	// why is for people, after "GitHub".
	why string
	// told is how long GitHub asks to wait; zero if it does not say.
	told time.Duration
	// harmless says that nothing was done, so that any request may be sent again.
	harmless bool
	cause    error
}

func (t *transport) judge(r *http.Request, answer *http.Response, err error) verdict {
	if err != nil {
		return t.judgeError(r, err)
	}
	told := t.told(answer)
	switch status := answer.StatusCode; {
	case limited(answer):
		if told == 0 {
			told = t.untilReset(answer)
		}
		return verdict{kind: RateLimited, why: t.sayLimit(answer), told: told, harmless: true}
	case status == http.StatusRequestTimeout, status >= 500 && status != http.StatusNotImplemented:
		return verdict{kind: Unavailable, why: "answers " + t.status(answer), told: told}
	}
	// Our tries are used up or not needed: go-github must not start to count by its own clock.
	for _, header := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After"} {
		answer.Header.Del(header)
	}
	return verdict{final: true}
}

func (t *transport) judgeError(r *http.Request, err error) verdict {
	var (
		token   *tokenError
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		dial    *net.OpError
	)
	switch {
	case errors.As(err, &token), r.Context().Err() != nil:
		return verdict{final: true}
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid):
		return verdict{final: true}
	case errors.Is(err, context.DeadlineExceeded):
		return verdict{kind: Unavailable, why: fmt.Sprintf("has not answered within %s", t.Limits.Request), cause: err}
	}
	if errors.As(err, &dial) && dial.Op == "dial" {
		return verdict{kind: Unavailable, why: "cannot be reached: " + t.Secrets.Line(reason(err)), harmless: true, cause: err}
	}
	return verdict{kind: Unavailable, why: "broke off: " + t.Secrets.Line(reason(err)), cause: err}
}

// reason is the innermost of an error: the layers above it repeat the URL.
func reason(err error) string {
	var cut *cutError
	switch {
	case errors.As(err, &cut):
		return cut.why
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
func (t *transport) wait(r *http.Request, v verdict, try int) error {
	giveUp := func(why string) error {
		return &Error{
			Kind: v.kind, Message: "GitHub " + v.why + why, Hint: hintLater(v.kind),
			maybeDone: !v.harmless && r.Method != http.MethodGet, err: harmlessCause(v.cause),
		}
	}
	switch {
	case !v.harmless && !idempotent(r):
		return giveUp("")
	case try >= t.Limits.Tries:
		return giveUp(fmt.Sprintf(", %d times", try))
	}
	delay := max(v.told, t.backoff(v.kind, try))
	if v.told > 0 && v.kind == RateLimited {
		delay = v.told
	}
	deadline, bounded := r.Context().Deadline()
	if delay > t.Limits.Wait || bounded && t.Now().Add(delay).After(deadline) {
		return giveUp(fmt.Sprintf("; the next try would be in %s, which is too late", round(delay)))
	}
	t.Notice(fmt.Sprintf("GitHub %s: trying again in %s (%d of %d)", v.why, round(delay), try+1, t.Limits.Tries))
	return t.Sleep(r.Context(), delay)
}

// backoff returns how long to wait if GitHub does not say, between half of a bound that doubles and all of it.
func (t *transport) backoff(kind Kind, try int) time.Duration {
	if kind == RateLimited {
		// Never less than what GitHub asks for.
		return limitDelay<<(try-1) + time.Duration(t.Random()*float64(firstDelay))
	}
	bound := min(firstDelay<<(try-1), maxDelay)
	return bound/2 + time.Duration(t.Random()*float64(bound/2))
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// limited tells whether an answer says that there were too many requests. Its words are known to change: headers
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
	if said := t.Secrets.Line(remark(answer).Message); said != "" {
		return fmt.Sprintf("limits requests (%d: %s)", answer.StatusCode, said)
	}
	return fmt.Sprintf("limits requests (%d)", answer.StatusCode)
}

func (t *transport) status(answer *http.Response) string {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", answer.StatusCode, http.StatusText(answer.StatusCode)))
	if id := t.Secrets.Line(answer.Header.Get("X-GitHub-Request-Id")); id != "" {
		status += " (request " + id + ")"
	}
	return status
}

// told returns how long an answer asks to wait: Retry-After, in seconds or as a date. Zero if it does not say.
func (t *transport) told(answer *http.Response) time.Duration {
	value := answer.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil && seconds > 0 {
		return time.Duration(min(seconds, maxSeconds)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(t.Now()))
	}
	return 0
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
