package azure

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
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

const tenant = "33333333-3333-3333-3333-333333333333"

// authority stands in for Microsoft Entra ID.
type authority struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func (a *authority) scopes() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.asked, " ")
}

// token is how it gives a token.
func token(token string) answer {
	return answer{body: fmt.Sprintf(`{"token_type":"Bearer","expires_in":3599,"ext_expires_in":3599,"access_token":%q}`, token)}
}

func newAuthority(t *testing.T, answer answer) *authority {
	t.Helper()
	a := new(authority)
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration") {
			at := a.URL + "/" + tenant
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
func (a *authority) credential(t *testing.T, sender *api.Sender) azcore.TokenCredential {
	t.Helper()
	credential, err := azidentity.NewClientSecretCredential(tenant, sub, "secret", &azidentity.ClientSecretCredentialOptions{
		ClientOptions: policy.ClientOptions{
			Cloud:     cloud.Configuration{ActiveDirectoryAuthorityHost: a.URL},
			Retry:     policy.RetryOptions{MaxRetries: -1},
			Transport: sender,
		},
		DisableInstanceDiscovery: true,
	})
	require.NoError(t, err)
	return credential
}

func TestC5SignIn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer    answer
		message   string
		temporary bool
	}{
		"wrong secret": {
			answer{status: 401, body: `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided. Ensure the ` +
				`secret being sent in the request is the client secret value. Trace ID: 4f1a Correlation ID: 5e2b Timestamp: 2026-01-01 12:00:00Z",` +
				`"error_codes":[7000215],"trace_id":"4f1a","error_uri":"https://login.microsoftonline.com/error?code=7000215"}`},
			"cannot sign in to Azure: AADSTS7000215: Invalid client ", false,
		},
		"unwell":    {answer{status: 503, body: "<html>busy</html>"}, "cannot sign in to Azure: it answers 503 Service Unavailable", true},
		"throttled": {answer{status: 429, body: "{}"}, "cannot sign in to Azure: it answers 429 Too Many Requests", true},
		"no token":  {answer{body: `{"token_type":"Bearer"}`}, "cannot sign in to Azure: ", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newStandIn(t, func(int, question) answer { return data(0, "") })
			fleet := withAuthority(t, server, newAuthority(t, test.answer))
			_, err := fleet.Query(t.Context(), wanted)
			fault := faultOf(t, err)
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
	server := newStandIn(t, func(int, question) answer { return data(0, "") })
	authority := newAuthority(t, token("secret"))
	fleet := withAuthority(t, server, authority)
	authority.Close()
	_, err := fleet.Query(t.Context(), wanted)
	fault := faultOf(t, err)
	assert.True(t, fault.temporary, "the network may come back")
	assert.Contains(t, fault.message, "cannot sign in to Azure")
}

type toldFault struct {
	message, hint string
	temporary     bool
}

// faultOf is an error of signing in, in a line. That a secret was wrong is none.
func faultOf(t *testing.T, err error) toldFault {
	t.Helper()
	var fault *promote.FleetError
	require.ErrorAs(t, err, &fault)
	assert.NotContains(t, fault.Message, "\n")
	assert.Less(t, len(fault.Message), 300)
	return toldFault{fault.Message, fault.Hint, fault.Temporary}
}

func withAuthority(t *testing.T, server *standIn, authority *authority) *graph {
	t.Helper()
	sender := server.sender()
	fleet, err := newGraph("", server.options(), server.manager(), authority.credential(t, sender), sender)
	require.NoError(t, err)
	return fleet
}

// nobody is a credential that there is nothing for.
type nobody string

func (n nobody) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, azidentity.NewCredentialUnavailableError(string(n))
}

func TestC5NobodyIsSignedIn(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, func(int, question) answer { return data(0, "") })
	chain, err := azidentity.NewChainedTokenCredential([]azcore.TokenCredential{
		nobody("EnvironmentCredential: missing environment variable AZURE_TENANT_ID"),
		nobody("ManagedIdentityCredential: no response\nfrom the IMDS endpoint http://169.254.169.254"),
		nobody("AzureCLICredential: Azure CLI not found on path"),
	}, nil)
	require.NoError(t, err)
	_, err = server.fleet(t, "", chain).Query(t.Context(), wanted)
	fault := faultOf(t, err)
	assert.Equal(t, toldFault{
		message: "cannot sign in to Azure: not signed in",
		hint:    "run az login, or in a workflow azure/login, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
	}, fault)
}

// A token may expire, or be withdrawn, between two pages.
func TestC5TokenExpires(t *testing.T) {
	t.Parallel()
	pages := many(20)
	server := newStandIn(t, func(n int, asked question) answer {
		if n > 0 && asked.token == "Bearer secret-token-1" {
			return refusal(401, "ExpiredAuthenticationToken", "The access token expiry UTC time '1/1/2026 12:00:00 PM' is earlier than current UTC time")
		}
		return pages(n, asked)
	})
	fleet := server.fleet(t, "", nil)
	fleet.rows.Store(10)
	statuses, err := fleet.Query(t.Context(), wanted)
	require.NoError(t, err)
	assert.Len(t, statuses, 20)
	assert.Len(t, server.asked, 3)
	assert.Empty(t, server.slept)
}

func TestC5TokenIsNeverTaken(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, func(_ int, asked question) answer {
		return refusal(401, "InvalidAuthenticationToken", "The access token is invalid: "+asked.token)
	})
	_, err := server.fleet(t, "", nil).Query(t.Context(), wanted)
	fault := faultIn(t, err)
	assert.False(t, fault.Temporary)
	assert.Equal(t, "Azure answers 401 InvalidAuthenticationToken: The access token is invalid: Bearer ***", fault.Message)
	assert.Contains(t, fault.Hint, "az login")
	assert.Len(t, server.asked, 2)
}
