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
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

// transport sends requests with the token, only to its host, with a pause between changes, and retries after server errors
// and rate limits. It reads answers completely, so that one that is cut off is an error.
//
// gofri/go-github-ratelimit and hashicorp/go-retryablehttp use the clock of the machine, so tests would have to wait.
type transport struct {
	Options
	api     *url.URL
	secrets *credentials.Scrubber

	mu sync.Mutex
	// free is the time when the next change may be sent.
	free time.Time
}

const (
	// maxAnswer is the maximum length of an answer in bytes, ten times that of a page of a hundred pull requests with bodies
	// of maximum length.
	maxAnswer    = 128 << 20
	maxRedirects = 3
)

type contextKey int

const (
	// repeatable marks a POST that is safe to repeat.
	repeatable contextKey = iota
	// readOnly marks a POST that changes nothing.
	readOnly
)

// mayRepeat marks idempotent POST requests.
func mayRepeat(ctx context.Context) context.Context { return context.WithValue(ctx, repeatable, true) }

// reading marks POST requests that change nothing.
func reading(ctx context.Context) context.Context { return context.WithValue(ctx, readOnly, true) }

// checkRedirect allows redirects to another path, as after a rename of a repository, but not to another host or with
// another method: a POST that becomes a GET would seem to succeed.
func (t *transport) checkRedirect(to *http.Request, via []*http.Request) error {
	switch {
	case !sameHost(to.URL, t.api):
		return fmt.Errorf("it redirects to %s, which is not followed: the token is for %s only", to.URL.Host, t.api.Host)
	case to.Method != via[0].Method:
		return errors.New("the repository was renamed: use the new name")
	case len(via) > maxRedirects:
		return errors.New("too many redirects")
	}
	return nil
}

// RoundTrip sends a request, with retries. Rate limits, server errors and incomplete answers become errors of this package
// after the last attempt.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !sameHost(r.URL, t.api) {
		return nil, fmt.Errorf("refuse to send the token for %s to %s", t.api.Host, r.URL.Host)
	}
	refused := 0
	for try := 1; ; try++ {
		token, answer, err := t.send(r)
		if r.Context().Err() != nil {
			return nil, r.Context().Err()
		}
		if answer != nil && answer.StatusCode == http.StatusUnauthorized {
			again, err := t.waitForToken(r, token, refused)
			if err != nil {
				return nil, err
			}
			if again {
				refused, try = refused+1, try-1
				continue
			}
		}
		failed := t.failure(answer, err)
		if failed == nil {
			return answer, err
		}
		if err := t.wait(r, failed, try); err != nil {
			return nil, err
		}
	}
}

func (t *transport) send(r *http.Request) (Token, *http.Response, error) {
	token, err := t.Token.Token(r.Context())
	if err != nil {
		return token, nil, &tokenError{err}
	}
	t.secrets.Add(token.Value)
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Context().Value(readOnly) == nil {
		if err := t.keepApart(r.Context()); err != nil {
			return token, nil, err
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), t.Limits.Request)
	defer cancel()
	sent, err := outgoing(ctx, r, token)
	if err != nil {
		return token, nil, err
	}
	answer, err := t.Transport.RoundTrip(sent)
	if err != nil {
		return token, nil, err
	}
	return token, answer, readWhole(answer)
}

func (t *transport) keepApart(ctx context.Context) error {
	t.mu.Lock()
	now := t.Now()
	delay := max(0, t.free.Sub(now))
	t.free = now.Add(delay + t.Limits.Apart)
	t.mu.Unlock()
	if delay == 0 {
		return nil
	}
	return t.Sleep(ctx, delay)
}

// tokenError is the error of a TokenSource, which has its own retries.
type tokenError struct{ err error }

func (e *tokenError) Error() string { return e.err.Error() }
func (e *tokenError) Unwrap() error { return e.err }

// outgoing returns a copy of a request with a body of its own and the token.
func outgoing(ctx context.Context, r *http.Request, token Token) (*http.Request, error) {
	sent := r.Clone(ctx)
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		sent.Body = body
	}
	if token.Value != "" {
		sent.Header.Set("Authorization", "Bearer "+token.Value)
	}
	return sent, nil
}

// readWhole reads the body of an answer into memory. That of a success must be JSON: a list that a proxy dropped must not
// be an empty one.
func readWhole(answer *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	_ = answer.Body.Close() // ReadAll has returned the error
	answer.Body = io.NopCloser(bytes.NewReader(body))
	good := answer.StatusCode/100 == 2 && answer.StatusCode != http.StatusNoContent
	switch {
	case len(body) > maxAnswer:
		return errors.New("its answer is too long")
	case err != nil && (good || errors.Is(err, context.DeadlineExceeded)):
		return err
	case good && len(body) == 0:
		return errors.New("its answer is empty")
	case good && !json.Valid(body):
		return errors.New("its answer is incomplete or not JSON")
	}
	return nil
}

// waitForToken handles a refused token. A new one may not be accepted by all servers yet, so it waits. An older one of an
// App may have been revoked, so it is replaced, once.
func (t *transport) waitForToken(r *http.Request, token Token, refused int) (again bool, err error) {
	const young = time.Minute
	if token.Minted.IsZero() || refused >= 3 {
		return false, nil
	}
	if t.Now().Sub(token.Minted) > young {
		source, ok := t.Token.(appTokens)
		if !ok || refused > 0 {
			return false, nil
		}
		source.renew(token.Value)
		return true, nil
	}
	delay := []time.Duration{time.Second, 3 * time.Second, 10 * time.Second}[refused]
	t.Notice(fmt.Sprintf("GitHub does not accept the new token yet: retrying in %s", delay))
	return true, t.Sleep(r.Context(), delay)
}

const (
	// firstDelay doubles with every try.
	firstDelay = time.Second
	// limitDelay is the wait that GitHub requires after a rate limit without a duration.
	limitDelay = time.Minute
)

// failure is a failed attempt after which a request may be retried.
type failure struct {
	kind Kind
	// why is the reason for people, after "GitHub".
	why string
	// wait is the wait that GitHub requests; zero if it requests none.
	wait time.Duration
	// harmless is true if nothing was changed, so that any request may be retried.
	harmless bool
	cause    error
}

// failure returns the reason for a retry; nil for an answer or error that is final.
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
	// go-github must not apply rate limits with its own clock.
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

func reason(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "its answer was cut off"
	case errors.Is(err, io.EOF):
		return "the connection was closed"
	}
	return giterror.ShortCause(err)
}

// wait waits for the next attempt, or returns the error if there is none.
func (t *transport) wait(r *http.Request, f *failure, try int) error {
	giveUp := func(why string) error {
		return &Error{
			Kind: f.kind, Message: "GitHub " + f.why + why, Hint: hintLater(f.kind),
			maybeDone: !f.harmless && r.Method != http.MethodGet, err: harmlessCause(f.cause),
		}
	}
	switch {
	case !f.harmless && r.Method == http.MethodPost && r.Context().Value(repeatable) == nil:
		return giveUp("")
	case try >= t.Limits.Tries:
		return giveUp(fmt.Sprintf(", %d times", try))
	}
	delay := f.wait
	switch {
	case f.kind != RateLimited:
		delay = max(delay, retryafter.Backoff(firstDelay, try))
	case delay == 0: // at least what GitHub requires
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

// limited reports whether an answer is a rate limit. Headers and the URL of the documentation are checked before the
// message, which has changed in the past.
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

// saying is the body of an error answer.
type saying struct {
	Message       string `json:"message"`
	Documentation string `json:"documentation_url"`
}

// remark reads the body of an error answer, which stays readable.
func remark(answer *http.Response) saying {
	body, _ := io.ReadAll(answer.Body) // of memory: see readWhole
	answer.Body = io.NopCloser(bytes.NewReader(body))
	var said saying
	if json.Unmarshal(body, &said) != nil {
		return saying{} // a page of a proxy
	}
	return said
}

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

// untilReset returns the time until the reset of the rate limit if no requests are left, plus a second for the clocks.
func (t *transport) untilReset(answer *http.Response) time.Duration {
	at, err := strconv.ParseInt(answer.Header.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil || answer.Header.Get("X-RateLimit-Remaining") != "0" {
		return 0
	}
	return max(time.Second, time.Unix(at, 0).Sub(t.Now())+time.Second)
}

// ask sends a query or a mutation to the GraphQL API, the only one with auto-merge, and decodes the data of the answer. It
// may be sent twice.
func (r *Repository) ask(ctx context.Context, op operation, query string, variables map[string]any, data any) error {
	request, err := r.client.api.NewRequest(http.MethodPost, r.client.graphQL, map[string]any{"query": query, "variables": variables})
	if err != nil {
		return r.explain(op, err)
	}
	answer := struct {
		Data   any                              `json:"data"`
		Errors []struct{ Type, Message string } `json:"errors"`
	}{Data: data}
	if _, err := r.client.api.Do(mayRepeat(ctx), request, &answer); err != nil {
		return r.explain(op, err)
	}
	if len(answer.Errors) == 0 {
		return nil
	}
	first := answer.Errors[0]
	e := &Error{Kind: Invalid, Message: "GitHub answers: " + r.client.wire.secrets.Line(first.Message)}
	switch first.Type {
	case "FORBIDDEN", "INSUFFICIENT_SCOPES":
		e.Kind = Denied
		r.client.wire.lack(e, op.need)
	case "NOT_FOUND":
		e.Kind = NotFound
		r.client.wire.lack(e, op.need)
	case "RATE_LIMITED":
		e.Kind, e.Hint = RateLimited, hintLater(RateLimited)
	}
	return r.explain(op, e)
}

// Login returns the login of the token's owner: that of a person, or NAME[bot] of a GitHub App, which includes the
// GITHUB_TOKEN of a workflow. It sends one request and keeps the answer. It uses the GraphQL API, because the REST API
// does not return the login to tokens of Apps.
func (r *Repository) Login(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.login != "" {
		return r.login, nil
	}
	op := operation{act: "read the login of the token's owner"}
	var data struct {
		Viewer struct{ Login string }
	}
	if err := r.ask(reading(ctx), op, "query { viewer { login } }", nil, &data); err != nil {
		return "", err
	}
	if data.Viewer.Login == "" {
		return "", r.explain(op, incomplete())
	}
	r.login = data.Viewer.Login
	return r.login, nil
}
