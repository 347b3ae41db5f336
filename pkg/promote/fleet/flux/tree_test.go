package flux

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/flux/fluxtest"
)

// inTree is a reconciler of the published tree, of the cluster type cloud unless a path says otherwise: "KIND NAMESPACE/NAME [PATH]".
func inTree(text string) gitops.Reconciler {
	parts := strings.Fields(text + " cloud/shop/reconciler.yaml")
	groups := map[string]string{"Kustomization": "kustomize.toolkit.fluxcd.io", "HelmRelease": "helm.toolkit.fluxcd.io", "Application": "argoproj.io"}
	group := groups[parts[0]]
	if group == "" {
		group = "source.toolkit.fluxcd.io"
	}
	namespace, name, _ := strings.Cut(parts[1], "/")
	return gitops.Reconciler{Group: group, Kind: parts[0], Namespace: namespace, Name: name, Path: parts[2]}
}

// recordedTree is the tree that the recorded clusters apply.
func recordedTree(more ...string) promote.Deployment {
	d := promote.Deployment{Repo: gitopsURL, Branch: "dev", Path: ".", Commit: fluxtest.RecordedCommit, Environment: "dev"}
	for _, text := range append([]string{"GitRepository flux-system/shop-functional-test", "Kustomization flux-system/shop-functional-test"}, more...) {
		d.Reconcilers = append(d.Reconcilers, inTree(text))
	}
	return d
}

// lines are statuses, each "RECONCILER STATE[ again][: MESSAGE]". All are about the commit that is wanted.
func lines(t *testing.T, statuses []promote.ReconcilerStatus) []string {
	t.Helper()
	var all []string
	for _, s := range statuses {
		assert.Equal(t, fluxtest.RecordedCommit, s.Commit, s.Reconciler)
		assert.Equal(t, "cloud", s.ClusterType, s.Reconciler)
		text := s.Reconciler + " " + string(s.State)
		if s.Again {
			text += " again"
		}
		if s.Message != "" {
			text += ": " + s.Message
		}
		all = append(all, text)
	}
	return all
}

func warned(statuses []promote.ReconcilerStatus) []string {
	var all []string
	for _, s := range statuses {
		if s.Warning.Message != "" {
			all = append(all, s.Warning.Message)
		}
	}
	return all
}

// TestC1RecordedClusters: what real clusters say of a broken application, whether their platform waits or not.
func TestC1RecordedClusters(t *testing.T) {
	t.Parallel()
	const (
		app      = "Kustomization/flux-system/shop-functional-test "
		source   = "GitRepository/flux-system/shop-functional-test compliant"
		platform = "flux-system/platform "
		noWait   = " does not wait for what it applies"
		invalid  = `failed: Kustomization flux-system/shop-functional-test: Deploymint/dev-cloud-shop-functional-test/shop dry-run failed: no matches for kind "Deploymint" in version "apps/v1"`
	)
	for name, test := range map[string]struct{ lines, warnings []string }{
		"deployed":           {[]string{source, app + "compliant", platform + "compliant"}, []string{"Kustomization flux-system/shop-functional-test" + noWait, "Kustomization flux-system/platform" + noWait}},
		"app-invalid-nowait": {[]string{source, app + invalid, platform + "compliant"}, []string{"Kustomization flux-system/shop-functional-test" + noWait, "Kustomization flux-system/platform" + noWait}},
		"app-invalid-wait": {
			[]string{source, app + invalid, platform + "failed: health check failed after 30.096402917s: timeout waiting for: [Kustomization/flux-system/shop-functional-test status: 'InProgress']"},
			[]string{"Kustomization flux-system/shop-functional-test" + noWait},
		},
		// The health of objects below a Kustomization that does not wait is unknown, hence the warning.
		"app-degraded-wait-platform-only": {[]string{source, app + "compliant", platform + "compliant"}, []string{"Kustomization flux-system/shop-functional-test" + noWait}},
		"app-degraded-wait-both": {[]string{
			source,
			app + "failed: Kustomization flux-system/shop-functional-test: health check failed after 198.152122ms: failed early due to stalled resources: [Deployment/dev-cloud-shop-functional-test/shop status: 'Failed']",
			platform + "failed: health check failed after 30.134052981s: timeout waiting for: [Kustomization/flux-system/shop-functional-test status: 'InProgress']",
		}, nil},
		// Before the platform is applied, the state of the objects in it is about an older commit.
		"platform-invalid": {[]string{
			platform + `failed: Kustomization/flux-system/shop-functional-test dry-run failed (Invalid): Kustomization.kustomize.toolkit.fluxcd.io "shop-functional-test" is invalid: ` +
				`spec.interval: Invalid value: "banana": spec.inter…`,
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			statuses, err := one(t, fluxtest.NewFluxCluster(fluxtest.Recorded(name)...)).fleet(t, "flux:edge").Query(t.Context(), recordedTree())
			require.NoError(t, err)
			assert.Equal(t, test.lines, lines(t, statuses))
			assert.Equal(t, test.warnings, warned(statuses))
		})
	}
}

// changed is a recorded cluster in which one object has another field.
func changed(t *testing.T, name, kind, object, path string, value any) *fluxtest.Cluster {
	t.Helper()
	cluster := fluxtest.NewFluxCluster()
	found := false
	for _, o := range fluxtest.Recorded(name) {
		meta := o["metadata"].(map[string]any)
		if o["kind"] == kind && meta["name"] == object {
			o, found = o.With(path, value), true
		}
		cluster.Put(o)
	}
	require.True(t, found)
	return cluster
}

// TestC1ReconcilerHasNotCaughtUp: what a reconciler says of another spec, or another revision of its source, is not taken for an answer.
func TestC1ReconcilerHasNotCaughtUp(t *testing.T) {
	t.Parallel()
	const shop = "shop-functional-test"
	for name, test := range map[string]struct {
		cluster *fluxtest.Cluster
		want    string
	}{
		"spec":           {changed(t, "deployed", "Kustomization", shop, "metadata.generation", 2), "pending: Kustomization flux-system/shop-functional-test: Flux has not observed its current spec yet"},
		"failed before":  {changed(t, "app-invalid-nowait", "Kustomization", shop, "metadata.generation", 2), "pending: Kustomization flux-system/shop-functional-test: Flux has not observed its current spec yet"},
		"source's spec":  {changed(t, "deployed", "GitRepository", shop, "metadata.generation", 2), "pending: Kustomization flux-system/shop-functional-test: Flux has not seen the present spec of its GitRepository yet"},
		"source's newer": {changed(t, "deployed", "GitRepository", shop, "status.artifact.revision", "dev@sha1:"+oldCommit), "pending: Kustomization flux-system/shop-functional-test: it has not tried dev@sha1:" + oldCommit + " yet"},
		"failed with an older": {
			changed(t, "app-invalid-nowait", "GitRepository", shop, "status.artifact.revision", "dev@sha1:"+oldCommit),
			"pending: Kustomization flux-system/shop-functional-test: it has not tried dev@sha1:" + oldCommit + " yet",
		},
		"suspended": {changed(t, "deployed", "Kustomization", shop, "spec.suspend", true), "pending: Kustomization flux-system/shop-functional-test: suspended"},
		"new":       {changed(t, "deployed", "Kustomization", shop, "status", nil), "pending: Kustomization flux-system/shop-functional-test: Flux has not reconciled it yet"},
		"not there": {changed(t, "deployed", "Kustomization", shop, "metadata.name", "other"), "pending: Kustomization flux-system/shop-functional-test: not found"},
	} {
		statuses, err := one(t, test.cluster).fleet(t, "flux:edge").Query(t.Context(), recordedTree())
		require.NoError(t, err, name)
		assert.Contains(t, lines(t, statuses), "Kustomization/flux-system/shop-functional-test "+test.want, name)
	}
}

// helmRelease is one that has installed its chart.
func helmRelease(conditions ...any) fluxtest.Object {
	return fluxtest.Object{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
		"metadata": map[string]any{"namespace": "shop", "name": "cart", "generation": fluxtest.Generation},
		"spec":     map[string]any{"interval": "5m", "chartRef": map[string]any{"kind": "OCIRepository", "name": "cart"}},
		"status": map[string]any{
			"observedGeneration": fluxtest.Generation, "lastAttemptedRevision": "6.5.0", "conditions": conditions,
			"history": []any{map[string]any{"digest": "sha256:1", "name": "cart", "namespace": "shop", "status": "deployed", "version": 3}},
		},
	}
}

// TestC1KindsOfTheTree: HelmReleases, and the sources of all kinds, count too. A cluster is asked for what its own directory has, and nothing else.
func TestC1KindsOfTheTree(t *testing.T) {
	t.Parallel()
	wanted := recordedTree("HelmRelease shop/cart", "OCIRepository shop/cart", "HelmRepository shop/charts", "Bucket shop/edge edge/shop/reconciler.yaml")
	oci := fluxtest.Object{
		"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository",
		"metadata": map[string]any{"namespace": "shop", "name": "cart", "generation": fluxtest.Generation},
		"status": map[string]any{"observedGeneration": fluxtest.Generation, "artifact": map[string]any{"revision": "6.5.0@sha256:1"}, "conditions": []any{
			fluxtest.Condition("Ready", "True", "Succeeded", "stored artifact"),
		}},
	}
	charts := fluxtest.Object{ // Flux reports nothing of one in a registry
		"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmRepository",
		"metadata": map[string]any{"namespace": "shop", "name": "charts", "generation": 1}, "spec": map[string]any{"type": "oci", "url": "oci://example.com"},
	}
	installed := helmRelease(fluxtest.Condition("Ready", "True", "InstallSucceeded", "Helm install succeeded"))
	cluster := fluxtest.NewFluxCluster(append(fluxtest.Recorded("deployed"), oci, charts, installed)...)
	f := one(t, cluster).fleet(t, "flux:edge")
	look := func() []string {
		statuses, err := f.Query(t.Context(), wanted)
		require.NoError(t, err)
		return lines(t, statuses)
	}
	assert.Equal(t, []string{
		"GitRepository/flux-system/shop-functional-test compliant", "HelmRelease/shop/cart compliant", "HelmRepository/shop/charts compliant",
		"Kustomization/flux-system/shop-functional-test compliant", "OCIRepository/shop/cart compliant", "flux-system/platform compliant",
	}, look())
	assert.Equal(t, []string{
		"/apis/source.toolkit.fluxcd.io/v1/gitrepositories?limit=100", "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations?limit=100",
		"/apis/helm.toolkit.fluxcd.io/v2/helmreleases?limit=100", "/apis/source.toolkit.fluxcd.io/v1/helmrepositories?limit=100",
		"/apis/source.toolkit.fluxcd.io/v1/ocirepositories?limit=100",
	}, cluster.Requests())

	for text, condition := range map[string]map[string]any{
		"failed: HelmRelease shop/cart: Helm upgrade failed":             fluxtest.Condition("Ready", "False", "UpgradeFailed", "Helm upgrade failed"),
		"pending: HelmRelease shop/cart: no chart yet":                   fluxtest.Condition("Ready", "False", "SourceNotReady", "no chart yet"),
		"pending again: HelmRelease shop/cart: Running 'upgrade' action": fluxtest.Condition("Ready", "Unknown", "Progressing", "Running 'upgrade' action"),
	} {
		cluster.Put(helmRelease(condition))
		assert.Contains(t, look(), "HelmRelease/shop/cart "+text)
	}
	cluster.Put(oci.With("status.conditions", conditions(fluxtest.Condition("Ready", "False", "OCIArtifactPullFailed", "no such tag"))))
	assert.Contains(t, look(), "OCIRepository/shop/cart failed: OCIRepository shop/cart: no such tag")

	cluster.Without("helmreleases")
	assert.Contains(t, look(), "HelmRelease/shop/cart pending: HelmRelease shop/cart: not found")
	cluster.Deny("ocirepositories")
	_, err := f.Query(t.Context(), wanted)
	var refused *promote.FleetError
	require.ErrorAs(t, err, &refused)
	assert.Contains(t, refused.Message, "answers 403 Forbidden: ocirepositories.source.toolkit.fluxcd.io is forbidden")
	assert.Equal(t, hints()[http.StatusForbidden], refused.Hint)
}

// TestC1OtherObjectsInTree: an Application is not for flux to see; a newer commit may have taken a reconciler out; all may be put into one namespace.
func TestC1OtherObjectsInTree(t *testing.T) {
	t.Parallel()
	look := func(cluster *fluxtest.Cluster, wanted promote.Deployment) []promote.ReconcilerStatus {
		statuses, err := one(t, cluster).fleet(t, "flux:edge").Query(t.Context(), wanted)
		require.NoError(t, err)
		return statuses
	}
	deployed := fluxtest.NewFluxCluster(fluxtest.Recorded("deployed")...)
	seen := look(deployed, recordedTree("Application argocd/shop"))
	assert.Contains(t, lines(t, seen), "Application/argocd/shop compliant")
	assert.Contains(t, warned(seen), "Application argocd/shop is not checked by flux")

	older := recordedTree("Kustomization flux-system/gone")
	assert.Contains(t, lines(t, look(deployed, older)), "Kustomization/flux-system/gone pending: Kustomization flux-system/gone: not found")
	older.Commit = oldCommit
	assert.NotContains(t, strings.Join(lines(t, look(deployed, older)), "\n"), "gone")

	moved := changed(t, "deployed", "Kustomization", "platform", "spec.targetNamespace", "flux-system")
	assert.Contains(t, lines(t, look(moved, recordedTree("Kustomization other/shop-functional-test"))), "Kustomization/flux-system/shop-functional-test compliant")
	covered := changed(t, "deployed", "Kustomization", "platform", "spec.healthChecks", []any{
		map[string]any{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "namespace": "flux-system", "name": "shop-functional-test"},
	})
	assert.Equal(t, []string{"Kustomization flux-system/shop-functional-test does not wait for what it applies"}, warned(look(covered, recordedTree())))
}

// TestC3ReconcilesAgain: a healthy Kustomization says in each interval for a moment that it does not know. In one look it is healthy all the same,
// if it says that it was so with just this spec and revision.
func TestC3ReconcilesAgain(t *testing.T) {
	t.Parallel()
	working := conditions(
		fluxtest.Condition("Reconciling", "True", "Progressing", "Fetching manifests"), fluxtest.Condition("Ready", "Unknown", "Progressing", "Reconciliation in progress"),
	)
	history := func(status, commit string) []any {
		return []any{map[string]any{"lastReconciledStatus": status, "metadata": map[string]any{"revision": "dev@sha1:" + commit}}}
	}
	k := fluxtest.Kustomization("./edge", "dev@sha1:"+newCommit).With("status.conditions", working)
	for name, test := range map[string]struct {
		object fluxtest.Object
		state  promote.State
		again  bool
	}{
		"ended well":       {k.With("status.history", history("ReconciliationSucceeded", newCommit)), promote.Compliant, false},
		"ended badly":      {k.With("status.history", history("HealthCheckFailed", newCommit)), promote.Pending, false},
		"another revision": {k.With("status.history", history("ReconciliationSucceeded", oldCommit)), promote.Pending, false},
		"a new revision":   {k.With("status.history", history("ReconciliationSucceeded", oldCommit)).With("status.lastAppliedRevision", "dev@sha1:"+oldCommit), promote.Pending, false},
		"a new spec":       {k.With("status.history", history("ReconciliationSucceeded", newCommit)).With("status.observedGeneration", 1), promote.Pending, false},
		"an older Flux":    {k, promote.Pending, true},
		"an older Flux that waits": {
			k.With("status.conditions", append(conditions(fluxtest.Condition("Healthy", "True", "Succeeded", "Health check passed")), working...)), promote.Compliant, false,
		},
		"it looks whether all is healthy": {
			k.With("status.conditions", append(conditions(fluxtest.Condition("Healthy", "Unknown", "Progressing", "Running health checks")), working...)), promote.Pending, true,
		},
		"a source": {fluxtest.GitRepository(gitopsURL, "dev", newCommit).With("status.conditions", working), promote.Compliant, false},
		"a source that cannot be fetched": {
			fluxtest.GitRepository(gitopsURL, "dev", newCommit).With("status.conditions", append(conditions(fluxtest.Condition("FetchFailed", "True", "GitOperationFailed", "no")), working...)),
			promote.Pending, false,
		},
	} {
		s := decoded[object](t, test.object).state(&object{})
		assert.Equal(t, test.state, s.State, name)
		assert.Equal(t, test.again, s.Again, name)
	}
}
