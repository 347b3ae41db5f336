package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/promotion"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/flux/fluxtest"
)

// The tests here run the program itself, with fleets that are asked over TLS as they are everywhere.

// trusting is the variable that lets the program trust a server of a test.
func trusting(t *testing.T, server *httptest.Server) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return map[string]string{"SSL_CERT_FILE": file}
}

// checkWith runs the program with a fleet.
func (c *chain) checkWith(fleet string, variables map[string]string, more ...string) outcome {
	c.t.Helper()
	c.variables = variables
	c.check("dev", "--interval", "10ms", "--failure-grace", "0s")
	c.flags = []string{"--fleet", fleet}
	cmd, left := c.process(usual, more...)
	got := finish(c.t, cmd)
	c.heard(got)
	assert.Empty(c.t, left())
	return got
}

// fluxCluster is a cluster whose Flux has applied a commit of dev.
func fluxCluster(commit string) *fluxtest.Cluster {
	return fluxtest.NewFluxCluster(
		fluxtest.GitRepository(acme("gitops"), "dev", commit), fluxtest.Kustomization("./edge", "dev@sha1:"+commit))
}

// kubeconfig writes a kubeconfig that leads to clusters, by the names of their contexts.
func kubeconfig(t *testing.T, clusters map[string]*fluxtest.Cluster) map[string]string {
	t.Helper()
	var contexts []fluxtest.Context
	for name, cluster := range clusters {
		server := httptest.NewTLSServer(cluster)
		t.Cleanup(server.Close)
		contexts = append(contexts, fluxtest.ContextOf(name, server))
	}
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte(fluxtest.Kubeconfig(contexts...)), 0o600))
	return map[string]string{"KUBECONFIG": file}
}

// TestCheckFlux: clusters with Flux, by the contexts of a kubeconfig.
func TestCheckFlux(t *testing.T) {
	t.Parallel()
	c := aDueChain(t)
	commit := c.gitops("dev")
	one, two := fluxCluster(commit), fluxCluster(commit)
	failed := fluxtest.Kustomization("./edge", "dev@sha1:"+commit).With("status.conditions", []any{
		fluxtest.Condition("Ready", "False", "HealthCheckFailed", "timeout waiting for: [Deployment/web/web status: 'InProgress']"),
	})
	two.Put(failed)
	config := kubeconfig(t, map[string]*fluxtest.Cluster{"edge-1": one, "edge-2": two})
	got := c.checkWith("flux:edge-1,edge-2", config)
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "1 of 2 clusters; edge-2: timeout waiting for: [Deployment/web/web status: 'InProgress'] [not-deployed]")
	assert.Regexp(t, `(?m)^edge-2 +edge +failed +[0-9a-f]{12}  timeout waiting`, got.stdout)

	two.Put(fluxtest.Kustomization("./edge", "dev@sha1:"+commit))
	got = c.checkWith("flux:edge-1,edge-2", config)
	assert.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.Equal(t, "success Deployed: 2 of 2 clusters", c.state().Statuses["version 2 dev environment"])
	assert.Equal(t, "version 2", c.state().Promoted["stage"])

	c = aDueChain(t)
	got = c.checkWith("flux:edge-3", config)
	assert.NotEqual(t, cli.ExitDone, got.code, got.stderr)
	assert.Contains(t, got.stderr, "edge-3")
	assert.Zero(t, c.promotions("stage"))
	c.assertNothingLost("flux")
}

// argoCD answers as an Argo CD whose only Application has synced a commit of dev.
func argoCD(commit, health string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") != "Bearer argo-token" {
			http.Error(w, `{"error":"no session information","code":16,"message":"no session information"}`, http.StatusUnauthorized)
			return
		}
		source := fmt.Sprintf(`{"repoURL":%q,"targetRevision":"dev","path":"edge"}`, acme("gitops")+".git")
		fmt.Fprintf(w, `{"metadata":{"resourceVersion":"4711"},"items":[{"metadata":{"name":"edge","namespace":"argocd"},
			"spec":{"project":"fleet","destination":{"name":"edge-1","namespace":"apps"},"source":%[1]s},
			"status":{"sync":{"status":"Synced","revision":%[2]q,"comparedTo":{"source":%[1]s,"destination":{"name":"edge-1","namespace":"apps"}}},
				"reconciledAt":"2026-03-01T11:02:00Z","health":{"status":%[3]q},"operationState":{"phase":"Succeeded","message":"successfully synced (all tasks run)",
				"operation":{"sync":{"revision":%[2]q}},"startedAt":"2026-03-01T11:00:00Z","finishedAt":"2026-03-01T11:01:00Z",
				"syncResult":{"revision":%[2]q,"source":%[1]s}}}}]}`, source, commit, health)
	})
}

// TestCheckArgoCD: Applications of an Argo CD.
func TestCheckArgoCD(t *testing.T) {
	t.Parallel()
	c := aDueChain(t)
	server := httptest.NewTLSServer(argoCD(c.gitops("dev"), "Healthy"))
	t.Cleanup(server.Close)
	variables := trusting(t, server)
	variables["ARGOCD_AUTH_TOKEN"] = "argo-token-of-yesterday"
	got := c.checkWith("argocd:"+server.URL, variables)
	assert.Equal(t, cli.ExitRemote, got.code, got.stderr)
	assert.Contains(t, got.stderr, "[fleet-unreachable]")
	assert.Equal(t, "failure Failed to deploy: the fleet cannot be queried", c.state().Statuses["version 2 dev environment"])

	variables["ARGOCD_AUTH_TOKEN"] = "argo-token"
	got = c.checkWith("argocd:"+server.URL, variables)
	assert.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.Contains(t, got.stdout, "edge-1")
	assert.Equal(t, "success Deployed: 1 of 1 cluster", c.state().Statuses["version 2 dev environment"])
	assert.NotContains(t, got.stdout+got.stderr, "argo-token")
}

const azureTenantID, azureSubscriptionID = "33333333-3333-3333-3333-333333333333", "11111111-1111-1111-1111-111111111111"

// azure stands in for the authority and the Resource Graph of an Azure where these clusters have a commit of dev.
type azure struct {
	*httptest.Server
	commit, state string
	clusters      []string

	mu    sync.Mutex
	asked []string
}

func newAzure(t *testing.T, commit string, clusters ...string) *azure {
	t.Helper()
	a := &azure{commit: commit, state: "Compliant", clusters: clusters}
	a.Server = httptest.NewTLSServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *azure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	at := a.URL + "/" + azureTenantID
	switch {
	case strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration"):
		fmt.Fprintf(w, `{"token_endpoint":"%s/oauth2/v2.0/token","issuer":"%s/v2.0","authorization_endpoint":"%s/oauth2/v2.0/authorize"}`, at, at, at)
	case strings.HasSuffix(r.URL.Path, "/oauth2/v2.0/token"):
		_, _ = io.WriteString(w, `{"token_type":"Bearer","expires_in":3599,"ext_expires_in":3599,"access_token":"azure-token"}`)
	case r.Header.Get("Authorization") != "Bearer azure-token":
		w.WriteHeader(http.StatusUnauthorized)
	default:
		var asked struct{ Query string }
		_ = json.NewDecoder(r.Body).Decode(&asked)
		a.asked = append(a.asked, asked.Query)
		a.answer(w)
	}
}

// become lets the clusters be in another state from now on.
func (a *azure) become(state string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = state
}

// answer is a page with all clusters.
func (a *azure) answer(w io.Writer) {
	rows := []any{}
	for _, cluster := range a.clusters {
		rows = append(rows, map[string]any{
			"id": "/subscriptions/" + azureSubscriptionID + "/resourceGroups/edge/providers/Microsoft.Kubernetes/connectedClusters/" + cluster +
				"/providers/Microsoft.KubernetesConfiguration/fluxConfigurations/cfg",
			"repository": acme("gitops"), "branch": "dev", "revision": "dev@sha1:" + a.commit, "compliance": a.state, "suspended": false, "problem": "",
			"kustomizations": map[string]any{"all": map[string]any{"name": "all", "path": "./edge", "prune": true, "timeoutInSeconds": 600}},
			"statuses": []any{map[string]any{
				"complianceState": a.state, "kind": "Kustomization", "name": "cfg-all", "namespace": "flux", "statusConditions": []any{map[string]any{
					"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "lastTransitionTime": "2026-01-01T11:54:44+00:00",
					"message": "Applied revision: dev@sha1:" + a.commit,
				}},
			}},
		})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"totalRecords": len(rows), "count": len(rows), "data": rows, "facets": []any{}, "resultTruncated": "false",
	})
}

// variables let the program sign in there.
func (a *azure) variables(t *testing.T) map[string]string {
	t.Helper()
	variables := trusting(t, a.Server)
	for name, value := range map[string]string{
		"AZURE_AUTHORITY_HOST": a.URL, "AZURE_RESOURCE_MANAGER_ENDPOINT": a.URL,
		"AZURE_TENANT_ID": azureTenantID, "AZURE_CLIENT_ID": azureSubscriptionID, "AZURE_CLIENT_SECRET": "azure-client-secret",
	} {
		variables[name] = value
	}
	return variables
}

// TestCheckAzure: Flux configurations that Azure knows of, asked through Azure's own SDK.
func TestCheckAzure(t *testing.T) {
	t.Parallel()
	c := aDueChain(t)
	a := newAzure(t, c.gitops("dev"), "edge-1", "edge-2")
	a.become("Pending")
	variables := a.variables(t)
	got := c.checkWith("azure-resource-graph", variables, "--once")
	assert.Equal(t, cli.ExitTimeUp, got.code, got.stderr)
	assert.Equal(t, "pending Deploying", c.state().Statuses["version 2 dev environment"])
	a.become("Compliant")
	got = c.checkWith("azure-resource-graph", variables, "--once")
	assert.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.Equal(t, "success Deployed: 2 of 2 clusters", c.state().Statuses["version 2 dev environment"])
	assert.Equal(t, "version 2", c.state().Promoted["stage"])
	a.mu.Lock()
	defer a.mu.Unlock()
	require.NotEmpty(t, a.asked)
	assert.Contains(t, a.asked[0], "fluxconfigurations")
	for _, secret := range []string{"azure-token", "azure-client-secret"} {
		assert.NotContains(t, got.stdout+got.stderr, secret)
	}
}

// TestCheckTwoKindsOfFleet: the clusters of two fleets of different kinds count together, and say which is whose.
func TestCheckTwoKindsOfFleet(t *testing.T) {
	t.Parallel()
	c := aDueChain(t)
	commit := c.gitops("dev")
	a := newAzure(t, commit, "edge-1")
	one := fluxCluster(c.git("gitops", "rev-parse", "dev~1"))
	variables := a.variables(t)
	for name, value := range kubeconfig(t, map[string]*fluxtest.Cluster{"edge-1": one}) {
		variables[name] = value
	}
	got := c.checkWith("flux:edge-1", variables, "--fleet", "azure-resource-graph", "--timeout", "100ms", "-o", "json")
	assert.Equal(t, cli.ExitTimeUp, got.code, got.stderr)
	var result struct{ Check promotion.CheckResult }
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &result))
	require.Len(t, result.Check.Fleet.Clusters, 2)
	assert.Equal(t, 1, result.Check.Fleet.Counts.Deployed)
	assert.Equal(t, 1, result.Check.Fleet.Counts.Behind)

	one.Put(fluxtest.GitRepository(acme("gitops"), "dev", commit))
	one.Put(fluxtest.Kustomization("./edge", "dev@sha1:"+commit))
	got = c.checkWith("flux:edge-1", variables, "--fleet", "azure-resource-graph")
	assert.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.Equal(t, "success Deployed: 2 of 2 clusters", c.state().Statuses["version 2 dev environment"])
	assert.Contains(t, got.stdout, "azure-resource-graph")
	assert.Contains(t, got.stdout, "flux:edge-1")
}
