package azure

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

// object is the status of an object, as the list "statuses" has it.
func object(kind, name, compliance, ready, message string) record {
	return record{
		"kind": kind, "name": name, "namespace": "flux", "complianceState": compliance, "appliedBy": nil,
		"statusConditions": []any{record{"type": "Healthy", "message": "no"}, record{"type": "Ready", "status": ready, "message": message}},
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		changes []any
		commit  string
		state   promote.State
		message string
	}{
		"compliant":       {nil, wantCommit, promote.Compliant, ""},
		"in lower case":   {[]any{"compliance", "compliant"}, wantCommit, promote.Compliant, ""},
		"pending":         {[]any{"compliance", "Pending"}, wantCommit, promote.Pending, "the Flux configuration is pending"},
		"unknown":         {[]any{"compliance", "Unknown"}, wantCommit, promote.Pending, "the Flux configuration is unknown"},
		"nothing":         {[]any{"compliance", ""}, wantCommit, promote.Pending, "the Flux configuration is unknown"},
		"suspended":       {[]any{"compliance", "Suspended"}, wantCommit, promote.Pending, "the Flux configuration is suspended"},
		"to be suspended": {[]any{"suspended", true}, wantCommit, promote.Pending, "the Flux configuration is suspended"},
		"failed":          {[]any{"compliance", "Non-Compliant"}, wantCommit, promote.Failed, "the Flux configuration is non-compliant"},
		"failed before":   {[]any{"compliance", "Non-Compliant", "revision", "dev@sha1:" + oldCommit}, oldCommit, promote.Failed, "the Flux configuration is non-compliant"},
		"with an error":   {[]any{"compliance", "Non-Compliant", "problem", " no extension "}, wantCommit, promote.Failed, "no extension"},
		"nothing fetched": {[]any{"revision", ""}, "", promote.Pending, "no commit was fetched yet"},
		"fetching fails":  {[]any{"revision", nil, "problem", "no such host"}, "", promote.Pending, "no such host"},
		"no statuses":     {[]any{"statuses", nil}, wantCommit, promote.Compliant, ""},
		"not applied yet": {
			[]any{"statuses", []any{object("Kustomization", "cfg-all", "Compliant", "True", "Applied revision: dev@sha1:"+oldCommit)}},
			wantCommit, promote.Pending, "Kustomization cfg-all is still at 0ba6f0d",
		},
		"not applied yet, as it was once": {
			[]any{"statuses", []any{object("Kustomization", "cfg-all", "Compliant", "True", "Applied revision: dev/"+oldCommit)}},
			wantCommit, promote.Pending, "Kustomization cfg-all is still at 0ba6f0d",
		},
		"reasons, the worst first": {
			[]any{"compliance", "Non-Compliant", "statuses", []any{
				object("GitRepository", "cfg", "Compliant", "True", "stored artifact"),
				object("HelmRelease", "nginx", "Pending", "Unknown", "Reconciliation in progress"),
				object("Kustomization", "cfg-all", "Non-Compliant", "False", "dependency 'flux/cfg-infra' is not ready"),
				object("Kustomization", "cfg-mute", "Non-Compliant", "False", ""),
			}},
			wantCommit, promote.Failed, "Kustomization flux/cfg-all: dependency 'flux/cfg-infra' is not ready; HelmRelease flux/nginx: Reconciliation in progress",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen, ours, err := rowOf(t, compliant(t, "edge-1", test.changes...)).read(wanted)
			require.NoError(t, err)
			require.True(t, ours)
			assert.Equal(t, promote.ReconcilerStatus{
				Reconciler: "cfg", ClusterType: "large", Commit: test.commit, State: test.state, Message: test.message,
			}, seen.ReconcilerStatus)
		})
	}
}

func TestMessageIsBounded(t *testing.T) {
	t.Parallel()
	statuses := make([]any, 1000)
	for i := range statuses {
		statuses[i] = object("Kustomization", "x", "Non-Compliant", "False", strings.Repeat("é", 5000))
	}
	seen, _, err := rowOf(t, compliant(t, "edge-1", "compliance", "Non-Compliant", "statuses", statuses)).read(wanted)
	require.NoError(t, err)
	assert.Less(t, len(seen.Message), 5*4096)
	assert.True(t, utf8.ValidString(seen.Message))
}

func TestClusterType(t *testing.T) {
	t.Parallel()
	paths := func(all ...any) record {
		kustomizations := record{}
		for i, path := range all {
			kustomizations[string(rune('a'+i))] = record{"path": path}
		}
		return record{"kustomizations": kustomizations}
	}
	for name, test := range map[string]struct {
		root string
		row  record
		want string
	}{
		"one":                 {".", paths("./large"), "large"},
		"without a dot":       {".", paths("large"), "large"},
		"with slashes":        {".", paths("/large/"), "large"},
		"deeper":              {".", paths("./large/shop"), "large"},
		"two that agree":      {".", paths("./large/shop", "large/reconciler"), "large"},
		"two that do not":     {".", paths("./large", "./small"), ""},
		"everything":          {".", paths("./"), ""},
		"no path":             {".", paths(nil), ""},
		"one, and everything": {".", paths("./large", ""), ""},
		"below":               {"clusters/dev", paths("./clusters/dev/large"), "large"},
		"and elsewhere":       {"clusters/dev", paths("./clusters/dev/large", "./infra"), "large"},
		"only elsewhere":      {"clusters/dev", paths("./infra"), ""},
		"all of it":           {"clusters/dev", paths("clusters/dev"), ""},
		"around it":           {"clusters/dev", paths("./clusters", "./clusters/dev/large"), ""},
		"nearly":              {"clusters/dev", paths("clusters/development/large"), ""},
		"upwards":             {".", paths("../large"), "large"},
		"null":                {".", record{"kustomizations": nil}, ""},
	} {
		for range 5 { // maps come in any order
			assert.Equal(t, test.want, rowOf(t, test.row).clusterType(test.root), name)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	managed := "/subscriptions/" + sub + "/resourceGroups/edge/providers/Microsoft.ContainerService/managedClusters/both" +
		"/providers/Microsoft.KubernetesConfiguration/fluxConfigurations/cfg"
	ids := []string{
		fluxID(sub, "edge", "alone"),
		strings.Replace(fluxID(sub, "EDGE", "ALONE"), "/cfg", "/other", 1), // the same cluster
		fluxID(sub, "east", "group"),
		fluxID(sub, "west", "Group"),
		fluxID(sub, "edge", "sub"),
		fluxID(sub2, "edge", "sub"),
		fluxID(sub, "edge", "both"),
		managed,
	}
	seen := make([]clusterStatus, len(ids))
	for i, id := range ids {
		cluster, configuration, err := clusterOf(id)
		require.NoError(t, err)
		seen[i] = clusterStatus{cluster, promote.ReconcilerStatus{Reconciler: configuration}}
	}
	var names []string
	for _, status := range named(seen) {
		names = append(names, status.Cluster+" "+status.Reconciler)
	}
	assert.Equal(t, []string{
		sub + "/edge/Microsoft.ContainerService/managedClusters/both cfg",
		sub + "/edge/Microsoft.Kubernetes/connectedClusters/both cfg",
		sub + "/edge/sub cfg",
		sub2 + "/edge/sub cfg",
		"alone cfg", "alone other",
		"east/group cfg", "west/Group cfg",
	}, names)
}

// FuzzStatus reads untrusted rows.
func FuzzStatus(f *testing.F) {
	for _, row := range []record{
		compliant(f, "edge-1"),
		compliant(f, "edge-1", "compliance", "Non-Compliant", "problem", "x"),
		compliant(f, "edge-1", "repository", "git@github.com:acme/gitops.git", "revision", nil),
		compliant(f, "edge-1", "kustomizations", nil, "statuses", []any{}),
	} {
		text, err := json.Marshal(row)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(`{"id":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r row
		if json.Unmarshal(text, &r) != nil {
			return
		}
		seen, ours, err := r.read(wanted)
		if err != nil || !ours {
			assert.Equal(t, clusterStatus{}, seen)
			return
		}
		assert.NotEmpty(t, seen.Reconciler)
		assert.NotEmpty(t, named([]clusterStatus{seen})[0].Cluster)
		assert.Contains(t, []promote.State{promote.Compliant, promote.Pending, promote.Failed}, seen.State)
		assert.NotContains(t, seen.ClusterType, "/")
		assert.Less(t, len(seen.Message), 5*4096)
		if seen.Commit == "" {
			assert.Equal(t, promote.Pending, seen.State)
		} else {
			assert.Equal(t, seen.Commit, statustext.Commit(seen.Commit))
		}
		if seen.State == promote.Compliant {
			assert.Empty(t, seen.Message)
			assert.True(t, strings.EqualFold("Compliant", string(r.Compliance)))
		}
	})
}
