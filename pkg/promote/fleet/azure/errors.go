package azure

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

const (
	hintRole   = "give the identity the role Reader on the subscriptions of the clusters"
	hintSignIn = "run az login, or in a workflow azure/login, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"
)

// unsound is the error for an answer that must not be relied on. The next one may be better.
func (a *graph) unsound(why string) *promote.FleetError {
	return &promote.FleetError{Temporary: true, Message: "the answer of Azure cannot be used: " + a.secrets.Line(why)}
}

// fault is what went wrong, in a line without secrets.
func (a *graph) fault(ctx context.Context, err error) *promote.FleetError {
	var (
		known  *promote.FleetError
		signIn *signInError
		answer *azcore.ResponseError
	)
	switch {
	case errors.As(err, &known):
		return known
	case ctx.Err() != nil:
		return interrupted(ctx.Err())
	case errors.As(err, &signIn):
		return a.signInFault(signIn)
	case errors.As(err, &answer):
		return a.answerFault(answer)
	}
	return a.networkFault(err)
}

func interrupted(err error) *promote.FleetError {
	return &promote.FleetError{Message: "interrupted while asking Azure", Err: err}
}

func (a *graph) networkFault(err error) *promote.FleetError {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		request *url.Error
		network net.Error
	)
	fault := &promote.FleetError{Temporary: true, Err: err}
	switch {
	case errors.Is(err, errTooLarge):
		fault.Temporary = false
		fault.Message = "the answer of Azure cannot be used: " + errTooLarge.Error()
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid):
		fault.Temporary = false
		fault.Message = "Azure cannot be trusted: " + innermost(err)
		fault.Hint = "is there something in between that opens encrypted connections? this machine must know its certificate"
	case errors.As(err, &network) && network.Timeout():
		fault.Message = fmt.Sprintf("Azure has not answered within %s", requestTime)
	case errors.As(err, &request):
		fault.Message = "Azure cannot be reached: " + request.Err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		fault.Message = "the answer of Azure cannot be used: it was cut off"
	default:
		fault.Message = "the answer of Azure cannot be used: " + err.Error()
	}
	fault.Message = a.secrets.Line(fault.Message)
	return fault
}

func innermost(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// saying is what Azure says of an error. The outer code and message may say nothing but whom to ask:
// https://github.com/microsoft/api-guidelines/blob/vNext/azure/Guidelines.md#handling-errors
type saying struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Details []saying `json:"details"`
}

func says(err *azcore.ResponseError) saying {
	said := struct{ Error saying }{saying{Code: err.ErrorCode}}
	if err.RawResponse == nil {
		return said.Error
	}
	if body, read := runtime.Payload(err.RawResponse); read != nil || json.Unmarshal(body, &said) != nil {
		return saying{Code: err.ErrorCode}
	}
	if len(said.Error.Details) > 0 && said.Error.Details[0].Code != "" {
		return said.Error.Details[0]
	}
	return said.Error
}

func (a *graph) answerFault(err *azcore.ResponseError) *promote.FleetError {
	said := says(err)
	text := fmt.Sprintf("Azure answers %d %s", err.StatusCode, said.Code)
	if said.Code == "" {
		text = strings.TrimSpace(fmt.Sprintf("Azure answers %d %s", err.StatusCode, http.StatusText(err.StatusCode)))
	}
	if said.Message != "" {
		text += ": " + strings.TrimSuffix(said.Message, ".")
	}
	fault := &promote.FleetError{
		Temporary: unwell(err.StatusCode),
		Message:   a.secrets.Line(text),
		Hint:      hintFor(err.StatusCode, said.Code),
		Err:       &answerError{err.StatusCode, said.Code},
	}
	if fault.Temporary && err.RawResponse != nil {
		fault.Wait = a.told(err.RawResponse.Header)
	}
	return fault
}

func hintFor(status int, code string) string {
	switch {
	case status == http.StatusUnauthorized:
		return hintSignIn
	case status == http.StatusForbidden, strings.Contains(code, "Subscription"):
		return hintRole
	case status == http.StatusNotFound, status >= 300 && status < 400:
		return fmt.Sprintf("is the cloud the right one? see %s and %s", envCloud, envEndpoint)
	}
	return ""
}

// answerError is what remains of an answer with an error: the SDK's own has the whole of it, many lines long.
type answerError struct {
	status int
	code   string
}

func (e *answerError) Error() string {
	return strings.TrimSpace(strconv.Itoa(e.status) + " " + e.code)
}

// payloadTooLarge tells whether a page was more than Resource Graph sends, so that it takes smaller ones.
func payloadTooLarge(err error) bool {
	var answer *answerError
	return errors.As(err, &answer) && answer.code == "ResponsePayloadTooLarge"
}

// expired tells whether a token was refused.
func expired(err error) bool {
	var answer *azcore.ResponseError
	return errors.As(err, &answer) && answer.StatusCode == http.StatusUnauthorized
}
