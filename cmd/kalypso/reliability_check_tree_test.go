package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/flux/fluxtest"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// The tests here have the program judge the reconcilers of the published tree, with what real clusters have said of them.

// treeWith is a tree with one target in the directory of a cluster type.
func treeWith(clusterType, reconciler string) gitopstest.Files {
	return gitopstest.Files{
		clusterType + "/README.md": render.Readme, clusterType + "/shop/reconciler.yaml": reconciler,
		clusterType + "/shop/namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n",
	}
}

// shopOnFlux is the reconciler of the recorded clusters.
const shopOnFlux = `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: shop-functional-test, namespace: flux-system}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop-functional-test, namespace: flux-system}
`

// recordedCluster is a recorded cluster, with a commit of dev.
func recordedCluster(name, commit string) []fluxtest.Object {
	return fluxtest.Recorded(name, "https://github.com/acme/gitops", acme("gitops"), fluxtest.RecordedCommit, commit)
}

func put(cluster *fluxtest.Cluster, objects []fluxtest.Object) {
	for _, o := range objects {
		cluster.Put(o)
	}
}

// aPublishedChain is a due chain whose GitOps branch dev has a target on Flux for the cluster type cloud.
func aPublishedChain(t *testing.T) *chain {
	t.Helper()
	c := aDueChain(t)
	c.commit("gitops", "dev", treeWith("cloud", shopOnFlux))
	return c
}

// TestC1BrokenApplication: an application that its cluster refuses is not deployed, although what pulls the tree is ready and does
// not wait. Once it is fixed, the commit is promoted.
func TestC1BrokenApplication(t *testing.T) {
	t.Parallel()
	c := aPublishedChain(t)
	commit := c.gitops("dev")
	cluster := fluxtest.NewFluxCluster(recordedCluster("app-invalid-nowait", commit)...)
	config := kubeconfig(t, map[string]*fluxtest.Cluster{"cloud-1": cluster})
	got := c.checkWith("flux:cloud-1", config)
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "0 of 1 cluster; cloud-1: Kustomization flux-system/shop-functional-test: "+
		`Deploymint/dev-cloud-shop-functional-test/shop dry-run failed: no matches for kind "Deploymint" in version "apps/v1" [not-deployed]`)
	assert.Contains(t, got.stderr, "warning: cloud-1: Kustomization flux-system/platform does not wait for what it applies (and 1 more) [health-unseen]\n    hint: add `wait: true`")
	assert.Zero(t, c.promotions("stage"))

	for name, change := range map[string]func(){
		"not there":    func() { cluster.Delete(recordedCluster("deployed", commit)[3]) },
		"stale":        func() { cluster.Put(recordedCluster("deployed", commit)[3].With("metadata.generation", 2)) },
		"source fails": func() { cluster.Put(recordedCluster("deployed", commit)[1].With("status.observedGeneration", 0)) },
	} {
		put(cluster, recordedCluster("deployed", commit))
		change()
		got = c.checkWith("flux:cloud-1", config, "--once")
		assert.Equal(t, cli.ExitTimeUp, got.code, "%s: %s", name, got.stderr)
		assert.Zero(t, c.promotions("stage"), name)
	}
	put(cluster, recordedCluster("deployed", commit))
	got = c.checkWith("flux:cloud-1", config)
	assert.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.Equal(t, "version 2", c.state().Promoted["stage"])
}

// TestC1NewerTree: a cluster with a newer commit of the branch, which has taken the target out, has this one too.
func TestC1NewerTree(t *testing.T) {
	t.Parallel()
	c := aPublishedChain(t)
	checked := c.gitops("dev")
	c.commit("gitops", "dev", gitopstest.Files{"docs/more.md": "More.\n"})
	objects := recordedCluster("deployed", c.gitops("dev"))
	cluster := fluxtest.NewFluxCluster(objects[0], objects[2])
	got := c.checkWith("flux:cloud-1", kubeconfig(t, map[string]*fluxtest.Cluster{"cloud-1": cluster}), "--commit", checked, "--once")
	assert.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.Equal(t, "version 2", c.state().Promoted["stage"])
}

// TestC1BrokenApplicationOnArgoCD: the same where an Argo CD has no health check for Applications.
func TestC1BrokenApplicationOnArgoCD(t *testing.T) {
	t.Parallel()
	c := aDueChain(t)
	c.commit("gitops", "dev", treeWith("store", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop-uat, namespace: argocd}\n"))
	state := "app-invalid"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		items, err := os.ReadFile("../../pkg/promote/fleet/argocd/testdata/recorded-" + state + ".json")
		assert.NoError(t, err)
		text := strings.NewReplacer("https://github.com/acme/gitops", acme("gitops"), strings.Repeat("a", 40), c.gitops("dev")).Replace(string(items))
		text = strings.ReplaceAll(text, `"targetRevision": "stage"`, `"targetRevision": "dev"`)
		_ = json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]any{}, "items": json.RawMessage(text)})
	}))
	t.Cleanup(server.Close)
	variables := trusting(t, server)
	variables["ARGOCD_AUTH_TOKEN"] = "argo-token"
	got := c.checkWith("argocd:"+server.URL, variables)
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, `in-cluster: Application argocd/shop-uat: the sync fails and is retried: Deploymint shop: Deploymint.apps "" not found [not-deployed]`)
	assert.Contains(t, got.stderr, "hint: add resource.customizations.health.argoproj.io_Application to the ConfigMap argocd-cm")
	assert.Zero(t, c.promotions("stage"))

	state = "deployed"
	got = c.checkWith("argocd:"+server.URL, variables)
	assert.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.Equal(t, "version 2", c.state().Promoted["stage"])
}

// TestC3FluxRetries: Flux says of each retry that it is in progress. A failure that is retried with the same commit is one failure.
func TestC3FluxRetries(t *testing.T) {
	t.Parallel()
	c := aPublishedChain(t)
	failed := recordedCluster("app-invalid-wait", c.gitops("dev"))[2]
	retried := failed.With("status.conditions", []any{
		map[string]any{"type": "Ready", "status": "Unknown", "reason": "Progressing", "message": "Reconciliation in progress", "observedGeneration": 2},
	})
	cluster := fluxtest.NewFluxCluster(recordedCluster("app-invalid-wait", c.gitops("dev"))...)
	var alternate []fluxtest.Fault // a look is two requests
	for range 500 {
		for _, o := range []fluxtest.Object{failed, retried} {
			alternate = append(alternate, func(http.ResponseWriter, *http.Request) bool { cluster.Put(o); return false },
				func(http.ResponseWriter, *http.Request) bool { return false })
		}
	}
	cluster.Fail(alternate...)
	got := c.checkWith("flux:cloud-1", kubeconfig(t, map[string]*fluxtest.Cluster{"cloud-1": cluster}), "--failure-grace", "200ms", "--timeout", "5s")
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "[not-deployed]")
	assert.Zero(t, c.promotions("stage"))
}

// TestC3AnyFleetRetries: the same for what any fleet says.
func TestC3AnyFleetRetries(t *testing.T) {
	t.Parallel()
	c := aDueChain(t)
	c.asks(flips(100, sees("edge-1=failed:no space"), sees("edge-1=pending:trying again"))...)
	got := c.run()
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "0 of 1 cluster; edge-1: no space [not-deployed]")
	assert.Equal(t, 35*time.Second, c.waited(), "the first look that is 30 seconds after the failure")
}

// TestC2ReconcilesAgain: a healthy cluster that just reconciles again is deployed, in one look.
func TestC2ReconcilesAgain(t *testing.T) {
	t.Parallel()
	c := aPublishedChain(t)
	cluster := fluxtest.NewFluxCluster()
	for _, o := range recordedCluster("deployed", c.gitops("dev")) {
		cluster.Put(o.With("status.conditions", []any{
			map[string]any{"type": "Reconciling", "status": "True", "reason": "Progressing", "message": "Fetching manifests", "observedGeneration": 1},
			map[string]any{"type": "Ready", "status": "Unknown", "reason": "Progressing", "message": "Reconciliation in progress", "observedGeneration": 1},
		}))
	}
	got := c.checkWith("flux:cloud-1", kubeconfig(t, map[string]*fluxtest.Cluster{"cloud-1": cluster}), "--once")
	assert.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.Equal(t, "success Deployed: 1 of 1 cluster", c.state().Statuses["version 2 dev environment"])
}
