package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
)

// transport sends requests with the token, to its host only; those that change something a second apart; and again, later,
// after server errors and rate limits. It reads answers to their end, so that one that was cut off is an error instead of
// a short answer.
//
// gofri/go-github-ratelimit and hashicorp/go-retryablehttp sleep by the clock of the machine, which tests would have to
// wait for; what they do besides is the loop of RoundTrip.
type transport struct {
	Options
	api     *url.URL
	secrets *credentials.Scrubber

	mu sync.Mutex
	// free is when the next change may be sent.
	free time.Time
}

const (
	// maxAnswer bounds an answer in bytes. A page of a hundred pull requests with bodies as long as GitHub takes
	// them is a tenth of it.
	maxAnswer    = 128 << 20
	maxRedirects = 3
)

func newTransport(api *url.URL, o Options) *transport {
	o = o.orDefaults()
	return &transport{Options: o, api: api, secrets: &credentials.Scrubber{}}
}

type contextKey int

const (
	// repeatable marks a POST that is safe to repeat.
	repeatable contextKey = iota
	// readOnly marks a POST that changes nothing.
	readOnly
)

// mayRepeat marks requests whose outcome does not depend on how often they are done, although they are POSTs.
func mayRepeat(ctx context.Context) context.Context { return context.WithValue(ctx, repeatable, true) }

// reading marks requests that change nothing, although they are POSTs.
func reading(ctx context.Context) context.Context { return context.WithValue(ctx, readOnly, true) }

// idempotent reports whether a request may be sent twice.
func idempotent(r *http.Request) bool {
	return r.Method != http.MethodPost || r.Context().Value(repeatable) != nil
}

// checkRedirect follows redirects to another path, as of a repository that was renamed, but not to another host or with
// another method: a POST that becomes a GET would seem to have worked.
func (t *transport) checkRedirect(to *http.Request, via []*http.Request) error {
	switch {
	case !sameHost(to.URL, t.api):
		return fmt.Errorf("it redirects to %s, which is not followed: the token is for %s only", to.URL.Host, t.api.Host)
	case to.Method != via[0].Method:
		return errors.New("the repository has another name now: use that one")
	case len(via) > maxRedirects:
		return errors.New("there are too many redirects")
	}
	return nil
}

// RoundTrip sends a request, again if need be. Answers that say to come later, and answers that were never
// whole, become errors of this package once the tries are used up.
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

// send sends a request once and reads the whole answer.
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
	answer, err := http.DefaultTransport.RoundTrip(sent)
	if err != nil {
		return token, nil, err
	}
	return token, answer, readWhole(answer)
}

// keepApart waits until the next change may be sent.
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

// tokenError is a token that could not be had. It is not tried again here: who mints it has done so.
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

// readWhole reads the body of an answer into memory. Of a success it must be JSON: a list that a proxy
// dropped must not become an empty one.
func readWhole(answer *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	_ = answer.Body.Close() // all that it could say was said by ReadAll
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
		return errors.New("its answer is not whole, or not JSON")
	}
	return nil
}

// waitForToken decides what a refused token means. One that was just minted may not be known everywhere yet:
// it waits. One that was minted before may have been revoked: a new one takes its place, once.
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
	t.Notice(fmt.Sprintf("GitHub does not know the new token yet: trying again in %s", delay))
	return true, t.Sleep(r.Context(), delay)
}
