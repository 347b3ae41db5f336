package flux

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/flux/fluxtest"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

const (
	oldCommit = "1111111111111111111111111111111111111111"
	newCommit = "2222222222222222222222222222222222222222"
	gitopsURL = "https://github.com/acme/gitops"
)

// decoded is an object as it is read from a list.
func decoded[T any](t testing.TB, o fluxtest.Object) *T {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	item := new(T)
	require.NoError(t, json.Unmarshal(text, item))
	return item
}

// about is a condition about an earlier spec.
func about(generation int, condition map[string]any) map[string]any {
	condition["observedGeneration"] = generation
	return condition
}

func conditions(all ...any) []any { return all }

// TestState: what the status of a Kustomization, and that of its GitRepository, say of which commit.
func TestState(t *testing.T) {
	t.Parallel()
	const oldRevision, newRevision = "dev@sha1:" + oldCommit, "dev@sha1:" + newCommit
	ready := fluxtest.Kustomization("./clusters/edge", oldRevision)
	fetched := fluxtest.GitRepository(gitopsURL, "dev", newCommit)
	unready := func(reason, message string) fluxtest.Object {
		return ready.With("status.conditions", conditions(fluxtest.Condition("Ready", "False", reason, message))).
			With("status.lastAttemptedRevision", newRevision)
	}
	cannotFetch := fetched.With("status.conditions", conditions(
		fluxtest.Condition("Ready", "False", "GitOperationFailed", "failed to checkout: authentication required\nremote: gone"),
		fluxtest.Condition("FetchFailed", "True", "GitOperationFailed", "failed to checkout: authentication required\nremote: gone"),
	))
	for name, test := range map[string]struct {
		applier, source fluxtest.Object
		state           promote.State
		commit, message string
	}{
		"ready":                         {ready, fetched, promote.Compliant, oldCommit, ""},
		"ready, as Flux wrote once":     {ready.With("status.lastAppliedRevision", "dev/"+newCommit), fetched, promote.Compliant, newCommit, ""},
		"ready, by the name of the ref": {ready.With("status.lastAppliedRevision", "refs/heads/dev@sha1:"+newCommit), fetched, promote.Compliant, newCommit, ""},
		"ready without a commit": {
			ready.With("status.lastAppliedRevision", "dev@sha1:beef"), fetched, promote.Pending, "",
			`it applied "dev@sha1:beef", which names no commit`,
		},
		"ready without a revision": {
			ready.With("status.lastAppliedRevision", nil), fetched, promote.Pending, "",
			`it applied "", which names no commit`,
		},
		"spec not seen": {
			ready.With("metadata.generation", fluxtest.Generation+1), fetched, promote.Pending, oldCommit,
			"Flux has not observed its current spec yet",
		},
		"status of an earlier spec": {
			ready.With("status.observedGeneration", fluxtest.Generation-1), fetched, promote.Pending, oldCommit,
			"Flux has not observed its current spec yet",
		},
		"new": {
			ready.With("status", map[string]any{"observedGeneration": -1}), fetched, promote.Pending, "",
			"Flux has not reconciled it yet",
		},
		"new, and nothing fetched": {
			ready.With("status", nil), cannotFetch, promote.Pending, "",
			"GitRepository flux-system/flux-system: failed to checkout: authentication required",
		},
		"suspended": {ready.With("spec.suspend", true), fetched, promote.Pending, oldCommit, "suspended"},
		"suspended after it failed": {
			unready("BuildFailed", "no").With("spec.suspend", true), fetched, promote.Pending, newCommit, "suspended",
		},
		"going away": {
			ready.With("metadata.deletionTimestamp", "2026-05-04T09:30:00Z"), fetched, promote.Pending, oldCommit, "it is being deleted",
		},
		"at work": {
			ready.With("status.lastAttemptedRevision", newRevision).With("status.conditions", conditions(
				fluxtest.Condition("Reconciling", "True", "Progressing", "Running health checks for revision "+newRevision+" with a timeout of 5m0s"),
				fluxtest.Condition("Ready", "Unknown", "Progressing", "Reconciliation in progress"),
			)), fetched, promote.Pending, newCommit, "Running health checks for revision " + newRevision + " with a timeout of 5m0s",
		},
		"at work, and says little": {
			ready.With("status.conditions", conditions(fluxtest.Condition("Ready", "Unknown", "Progressing", ""))),
			fetched, promote.Pending, oldCommit, "Progressing",
		},
		"build failed": {
			unready("BuildFailed", "kustomize build failed: accumulating resources\nmore"), fetched, promote.Failed, newCommit,
			"kustomize build failed: accumulating resources",
		},
		"apply failed": {
			unready("ReconciliationFailed", "Deployment/web/web dry-run failed (Invalid)"), fetched, promote.Failed, newCommit,
			"Deployment/web/web dry-run failed (Invalid)",
		},
		"unhealthy": {
			unready("HealthCheckFailed", "timeout waiting for: [Deployment/web/web status: 'InProgress']"), fetched, promote.Failed, newCommit,
			"timeout waiting for: [Deployment/web/web status: 'InProgress']",
		},
		"prune failed":      {unready("PruneFailed", "no"), fetched, promote.Failed, newCommit, "no"},
		"post build failed": {unready("PostBuildFailed", "no"), fetched, promote.Failed, newCommit, "no"},
		"failed at first": {
			unready("BuildFailed", "no").With("status.observedGeneration", -1).With("status.lastAppliedRevision", nil),
			fetched, promote.Failed, newCommit, "no",
		},
		"failed without an attempt": {
			unready("ReconciliationFailed", "no").With("status.lastAttemptedRevision", nil).With("status.lastAppliedRevision", nil),
			fetched, promote.Failed, newCommit, "no",
		},
		"failed for an earlier spec": {
			unready("BuildFailed", "no").With("status.conditions", conditions(
				about(fluxtest.Generation-1, fluxtest.Condition("Ready", "False", "BuildFailed", "no")))),
			fetched, promote.Pending, newCommit, "Flux has not observed its current spec yet",
		},
		"failed before conditions had generations": {
			unready("BuildFailed", "no").With("status.conditions", conditions(
				about(0, fluxtest.Condition("Ready", "False", "BuildFailed", "no")))),
			fetched, promote.Failed, newCommit, "no",
		},
		"directory gone, so no attempt": {
			unready("ArtifactFailed", "kustomization path not found: stat /tmp/x: no such file or directory").With("status.lastAttemptedRevision", oldRevision),
			fetched, promote.Failed, newCommit, "kustomization path not found: stat /tmp/x: no such file or directory",
		},
		"nothing fetched yet": {
			unready("ArtifactFailed", "Source artifact not found, retrying in 30s").With("status.lastAttemptedRevision", nil).With("status.lastAppliedRevision", nil),
			fetched.With("status", nil), promote.Pending, "", "Source artifact not found, retrying in 30s",
		},
		"nothing fetched, for a reason": {
			unready("ArtifactFailed", "Source artifact not found, retrying in 30s").With("status.lastAttemptedRevision", nil).With("status.lastAppliedRevision", nil),
			cannotFetch.With("status.artifact", nil), promote.Pending, "", "GitRepository flux-system/flux-system: failed to checkout: authentication required",
		},
		"waits for another": {
			unready("DependencyNotReady", "dependency 'flux-system/crds' is not ready").With("status.lastAttemptedRevision", oldRevision),
			fetched, promote.Pending, oldCommit, "dependency 'flux-system/crds' is not ready",
		},
		"interrupted by a newer revision": {
			unready("HealthCheckCanceled", "New reconciliation triggered by GitRepository/flux-system/flux-system"),
			fetched, promote.Pending, newCommit, "New reconciliation triggered by GitRepository/flux-system/flux-system",
		},
		"stalled": {
			ready.With("status.conditions", conditions(
				fluxtest.Condition("Stalled", "True", "InvalidCELExpression", "Reconciliation failed terminally due to configuration error"),
				fluxtest.Condition("Ready", "False", "InvalidCELExpression", "Reconciliation failed terminally due to configuration error"),
			)), fetched, promote.Failed, newCommit, "Reconciliation failed terminally due to configuration error",
		},
		"stalled, and nothing fetched": {
			ready.With("status.conditions", conditions(fluxtest.Condition("Stalled", "True", "AccessDenied", "no"))),
			fetched.With("status", nil), promote.Failed, oldCommit, "no",
		},
		"repository cannot be fetched": {
			ready, cannotFetch, promote.Compliant, oldCommit,
			"GitRepository flux-system/flux-system: failed to checkout: authentication required",
		},
		"repository not ready": {
			ready, fetched.With("status.conditions", conditions(fluxtest.Condition("Ready", "False", "VerificationError", "no signature"))),
			promote.Compliant, oldCommit, "GitRepository flux-system/flux-system: no signature",
		},
		"repository suspended": {
			ready, fetched.With("spec.suspend", true), promote.Compliant, oldCommit, "GitRepository flux-system/flux-system is suspended",
		},
		"password in a message": {
			unready("BuildFailed", "fetch https://bot:hunter22@github.com/acme/base: 404"), fetched, promote.Failed, newCommit,
			"fetch https://***@github.com/acme/base: 404",
		},
		"upper case": {
			ready.With("status.lastAppliedRevision", "dev@sha1:"+strings.Repeat("AB", 20)), fetched, promote.Compliant, strings.Repeat("ab", 20), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := reconcilerStatus(decoded[object](t, test.applier), decoded[object](t, test.source))
			s.Again = false // see TestC3ReconcilesAgain
			assert.Equal(t, promote.ReconcilerStatus{Reconciler: "flux-system/flux-system", State: test.state, Commit: test.commit, Message: test.message}, s)
		})
	}
}

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	k := fluxtest.Kustomization(".", "dev@sha1:"+oldCommit).With("status.conditions", conditions(
		fluxtest.Condition("Ready", "False", "BuildFailed", strings.Repeat("\x1b[31mé", 20_000))))
	s := reconcilerStatus(decoded[object](t, k), &object{})
	assert.Less(t, len(s.Message), 2000)
	assert.NotContains(t, s.Message, "\x1b")
}

func TestBranch(t *testing.T) {
	t.Parallel()
	for ref, want := range map[gitReference]string{
		{}:                                "master",
		{Branch: "dev"}:                   "dev",
		{Name: "refs/heads/dev"}:          "dev",
		{Name: "refs/heads/feature/x"}:    "feature/x",
		{Name: "refs/tags/dev"}:           "",
		{Name: "refs/pull/7/head"}:        "",
		{Name: "dev"}:                     "",
		{Tag: "dev"}:                      "",
		{SemVer: ">=1.0.0"}:               "",
		{Commit: oldCommit}:               "",
		{Branch: "dev", Tag: "v1"}:        "",
		{Branch: "dev", SemVer: "1.x"}:    "",
		{Branch: "dev", Commit: "c0ffee"}: "",
		{Branch: "main", Tag: "v1", Name: "refs/heads/dev"}:         "dev",
		{Branch: "main", Name: "refs/heads/dev", Commit: oldCommit}: "",
		{Branch: "dev", Name: "refs/tags/v1"}:                       "",
	} {
		assert.Equal(t, want, ref.branch(), "%+v", ref)
	}
}

func TestClusterType(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ directory, output, want string }{
		{"./edge", ".", "edge"},
		{"edge", ".", "edge"},
		{"/edge/", ".", "edge"},
		{"./edge/apps", ".", "edge"},
		{"./", ".", ""},
		{"", ".", ""},
		{"./clusters/edge", "clusters", "edge"},
		{"./clusters/edge/apps/web", "clusters", "edge"},
		{"./clusters", "clusters", ""},
		{"./clusters-old/edge", "clusters", ""},
		{"./other/edge", "clusters", ""},
		{"./clusters/../edge", ".", "edge"},
		{"../../edge", ".", "edge"},
		{"./clusters/../../other", "clusters", ""},
		{"./EDGE\x1b[2J", ".", ""},
	} {
		assert.Equal(t, test.want, clusterType(test.directory, test.output), "%+v", test)
	}
}

// FuzzStatus: whatever a server says of an object, the status is one that can be used.
func FuzzStatus(f *testing.F) {
	for _, o := range []fluxtest.Object{
		fluxtest.Kustomization("./edge", "dev@sha1:"+oldCommit),
		fluxtest.Kustomization("", "").With("status.conditions", conditions(fluxtest.Condition("Ready", "False", "BuildFailed", "\n"))),
		fluxtest.Kustomization("a\x00b", "@").With("spec.suspend", true),
		{"status": nil},
	} {
		text, err := json.Marshal(o)
		require.NoError(f, err)
		f.Add(text, []byte(`{"status":{"artifact":{"revision":"dev@sha1:`+newCommit+`"}}}`))
	}
	f.Fuzz(func(t *testing.T, applier, source []byte) {
		var k object
		var r object
		if json.Unmarshal(applier, &k) != nil || json.Unmarshal(source, &r) != nil {
			return
		}
		s := reconcilerStatus(&k, &r)
		assert.Contains(t, []promote.State{promote.Compliant, promote.Pending, promote.Failed}, s.State)
		assert.Equal(t, s.Commit, statustext.Commit("x@sha1:"+s.Commit), "a full id, or none")
		assert.NotContains(t, s.Message, "\n")
		if s.State == promote.Compliant {
			assert.NotEmpty(t, s.Commit)
			assert.False(t, k.Spec.Suspend)
			assert.Equal(t, k.Metadata.Generation, k.Status.ObservedGeneration)
			settled, _ := k.settled()
			assert.True(t, conditionOf(k.Status.Conditions, "Ready").Status == "True" || settled)
		} else {
			assert.NotEmpty(t, s.Message, "who is not compliant is told why")
		}
		for _, r := range clusterType(k.Spec.Path, ".") {
			assert.Less(t, r, rune(0x7f))
		}
	})
}
