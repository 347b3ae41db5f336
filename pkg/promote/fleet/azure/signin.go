package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// credential makes tokens, and makes them known to what takes secrets out of messages.
type credential struct {
	azcore.TokenCredential
	wire    *wire
	secrets *credentials.Scrubber
}

// GetToken implements azcore.TokenCredential. Its error is an *signInError.
func (c *credential) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := c.TokenCredential.GetToken(ctx, o)
	if err != nil {
		return azcore.AccessToken{}, &signInError{err, c.wire.broken.Load()}
	}
	if token.Token == "" {
		return azcore.AccessToken{}, &signInError{errors.New("the token is empty"), false}
	}
	c.secrets.Add(token.Token)
	return token, nil
}

// signInError is why there is no token.
type signInError struct {
	err error
	// broken says that the last request had no answer, or none but that the server is not well.
	broken bool
}

func (e *signInError) Error() string { return e.err.Error() }

func (e *signInError) Unwrap() error { return e.err }

var (
	// stsError is an error of the authority. What follows it are ids for the support.
	stsError = regexp.MustCompile(`(AADSTS[0-9]+): ([^"\\\r\n]*)`)
	// triedCredential is a line of the SDK about one credential of a chain.
	triedCredential = regexp.MustCompile(`(?m)^\t([A-Z][A-Za-z]+Credential)\b`)
)

// signInFault is why there is no token. The SDK explains it in many lines, with an answer and links in them.
func (a *graph) signInFault(err *signInError) *promote.FleetError {
	fault := &promote.FleetError{Hint: hintSignIn}
	text := err.Error()
	var failed *azidentity.AuthenticationFailedError
	if errors.As(err, &failed) {
		fault.Temporary = err.broken && failed.RawResponse == nil || failed.RawResponse != nil && unwell(failed.RawResponse.StatusCode)
		if failed.RawResponse != nil {
			fault.Wait = a.told(failed.RawResponse.Header)
		}
	}
	if fault.Temporary {
		fault.Hint = ""
	}
	fault.Message = "cannot sign in to Azure: " + a.secrets.Line(signInReason(text, failed))
	return fault
}

func signInReason(text string, failed *azidentity.AuthenticationFailedError) string {
	if said := stsError.FindStringSubmatch(text); said != nil {
		why, _, _ := strings.Cut(said[2], " Trace ID:")
		return said[1] + ": " + strings.TrimSuffix(strings.TrimSpace(why), ".")
	}
	if failed != nil && failed.RawResponse != nil {
		return strings.TrimSpace(fmt.Sprintf("it answers %d %s", failed.RawResponse.StatusCode, http.StatusText(failed.RawResponse.StatusCode)))
	}
	if tried := triedCredential.FindAllStringSubmatch(text, -1); len(tried) > 0 && failed == nil {
		names := make([]string, len(tried))
		for i, one := range tried {
			names[i] = strings.TrimSuffix(one[1], "Credential")
		}
		return "nobody is signed in (tried " + strings.Join(names, ", ") + ")"
	}
	text, _, _ = strings.Cut(text, ". To troubleshoot")
	text = strings.TrimPrefix(text, "DefaultAzureCredential: failed to acquire a token.\nAttempted credentials:\n\t")
	return text
}
