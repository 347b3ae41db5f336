// Package api requests JSON documents from the HTTP APIs of fleets.
//
// In: a request. Out: its document, or a promote.FleetError without secrets. The size of responses is limited, redirects
// are not followed, because they would receive the credentials, and temporary failures are retried a few times.
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
	// maxDelay is the maximum delay of a retry; with a longer one the caller decides.
	maxDelay = 10 * time.Second
	// requestTime limits a request including its response.
	requestTime = time.Minute
)

// Options are the parts of the environment that a fleet needs.
type Options struct {
	// Env returns an environment variable; nil means that none is set.
	Env func(string) string
	// Environ are all environment variables as NAME=VALUE, for child processes.
	Environ []string
	// Transport sends requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Sleep waits for d. It returns the error of ctx if that is done before.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the clock.
	Now func() time.Time
	// UserAgent names the program to servers.
	UserAgent string
}

// Getenv returns an environment variable; empty if it is not set.
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

// NewSender returns a Sender that uses a transport, nil for the default one. Reading more than limit bytes of a response is
// an error.
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

// Client sends requests to one server.
type Client struct {
	Options
	// Subject is the name of the server in messages, such as "Azure".
	Subject string
	// Send sends a request with its credentials. It must limit the size of responses, as Sender.Do does.
	Send func(*http.Request) (*http.Response, error)
	// Secrets are removed from messages.
	Secrets *credentials.Scrubber
	// Hints are the hints for an HTTP status, for Untrusted, and for 200: a redirect or an unexpected document.
	Hints map[int]string
}

// Get reads a JSON document into a value. what describes the expected document for errors. With a body, which is sent as
// JSON, the request is a POST. The header is that of the response.
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
		return nil, c.statusError(answer)
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

// errFollows is the error of a document that is followed by more data.
var errFollows = errors.New("more than one JSON document")

// Untrusted is the key in Client.Hints for a certificate that is not trusted.
const Untrusted = 0

// StatusError is a response with a status other than 200.
type StatusError struct {
	Status int
	// Code is the error code of Azure; empty for none.
	Code string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%d %s", e.Status, cmp.Or(e.Code, http.StatusText(e.Status)))
}

// StatusOf returns the StatusError that an error wraps; the zero value for none.
func StatusOf(err *promote.FleetError) StatusError {
	var status *StatusError
	if err == nil || !errors.As(err, &status) {
		return StatusError{}
	}
	return *status
}

// Temporary reports whether a retry may succeed.
func (e *StatusError) Temporary() bool {
	return e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests ||
		e.Status >= http.StatusInternalServerError && e.Status != http.StatusNotImplemented
}

// Unexpected returns the error of an unexpected response.
func (c *Client) Unexpected(what string) *promote.FleetError {
	f := c.failure("returned "+what, nil)
	f.Hint = c.Hints[http.StatusOK]
	return f
}

// failure returns an error whose message starts with the server.
func (c *Client) failure(predicate string, err error) *promote.FleetError {
	return &promote.FleetError{Message: c.Secrets.Line(c.Subject + " " + predicate), Err: err}
}

// errorBody is the description of an error in a response. The outer code and message of Azure may only name a contact:
// https://github.com/microsoft/api-guidelines/blob/vNext/azure/Guidelines.md#handling-errors
type errorBody struct {
	Code    string      `json:"code"`
	Message string      `json:"message"`
	Details []errorBody `json:"details"`
}

// parseErrorBody reads the error descriptions of Azure, Argo CD and Kubernetes. Other texts are those of a proxy and are ignored.
func parseErrorBody(body []byte) errorBody {
	var azure struct{ Error errorBody }
	if json.Unmarshal(body, &azure) == nil && azure.Error.Message+azure.Error.Code != "" {
		if details := azure.Error.Details; len(details) > 0 && details[0].Code != "" {
			azure.Error = details[0]
		}
		azure.Error.Message = strings.TrimSuffix(azure.Error.Message, ".")
		return azure.Error
	}
	var others struct{ Message string }
	if json.Unmarshal(body, &others) != nil {
		return errorBody{}
	}
	return errorBody{Message: others.Message}
}

// statusError returns the error of a response with another status than 200.
func (c *Client) statusError(answer *http.Response) *promote.FleetError {
	const enough = 64 << 10 // bytes
	body, _ := io.ReadAll(io.LimitReader(answer.Body, enough))
	described := parseErrorBody(body)
	err := &StatusError{answer.StatusCode, described.Code}
	predicate := strings.TrimSpace("answers " + err.Error())
	if described.Message != "" {
		predicate += ": " + described.Message
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

// explain returns the error for a failed or incomplete response.
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
	case errors.As(err, &request): // its text contains the URL
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
