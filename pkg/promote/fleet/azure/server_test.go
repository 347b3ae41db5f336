package azure

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
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

const (
	sub        = "11111111-1111-1111-1111-111111111111"
	sub2       = "22222222-2222-2222-2222-222222222222"
	gitOps     = "https://github.com/acme/gitops"
	wantCommit = "c4e327286379495f8b6edc2c9c208095b6cc53ab"
	oldCommit  = "0ba6f0d30760d567de0bac86c8c4eec13ce1a590"
)

var wanted = promote.Deployment{Repo: gitOps, Branch: "dev", Path: ".", Commit: wantCommit, Environment: "dev"}

// question is a request to Resource Graph.
type question struct {
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

// answer is an answer of it.
type answer struct {
	status int // zero is 200
	header map[string]string
	body   string
}

// standIn stands in for Resource Graph.
type standIn struct {
	*httptest.Server
	mu    sync.Mutex
	asked []question
	slept []time.Duration
}

// newStandIn answers as the script says, which is given the number of the request, from zero.
func newStandIn(t *testing.T, script func(n int, asked question) answer) *standIn {
	t.Helper()
	s := new(standIn)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := question{token: r.Header.Get("Authorization"), version: r.URL.Query().Get("api-version")}
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
func (s *standIn) options() api.Options {
	return api.Options{
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

func (s *standIn) fleet(t *testing.T, argument string, credential azcore.TokenCredential) *graph {
	t.Helper()
	if credential == nil {
		credential = new(tokens)
	}
	a, err := newGraph(argument, s.options(), s.manager(), credential, s.sender())
	require.NoError(t, err)
	return a
}

func (s *standIn) manager() cloud.ServiceConfiguration {
	return cloud.ServiceConfiguration{Endpoint: s.URL, Audience: s.URL}
}

func (s *standIn) sender() *api.Sender { return api.NewSender(s.Client().Transport, maxAnswer) }

// tokens makes the tokens secret-token-1, secret-token-2, and so on.
type tokens struct {
	mu   sync.Mutex
	made int
	err  error
}

func (c *tokens) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	return azcore.AccessToken{Token: "secret-token-" + strconv.Itoa(c.made), ExpiresOn: time.Now().Add(time.Hour)}, c.err
}

// fluxID is the id of a Flux configuration named cfg.
func fluxID(subscription, group, cluster string) string {
	return "/subscriptions/" + subscription + "/resourceGroups/" + group + "/providers/Microsoft.Kubernetes/connectedClusters/" + cluster +
		"/providers/Microsoft.KubernetesConfiguration/fluxConfigurations/cfg"
}

// record is a row as JSON has it.
type record = map[string]any

// rowOf is a record as it is read.
func rowOf(t testing.TB, record record) *row {
	t.Helper()
	text, err := json.Marshal(record)
	require.NoError(t, err)
	r := new(row)
	require.NoError(t, json.Unmarshal(text, r))
	return r
}

// compliant is a row as Resource Graph returns it for the query, with changes: pairs of column and value.
func compliant(t testing.TB, cluster string, changes ...any) record {
	t.Helper()
	row := record{}
	require.NoError(t, json.Unmarshal([]byte(`{
		"id": "`+fluxID(sub, "edge", cluster)+`",
		"repository": "`+gitOps+`", "branch": "dev", "revision": "dev@sha1:`+wantCommit+`",
		"compliance": "Compliant", "suspended": false, "problem": "",
		"kustomizations": {"all": {"name": "all", "path": "./large", "prune": true, "dependsOn": null, "timeoutInSeconds": 600}},
		"statuses": [
			{"appliedBy": null, "complianceState": "Compliant", "helmReleaseProperties": null, "kind": "GitRepository", "name": "cfg",
			 "namespace": "flux", "statusConditions": [{"type": "Ready", "status": "True", "reason": "Succeeded",
			 "lastTransitionTime": "2026-01-01T11:54:42+00:00", "message": "stored artifact for revision 'dev@sha1:`+wantCommit+`'"}]},
			{"appliedBy": null, "complianceState": "Compliant", "helmReleaseProperties": null, "kind": "Kustomization", "name": "cfg-all",
			 "namespace": "flux", "statusConditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded",
			 "lastTransitionTime": "2026-01-01T11:54:44+00:00", "message": "Applied revision: dev@sha1:`+wantCommit+`"}]},
			{"appliedBy": {"name": "cfg-all", "namespace": "flux"}, "complianceState": "Compliant", "kind": "Kustomization", "name": "shop",
			 "namespace": "shop", "statusConditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded",
			 "lastTransitionTime": "2026-01-01T11:54:44+00:00", "message": "Applied revision: main@sha1:`+oldCommit+`"}]}
		]}`), &row))
	for i := 0; i < len(changes); i += 2 {
		row[changes[i].(string)] = changes[i+1]
	}
	return row
}

// data is an answer with rows, of total in all; next is the token of the next page, if there is one.
func data(total int, next string, rows ...record) answer {
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
	return answer{body: string(text), header: map[string]string{
		"X-Ms-User-Quota-Remaining": "14", "X-Ms-User-Quota-Resets-After": "00:00:05",
	}}
}

// refusal is an error as Resource Manager writes it.
func refusal(status int, code, message string) answer {
	return answer{status: status, body: fmt.Sprintf(`{"error":{"code":%q,"message":%q}}`, code, message)}
}

// with adds headers: pairs of name and value.
func (a answer) with(pairs ...string) answer {
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

// faultIn is err as a *promote.FleetError whose message is a line without a secret.
func faultIn(t *testing.T, err error) *promote.FleetError {
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
