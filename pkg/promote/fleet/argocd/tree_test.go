package argocd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// recorded are Applications of a real Argo CD 3.2, shortened: platform, which pulls the directory store, and shop-uat, which is in it.
func recorded(t *testing.T, name string) []string {
	t.Helper()
	var items []json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(file(t, "recorded-"+name+".json")), &items))
	var all []string
	for _, item := range items {
		all = append(all, string(item))
	}
	return all
}

// recordedTree is the tree that platform pulls, with these Applications too.
func recordedTree(names ...string) promote.Deployment {
	d := deployment()
	d.Reconcilers = []gitops.Reconciler{{Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: "elsewhere", Path: "other/x/reconciler.yaml"}}
	for _, name := range append([]string{"shop-uat"}, names...) {
		d.Reconcilers = append(d.Reconcilers, gitops.Reconciler{
			Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: name, Path: "store/shop-uat/reconciler.yaml",
		})
	}
	return d
}

// lookAt asks about a deployment. Each status is a line, then each warning.
func lookAt(t *testing.T, s *standIn, query string, wanted promote.Deployment) []string {
	t.Helper()
	f, err := New(s.URL+query, s.options())
	require.NoError(t, err)
	seen, err := f.Query(t.Context(), wanted)
	require.NoError(t, err)
	var all, warnings []string
	for _, s := range seen {
		assert.Equal(t, commitA, s.Commit, s.Reconciler)
		line := s.Cluster + " " + s.Reconciler + " " + string(s.State)
		if s.Message != "" {
			line += ": " + s.Message
		}
		all = append(all, line)
		if s.Warning.Message != "" {
			warnings = append(warnings, "warning: "+s.Warning.Message)
		}
	}
	return append(all, warnings...)
}

// TestC1RecordedApplications: what a real Argo CD says of a broken application, with no health check for Applications until "app-degraded".
func TestC1RecordedApplications(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"deployed": {"in-cluster Application/argocd/shop-uat compliant", "in-cluster argocd/platform compliant"},
		"app-invalid": {
			`in-cluster Application/argocd/shop-uat failed: Application argocd/shop-uat: the sync fails and is retried: Deploymint shop: Deploymint.apps "" not found`,
			"in-cluster argocd/platform compliant",
			"warning: Application argocd/platform is healthy although argocd/shop-uat is not",
		},
		"app-progressing": {
			"in-cluster Application/argocd/shop-uat pending: Application argocd/shop-uat: Synced, Progressing", "in-cluster argocd/platform compliant",
		},
		"app-degraded": {
			"in-cluster Application/argocd/shop-uat failed: Application argocd/shop-uat: Synced, Degraded", "in-cluster argocd/platform failed: Synced, Degraded",
		},
		"platform-invalid": {
			`in-cluster argocd/platform failed: the sync fails and is retried: Application shop-uat: error when patching "/dev/shm/82872796": Application.argoproj.io "shop-uat" is invalid: ` +
				`spec.syncPolicy.automated.prune: Invalid value: "string": spec.syncPolicy.automated.prune in body must be of type boolean: "string"`,
		},
		"platform-invalid-later": {
			`in-cluster argocd/platform failed: the sync failed: Application shop-uat: error when patching "/dev/shm/935772965": Application.argoproj.io "shop-uat" is invalid: ` +
				`spec.syncPolicy.automated.prune: Invalid value: "string": spec.syncPolicy.automated.prune in body must be of type boolean: "string"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStandIn(t, recorded(t, name)...)
			assert.Equal(t, want, lookAt(t, s, "", recordedTree()))
			assert.Len(t, s.asked, 1)
		})
	}
}

// TestC1ApplicationsThatAreNotListed: one that is missing is not deployed. Where it would not be listed anyway, that is said.
func TestC1ApplicationsThatAreNotListed(t *testing.T) {
	t.Parallel()
	items := recorded(t, "deployed")
	missing := "in-cluster Application/argocd/cart pending: Application argocd/cart: not found, or the token has no permission to read it"
	assert.Contains(t, lookAt(t, newStandIn(t, items...), "", recordedTree("cart")), missing)
	newer := recordedTree("cart")
	newer.Commit = commitB
	assert.NotContains(t, lookAt(t, newStandIn(t, items...), "", newer), missing, "a newer commit may have taken it out")

	const unlisted = "warning: Application argocd/cart of the published tree is not listed by this Argo CD"
	narrowed := lookAt(t, newStandIn(t, items...), "?project=default", recordedTree("cart"))
	assert.Contains(t, narrowed, "in-cluster Application/argocd/cart compliant")
	assert.Contains(t, narrowed, unlisted)
	elsewhere := strings.Replace(items[0], `"server": "https://kubernetes.default.svc"`, `"name": "edge-1"`, 1)
	assert.Contains(t, lookAt(t, newStandIn(t, elsewhere), "", recordedTree("cart")), unlisted)
}

// TestC1ApplicationOfAChart: a revision that is a chart version counts like a commit.
func TestC1ApplicationOfAChart(t *testing.T) {
	t.Parallel()
	items := recorded(t, "deployed")
	child := strings.NewReplacer("c3a94a3015a0d4e6fefb1b26ef711fd8c63e9153", "6.5.0").Replace(items[1])
	assert.Contains(t, lookAt(t, newStandIn(t, items[0], child), "", recordedTree()), "in-cluster Application/argocd/shop-uat compliant")
	moved := strings.Replace(child, `"path": "./uat"`, `"path": "./live"`, 1) // of the spec, which comes first
	assert.Contains(t, lookAt(t, newStandIn(t, items[0], moved), "", recordedTree()),
		"in-cluster Application/argocd/shop-uat pending: Application argocd/shop-uat: Synced, Healthy")
}

// TestC3ReconcilesAgain: a sync or a comparison of what is all right only repeats.
func TestC3ReconcilesAgain(t *testing.T) {
	t.Parallel()
	syncing := `,"operation":{"sync":{"revision":"` + commitA + `"}}`
	for name, test := range map[string]struct {
		app   string
		again bool
	}{
		"synced once more": {app(syncedA+","+healthy, syncing), true},
		"compared once more": {strings.Replace(app(syncedA+","+healthy), `"namespace":"argocd"`,
			`"namespace":"argocd","annotations":{"argocd.argoproj.io/refresh":"normal"}`, 1), true},
		"synced":            {app(outOfSyncA+","+healthy, syncing), false},
		"synced to be well": {app(syncedA+","+degraded, syncing), false},
		"healthy":           {app(syncedA + "," + healthy), false},
	} {
		seen, err := newStandIn(t, test.app).look(t)
		require.NoError(t, err, name)
		assert.Equal(t, test.again, seen[0].Again, name)
	}
}
