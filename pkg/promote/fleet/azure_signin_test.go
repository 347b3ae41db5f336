package fleet

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

const azureTenant = "33333333-3333-3333-3333-333333333333"

// azureAuthority stands in for Microsoft Entra ID.
type azureAuthority struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func (a *azureAuthority) scopes() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.asked, " ")
}

// azureToken is how it gives a token.
func azureToken(token string) azureAnswer {
	return azureAnswer{body: fmt.Sprintf(`{"token_type":"Bearer","expires_in":3599,"ext_expires_in":3599,"access_token":%q}`, token)}
}

func newAzureAuthority(t *testing.T, answer azureAnswer) *azureAuthority {
	t.Helper()
	a := new(azureAuthority)
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration") {
			at := a.URL + "/" + azureTenant
			fmt.Fprintf(w, `{"token_endpoint":"%s/oauth2/v2.0/token","issuer":"%s/v2.0","authorization_endpoint":"%s/oauth2/v2.0/authorize"}`, at, at, at)
			return
		}
		a.mu.Lock()
		a.asked = append(a.asked, r.FormValue("scope"))
		a.mu.Unlock()
		if answer.status != 0 {
			w.WriteHeader(answer.status)
		}
		_, _ = io.WriteString(w, answer.body)
	}))
	a.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	a.StartTLS()
	t.Cleanup(a.Close)
	return a
}

// credential signs in there with a secret, with the SDK as it is.
func (a *azureAuthority) credential(t *testing.T, wire *azureWire) azcore.TokenCredential {
	t.Helper()
	credential, err := azidentity.NewClientSecretCredential(azureTenant, azureSub, "secret", &azidentity.ClientSecretCredentialOptions{
		ClientOptions: policy.ClientOptions{
			Cloud:     cloud.Configuration{ActiveDirectoryAuthorityHost: a.URL},
			Retry:     policy.RetryOptions{MaxRetries: -1},
			Transport: wire,
		},
		DisableInstanceDiscovery: true,
	})
	require.NoError(t, err)
	return credential
}

func TestC5SignIn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer    azureAnswer
		message   string
		temporary bool
	}{
		"wrong secret": {
			azureAnswer{status: 401, body: `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided. Ensure the ` +
				`secret being sent in the request is the client secret value. Trace ID: 4f1a Correlation ID: 5e2b Timestamp: 2026-01-01 12:00:00Z",` +
				`"error_codes":[7000215],"trace_id":"4f1a","error_uri":"https://login.microsoftonline.com/error?code=7000215"}`},
			"cannot sign in to Azure: AADSTS7000215: Invalid client ", false,
		},
		"unwell":    {azureAnswer{status: 503, body: "<html>busy</html>"}, "cannot sign in to Azure: it answers 503 Service Unavailable", true},
		"throttled": {azureAnswer{status: 429, body: "{}"}, "cannot sign in to Azure: it answers 429 Too Many Requests", true},
		"no token":  {azureAnswer{body: `{"token_type":"Bearer"}`}, "cannot sign in to Azure: ", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newAzureServer(t, func(int, azureAsked) azureAnswer { return azureData(0, "") })
			fleet := azureWithAuthority(t, server, newAzureAuthority(t, test.answer))
			_, err := fleet.Look(t.Context(), azureWanted)
			fault := azureFaultOf(t, err)
			assert.Contains(t, fault.message, test.message)
			assert.NotContains(t, fault.message, "Trace ID")
			assert.NotContains(t, fault.message, "https://")
			assert.Equal(t, test.temporary, fault.temporary)
			assert.Empty(t, server.asked, "without a token nothing is asked")
		})
	}
}

func TestC5AuthorityDown(t *testing.T) {
	t.Parallel()
	server := newAzureServer(t, func(int, azureAsked) azureAnswer { return azureData(0, "") })
	authority := newAzureAuthority(t, azureToken("secret"))
	fleet := azureWithAuthority(t, server, authority)
	authority.Close()
	_, err := fleet.Look(t.Context(), azureWanted)
	fault := azureFaultOf(t, err)
	assert.True(t, fault.temporary, "the network may come back")
	assert.Contains(t, fault.message, "cannot sign in to Azure")
}

type azureToldFault struct {
	message, hint string
	temporary     bool
}

// azureFaultOf is an error of signing in, in a line. That a secret was wrong is none.
func azureFaultOf(t *testing.T, err error) azureToldFault {
	t.Helper()
	var fault *promote.FleetError
	require.ErrorAs(t, err, &fault)
	assert.NotContains(t, fault.Message, "\n")
	assert.Less(t, len(fault.Message), 300)
	return azureToldFault{fault.Message, fault.Hint, fault.Temporary}
}

func azureWithAuthority(t *testing.T, server *azureServer, authority *azureAuthority) *azureGraph {
	t.Helper()
	wire := newAzureWire(server.Client().Transport)
	fleet, err := newAzureGraph("", server.options(), server.access(wire, authority.credential(t, wire)))
	require.NoError(t, err)
	return fleet
}

// azureNobody is a credential that there is nothing for.
type azureNobody string

func (n azureNobody) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, azidentity.NewCredentialUnavailableError(string(n))
}

func TestC5NobodyIsSignedIn(t *testing.T) {
	t.Parallel()
	server := newAzureServer(t, func(int, azureAsked) azureAnswer { return azureData(0, "") })
	chain, err := azidentity.NewChainedTokenCredential([]azcore.TokenCredential{
		azureNobody("EnvironmentCredential: missing environment variable AZURE_TENANT_ID"),
		azureNobody("ManagedIdentityCredential: no response\nfrom the IMDS endpoint http://169.254.169.254"),
		azureNobody("AzureCLICredential: Azure CLI not found on path"),
	}, nil)
	require.NoError(t, err)
	_, err = server.fleet(t, "", chain).Look(t.Context(), azureWanted)
	fault := azureFaultOf(t, err)
	assert.Equal(t, azureToldFault{
		message: "cannot sign in to Azure: nobody is signed in (tried Environment, ManagedIdentity, AzureCLI)",
		hint:    "run az login, or in a workflow azure/login, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
	}, fault)
}

// A token may expire, or be withdrawn, between two pages.
func TestC5TokenExpires(t *testing.T) {
	t.Parallel()
	pages := azureMany(20)
	server := newAzureServer(t, func(n int, asked azureAsked) azureAnswer {
		if n > 0 && asked.token == "Bearer secret-token-1" {
			return azureRefusal(401, "ExpiredAuthenticationToken", "The access token expiry UTC time '1/1/2026 12:00:00 PM' is earlier than current UTC time")
		}
		return pages(n, asked)
	})
	fleet := server.fleet(t, "", nil)
	fleet.rows.Store(10)
	sightings, err := fleet.Look(t.Context(), azureWanted)
	require.NoError(t, err)
	assert.Len(t, sightings, 20)
	assert.Len(t, server.asked, 3)
	assert.Empty(t, server.slept)
}

func TestC5TokenIsNeverTaken(t *testing.T) {
	t.Parallel()
	server := newAzureServer(t, func(_ int, asked azureAsked) azureAnswer {
		return azureRefusal(401, "InvalidAuthenticationToken", "The access token is invalid: "+asked.token)
	})
	_, err := server.fleet(t, "", nil).Look(t.Context(), azureWanted)
	fault := azureFault(t, err)
	assert.False(t, fault.Temporary)
	assert.Equal(t, "Azure answers 401 InvalidAuthenticationToken: The access token is invalid: Bearer ***", fault.Message)
	assert.Contains(t, fault.Hint, "az login")
	assert.Len(t, server.asked, 2)
}
