// Package api asks the HTTP APIs of fleets for JSON documents.
//
// In: a request. Out: its document, or a promote.FleetError that has no secret in it. Answers are bounded, redirects are
// not followed, because credentials would go along, and what may pass is asked again a few times.
package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

const (
	maxTries   = 3
	firstDelay = time.Second // doubles with each try
	// maxDelay is the longest wait before the next try; a longer one is left to the caller.
	maxDelay = 10 * time.Second
	// requestTime bounds a request with its answer.
	requestTime = time.Minute
)

// Options are what asking a fleet needs of the machine.
type Options struct {
	// Env reads environment variables; nil has none.
	Env func(string) string
	// Environ are all environment variables, as NAME=VALUE, for programs that are started.
	Environ []string
	// Transport sends requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Sleep waits, or until ctx is done, whose error it then returns.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the clock.
	Now func() time.Time
	// UserAgent names the program to servers.
	UserAgent string
}

// Getenv reads an environment variable; empty if there is none.
func (o Options) Getenv(name string) string {
	if o.Env == nil {
		return ""
	}
	return o.Env(name)
}

// Sender sends single requests. It is a policy.Transporter of the Azure SDK.
type Sender struct {
	client http.Client
	limit  int64
}

// NewSender sends requests through a transport, nil for the default one, and ends an answer with an error after limit
// bytes.
func NewSender(transport http.RoundTripper, limit int64) *Sender {
	return &Sender{limit: limit, client: http.Client{
		Transport:     transport,
		Timeout:       requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Do sends a request.
func (s *Sender) Do(r *http.Request) (*http.Response, error) {
	answer, err := s.client.Do(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, s.limit)
	}
	return answer, err
}

// Client asks one server.
type Client struct {
	Options
	// Subject is the server in messages: "Azure".
	Subject string
	// Send sends a request with its credentials; its answers must be bounded, as those of Sender.Do are.
	Send func(*http.Request) (*http.Response, error)
	// Secrets do not appear in messages.
	Secrets *credentials.Scrubber
	// Hints say what to do about a status, Untrusted, or 200: a redirection, or a document that is not the expected one.
	Hints map[int]string
}

// Get reads a JSON document into a value; what names it for the error if it is something else. With a body, which
// becomes JSON, the request is a POST. The header is that of the answer.
func (c *Client) Get(ctx context.Context, address string, body any, what string, into any) (http.Header, *promote.FleetError) {
	for try := 1; ; try++ {
		header, err := c.once(ctx, address, body, into)
		if err == nil {
			return header, nil
		}
		failure := c.explain(err, what)
		delay := max(failure.Wait, firstDelay<<(try-1))
		if !failure.Temporary || timedOut(err) || try == maxTries || delay > maxDelay {
			return nil, failure
		}
		if err := c.Sleep(ctx, delay); err != nil {
			return nil, c.explain(err, what)
		}
	}
}

func (c *Client) once(ctx context.Context, address string, body, into any) (http.Header, error) {
	r, err := newRequest(ctx, address, body)
	if err != nil {
		return nil, err
	}
	if c.UserAgent != "" {
		r.Header.Set("User-Agent", c.UserAgent)
	}
	answer, err := c.Send(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, c.refused(answer)
	}
	d := json.NewDecoder(answer.Body)
	if err := d.Decode(into); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err == nil {
		return nil, errFollows
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return answer.Header, nil
}

func newRequest(ctx context.Context, address string, body any) (*http.Request, error) {
	method, text := http.MethodGet, []byte(nil)
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}
