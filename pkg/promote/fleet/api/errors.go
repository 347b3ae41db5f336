package api

import (
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

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

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
	f := c.failure("answers "+what, nil)
	f.Hint = c.Hints[http.StatusOK]
	return f
}

// failure is an error with the server as its subject.
func (c *Client) failure(predicate string, err error) *promote.FleetError {
	return &promote.FleetError{Message: c.Secrets.Line(c.Subject + " " + predicate), Err: err}
}

// remark is what servers say about an error. The outer code and message of Azure's may only name whom to ask:
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
		f := c.failure("is not to be trusted: "+statustext.Reason(err), nil)
		f.Hint = c.Hints[Untrusted]
		return f
	case errors.As(err, &long):
		return c.failure(fmt.Sprintf("answers more than %d MiB", long.Limit>>20), nil)
	case errors.As(err, new(*json.SyntaxError)), errors.As(err, new(*json.UnmarshalTypeError)), errors.Is(err, errFollows):
		return c.Unexpected("what is not " + what)
	}
	f := c.failure("cannot be reached: "+err.Error(), nil)
	switch {
	case errors.Is(err, context.Canceled):
		f = c.failure("was not waited for: the run was ended", context.Canceled)
	case timedOut(err):
		f = c.failure("has not answered in time", context.DeadlineExceeded)
	case errors.As(err, &request): // its text has the URL in it
		f = c.failure("cannot be reached: "+request.Err.Error(), nil)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f = c.failure("broke off its answer", nil)
	}
	f.Temporary = true
	return f
}

func timedOut(err error) bool {
	network, ok := errors.AsType[net.Error](err)
	return ok && network.Timeout()
}
