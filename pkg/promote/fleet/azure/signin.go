package azure

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

// credential makes tokens, and keeps them out of messages.
type credential struct {
	azcore.TokenCredential
	secrets *credentials.Scrubber
}

// stsError is an error of the authority. What follows it are ids for the support.
var stsError = regexp.MustCompile(`(AADSTS[0-9]+: [^"\\\r\n]*?)\.?(?: Trace ID:|["\\\r\n]|$)`)

// GetToken implements azcore.TokenCredential. Its error is a *promote.FleetError: the SDK explains in many lines, with an
// answer and links in them.
func (c *credential) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := c.TokenCredential.GetToken(ctx, o)
	if err == nil {
		c.secrets.Add(token.Token)
		return token, nil
	}
	fault := &promote.FleetError{Hint: hintSignIn, Err: ctx.Err()}
	var failed *azidentity.AuthenticationFailedError
	reason, _, _ := strings.Cut(err.Error(), ". To troubleshoot")
	switch said := stsError.FindStringSubmatch(reason); {
	case said != nil:
		reason = said[1]
	case !errors.As(err, &failed): // no credential of the chain can be used
		reason = "nobody is signed in"
	case failed.RawResponse != nil:
		status := &api.StatusError{Status: failed.RawResponse.StatusCode}
		reason, fault.Temporary = "it answers "+status.Error(), status.Temporary()
	default: // there was no answer
		fault.Temporary = true
	}
	if fault.Temporary {
		fault.Hint = ""
	}
	fault.Message = "cannot sign in to Azure: " + c.secrets.Line(reason)
	return azcore.AccessToken{}, fault
}
