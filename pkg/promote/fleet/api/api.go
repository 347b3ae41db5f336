// Package api asks the HTTP APIs of fleets for JSON documents.
//
// In: a request. Out: its document, or a promote.FleetError that has no secret in it. Answers are bounded, redirects are
// not followed, because credentials would go along, and what may pass is asked again a few times.
package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
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

// errFollows is a document with something behind it.
var errFollows = errors.New("more than one JSON document")

// Untrusted stands for a certificate that is not trusted, where a status is asked for.
const Untrusted = 0

// StatusError is an answer with a status other than 200.
type StatusError struct {
	Status int
	// Code is Azure's; empty if there is none.
	Code string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%d %s", e.Status, cmp.Or(e.Code, http.StatusText(e.Status)))
}

// StatusOf returns the answer behind an error; the zero one if there is none, as for no error.
func StatusOf(err *promote.FleetError) StatusError {
	var status *StatusError
	if err == nil || !errors.As(err, &status) {
		return StatusError{}
	}
	return *status
}

// Temporary reports whether the same request may have a better answer later.
func (e *StatusError) Temporary() bool {
	return e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests ||
		e.Status >= http.StatusInternalServerError && e.Status != http.StatusNotImplemented
}

// Unexpected is the error for a server that answers something else than it should.
func (c *Client) Unexpected(what string) *promote.FleetError {
	f := c.failure("returned "+what, nil)
	f.Hint = c.Hints[http.StatusOK]
	return f
}

// failure is an error with the server as its subject.
func (c *Client) failure(predicate string, err error) *promote.FleetError {
	return &promote.FleetError{Message: c.Secrets.Line(c.Subject + " " + predicate), Err: err}
}

// remark is a server's description of an error. Azure's outer code and message may only name a contact:
// https://github.com/microsoft/api-guidelines/blob/vNext/azure/Guidelines.md#handling-errors
type remark struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Details []remark `json:"details"`
}

// remarkOf reads what Azure, Argo CD and Kubernetes say about an error. Any other text is that of something in between.
func remarkOf(body []byte) remark {
	var azure struct{ Error remark }
	if json.Unmarshal(body, &azure) == nil && azure.Error.Message+azure.Error.Code != "" {
		if details := azure.Error.Details; len(details) > 0 && details[0].Code != "" {
			azure.Error = details[0]
		}
		azure.Error.Message = strings.TrimSuffix(azure.Error.Message, ".")
		return azure.Error
	}
	var others struct{ Message string }
	if json.Unmarshal(body, &others) != nil {
		return remark{}
	}
	return remark{Message: others.Message}
}

// refused explains an answer with another status than 200.
func (c *Client) refused(answer *http.Response) *promote.FleetError {
	const enough = 64 << 10 // bytes
	body, _ := io.ReadAll(io.LimitReader(answer.Body, enough))
	said := remarkOf(body)
	err := &StatusError{answer.StatusCode, said.Code}
	predicate := strings.TrimSpace("answers " + err.Error())
	if said.Message != "" {
		predicate += ": " + said.Message
	}
	f := c.failure(predicate, err)
	f.Hint = c.Hints[answer.StatusCode]
	if answer.StatusCode < http.StatusBadRequest {
		f.Hint = c.Hints[http.StatusOK]
	}
	if f.Temporary = err.Temporary(); f.Temporary {
		f.Wait = retryafter.Parse(answer.Header, c.Now)
	}
	return f
}

// explain makes an error for people of why there is no whole answer.
func (c *Client) explain(err error, what string) *promote.FleetError {
	var (
		known       *promote.FleetError
		certificate *tls.CertificateVerificationError
		long        *http.MaxBytesError
		request     *url.Error
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &certificate):
		f := c.failure("is not trusted: "+statustext.Reason(err), nil)
		f.Hint = c.Hints[Untrusted]
		return f
	case errors.As(err, &long):
		return c.failure(fmt.Sprintf("returns more than %d MiB", long.Limit>>20), nil)
	case errors.As(err, new(*json.SyntaxError)), errors.As(err, new(*json.UnmarshalTypeError)), errors.Is(err, errFollows):
		return c.Unexpected("something other than " + what)
	}
	f := c.failure("cannot be reached: "+err.Error(), nil)
	switch {
	case errors.Is(err, context.Canceled):
		f = c.failure("was canceled: the run ended", context.Canceled)
	case timedOut(err):
		f = c.failure("has not answered in time", context.DeadlineExceeded)
	case errors.As(err, &request): // its text has the URL in it
		f = c.failure("cannot be reached: "+request.Err.Error(), nil)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f = c.failure("closed the connection early", nil)
	}
	f.Temporary = true
	return f
}

func timedOut(err error) bool {
	network, ok := errors.AsType[net.Error](err)
	return ok && network.Timeout()
}
