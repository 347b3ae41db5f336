package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

const (
	azureSub    = "11111111-1111-1111-1111-111111111111"
	azureSub2   = "22222222-2222-2222-2222-222222222222"
	azureGitOps = "https://github.com/acme/gitops"
	azureWant   = "c4e327286379495f8b6edc2c9c208095b6cc53ab"
	azureOld    = "0ba6f0d30760d567de0bac86c8c4eec13ce1a590"
)

var azureWanted = promote.Deployment{Repo: azureGitOps, Branch: "dev", Path: ".", Commit: azureWant, Environment: "dev"}

// azureAsked is a request to Resource Graph.
type azureAsked struct {
	token, version string
	Query          string   `json:"query"`
	Subscriptions  []string `json:"subscriptions"`
	Options        struct {
		Partial bool   `json:"allowPartialScopes"`
		Format  string `json:"resultFormat"`
		Token   string `json:"$skipToken"`
		Top     int    `json:"$top"`
	} `json:"options"`
}

// azureAnswer is an answer of it.
type azureAnswer struct {
	status int // zero is 200
	header map[string]string
	body   string
}

// azureServer stands in for Resource Graph.
type azureServer struct {
	*httptest.Server
	mu    sync.Mutex
	asked []azureAsked
	slept []time.Duration
}

// newAzureServer answers as the script says, which is given the number of the request, from zero.
func newAzureServer(t *testing.T, script func(n int, asked azureAsked) azureAnswer) *azureServer {
	t.Helper()
	s := new(azureServer)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := azureAsked{token: r.Header.Get("Authorization"), version: r.URL.Query().Get("api-version")}
		body, err := io.ReadAll(r.Body)
		if assert.NoError(t, err) {
			assert.NoError(t, json.Unmarshal(body, &asked))
		}
		assert.Equal(t, http.MethodPost, r.Method)
		assert.Equal(t, "/providers/Microsoft.ResourceGraph/resources", r.URL.Path)
		s.mu.Lock()
		n := len(s.asked)
		s.asked = append(s.asked, asked)
		s.mu.Unlock()
		answer := script(n, asked)
		w.Header().Set("Content-Type", "application/json")
		for name, value := range answer.header {
			w.Header().Set(name, value)
		}
		if answer.status != 0 {
			w.WriteHeader(answer.status)
		}
		_, _ = io.WriteString(w, answer.body)
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// options are those of a fleet that sleeps in no time.
func (s *azureServer) options() Options {
	return Options{
		Transport: s.Client().Transport,
		UserAgent: "kalypso/test",
		Now:       func() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) },
		Sleep: func(ctx context.Context, d time.Duration) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.slept = append(s.slept, d)
			return ctx.Err()
		},
	}
}

func (s *azureServer) fleet(t *testing.T, argument string, credential azcore.TokenCredential) *azureGraph {
	t.Helper()
	if credential == nil {
		credential = new(azureTokens)
	}
	a, err := newAzureGraph(argument, s.options(), s.access(newAzureWire(s.Client().Transport), credential))
	require.NoError(t, err)
	return a
}

func (s *azureServer) access(wire *azureWire, credential azcore.TokenCredential) azureAccess {
	place := azurePlace{manager: cloud.ServiceConfiguration{Endpoint: s.URL, Audience: s.URL}}
	return azureAccess{place.configuration(), wire, credential}
}

// azureTokens makes the tokens secret-token-1, secret-token-2, and so on.
type azureTokens struct {
	mu   sync.Mutex
	made int
	err  error
}

func (c *azureTokens) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	return azcore.AccessToken{Token: "secret-token-" + strconv.Itoa(c.made), ExpiresOn: time.Now().Add(time.Hour)}, c.err
}

// azureFlux is the id of a Flux configuration named cfg.
func azureFlux(subscription, group, cluster string) string {
	return "/subscriptions/" + subscription + "/resourceGroups/" + group + "/providers/Microsoft.Kubernetes/connectedClusters/" + cluster +
		"/providers/Microsoft.KubernetesConfiguration/fluxConfigurations/cfg"
}

// azureCompliant is a row as Resource Graph returns it for the query, with changes: pairs of column and value.
func azureCompliant(t testing.TB, cluster string, changes ...any) azureRow {
	t.Helper()
	row := azureRow{}
	require.NoError(t, json.Unmarshal([]byte(`{
		"id": "`+azureFlux(azureSub, "edge", cluster)+`",
		"repository": "`+azureGitOps+`", "branch": "dev", "revision": "dev@sha1:`+azureWant+`",
		"compliance": "Compliant", "suspended": false, "problem": "",
		"kustomizations": {"all": {"name": "all", "path": "./large", "prune": true, "dependsOn": null, "timeoutInSeconds": 600}},
		"statuses": [
			{"appliedBy": null, "complianceState": "Compliant", "helmReleaseProperties": null, "kind": "GitRepository", "name": "cfg",
			 "namespace": "flux", "statusConditions": [{"type": "Ready", "status": "True", "reason": "Succeeded",
			 "lastTransitionTime": "2026-01-01T11:54:42+00:00", "message": "stored artifact for revision 'dev@sha1:`+azureWant+`'"}]},
			{"appliedBy": null, "complianceState": "Compliant", "helmReleaseProperties": null, "kind": "Kustomization", "name": "cfg-all",
			 "namespace": "flux", "statusConditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded",
			 "lastTransitionTime": "2026-01-01T11:54:44+00:00", "message": "Applied revision: dev@sha1:`+azureWant+`"}]},
			{"appliedBy": {"name": "cfg-all", "namespace": "flux"}, "complianceState": "Compliant", "kind": "Kustomization", "name": "shop",
			 "namespace": "shop", "statusConditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded",
			 "lastTransitionTime": "2026-01-01T11:54:44+00:00", "message": "Applied revision: main@sha1:`+azureOld+`"}]}
		]}`), &row))
	for i := 0; i < len(changes); i += 2 {
		row[changes[i].(string)] = changes[i+1]
	}
	return row
}

// azureData is an answer with rows, of total in all; next is the token of the next page, if there is one.
func azureData(total int, next string, rows ...azureRow) azureAnswer {
	body := map[string]any{"totalRecords": total, "count": len(rows), "data": rows, "facets": []any{}, "resultTruncated": "false"}
	if rows == nil {
		body["data"] = []any{}
	}
	if next != "" {
		body["$skipToken"] = next
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return azureAnswer{body: string(text), header: map[string]string{
		"X-Ms-User-Quota-Remaining": "14", "X-Ms-User-Quota-Resets-After": "00:00:05",
	}}
}

// azureRefusal is an error as Resource Manager writes it.
func azureRefusal(status int, code, message string) azureAnswer {
	return azureAnswer{status: status, body: fmt.Sprintf(`{"error":{"code":%q,"message":%q}}`, code, message)}
}

// with adds headers: pairs of name and value.
func (a azureAnswer) with(pairs ...string) azureAnswer {
	header := map[string]string{}
	for name, value := range a.header {
		header[name] = value
	}
	for i := 0; i < len(pairs); i += 2 {
		header[pairs[i]] = pairs[i+1]
	}
	a.header = header
	return a
}

// azureFault is err as a *promote.FleetError whose message is a line without a secret.
func azureFault(t *testing.T, err error) *promote.FleetError {
	t.Helper()
	var fault *promote.FleetError
	require.ErrorAs(t, err, &fault)
	for _, text := range []string{fault.Message, fault.Hint} {
		assert.NotContains(t, text, "secret")
		assert.NotContains(t, text, "\n")
		assert.Less(t, len(text), 400)
	}
	assert.NotEmpty(t, fault.Message)
	assert.False(t, strings.HasSuffix(fault.Message, "."), fault.Message)
	return fault
}
