package fleet

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// azureObject is the status of an object, as the list "statuses" has it.
func azureObject(kind, name, compliance, ready, message string) azureRow {
	return azureRow{
		"kind": kind, "name": name, "namespace": "flux", "complianceState": compliance, "appliedBy": nil,
		"statusConditions": []any{azureRow{"type": "Healthy", "message": "no"}, azureRow{"type": "Ready", "status": ready, "message": message}},
	}
}

func TestAzureStates(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		changes []any
		commit  string
		state   promote.State
		message string
	}{
		"compliant":        {nil, azureWant, promote.Compliant, ""},
		"in lower case":    {[]any{"compliance", "compliant"}, azureWant, promote.Compliant, ""},
		"pending":          {[]any{"compliance", "Pending"}, azureWant, promote.Pending, "the Flux configuration is pending"},
		"unknown":          {[]any{"compliance", "Unknown"}, azureWant, promote.Pending, "the Flux configuration is unknown"},
		"nothing":          {[]any{"compliance", ""}, azureWant, promote.Pending, "the Flux configuration is unknown"},
		"a number":         {[]any{"compliance", 1.0}, azureWant, promote.Pending, "the Flux configuration is unknown"},
		"suspended":        {[]any{"compliance", "Suspended"}, azureWant, promote.Pending, "the Flux configuration is suspended"},
		"to be suspended":  {[]any{"suspended", true}, azureWant, promote.Pending, "the Flux configuration is suspended"},
		"failed":           {[]any{"compliance", "Non-Compliant"}, azureWant, promote.Failed, "the Flux configuration is non-compliant"},
		"failed before":    {[]any{"compliance", "Non-Compliant", "revision", "dev@sha1:" + azureOld}, azureOld, promote.Failed, "the Flux configuration is non-compliant"},
		"with an error":    {[]any{"compliance", "Non-Compliant", "problem", " no extension "}, azureWant, promote.Failed, "no extension"},
		"nothing fetched":  {[]any{"revision", ""}, "", promote.Pending, "no commit was fetched yet"},
		"fetching fails":   {[]any{"revision", nil, "problem", "no such host"}, "", promote.Pending, "no such host"},
		"revision a list":  {[]any{"revision", []any{azureWant}}, "", promote.Pending, "no commit was fetched yet"},
		"no statuses":      {[]any{"statuses", nil}, azureWant, promote.Compliant, ""},
		"statuses a text":  {[]any{"statuses", "x"}, azureWant, promote.Compliant, ""},
		"statuses strange": {[]any{"statuses", []any{nil, 1.0, azureRow{"statusConditions": azureRow{}}}}, azureWant, promote.Compliant, ""},
		"not applied yet": {
			[]any{"statuses", []any{azureObject("Kustomization", "cfg-all", "Compliant", "True", "Applied revision: dev@sha1:"+azureOld)}},
			azureWant, promote.Pending, "Kustomization cfg-all is still at 0ba6f0d",
		},
		"not applied yet, as it was once": {
			[]any{"statuses", []any{azureObject("Kustomization", "cfg-all", "Compliant", "True", "Applied revision: dev/"+azureOld)}},
			azureWant, promote.Pending, "Kustomization cfg-all is still at 0ba6f0d",
		},
		"reasons, the worst first": {
			[]any{"compliance", "Non-Compliant", "statuses", []any{
				azureObject("GitRepository", "cfg", "Compliant", "True", "stored artifact"),
				azureObject("HelmRelease", "nginx", "Pending", "Unknown", "Reconciliation in progress"),
				azureObject("Kustomization", "cfg-all", "Non-Compliant", "False", "dependency 'flux/cfg-infra' is not ready"),
				azureObject("Kustomization", "cfg-mute", "Non-Compliant", "False", ""),
			}},
			azureWant, promote.Failed, "Kustomization flux/cfg-all: dependency 'flux/cfg-infra' is not ready; HelmRelease flux/nginx: Reconciliation in progress",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen, ours, err := azureSighting(azureCompliant(t, "edge-1", test.changes...), azureWanted)
			require.NoError(t, err)
			require.True(t, ours)
			assert.Equal(t, promote.Sighting{
				Reconciler: "cfg", ClusterType: "large", Commit: test.commit, State: test.state, Message: test.message,
			}, seen.Sighting)
		})
	}
}

func TestAzureMessageIsBounded(t *testing.T) {
	t.Parallel()
	statuses := make([]any, 1000)
	for i := range statuses {
		statuses[i] = azureObject("Kustomization", "x", "Non-Compliant", "False", strings.Repeat("é", 5000))
	}
	seen, _, err := azureSighting(azureCompliant(t, "edge-1", "compliance", "Non-Compliant", "statuses", statuses), azureWanted)
	require.NoError(t, err)
	assert.Less(t, len(seen.Message), 5*maxAzureReason)
	assert.True(t, utf8.ValidString(seen.Message))
}

func TestAzureCommit(t *testing.T) {
	t.Parallel()
	sha256 := strings.Repeat("a1", 32)
	for revision, want := range map[string]string{
		"dev@sha1:" + azureWant:                  azureWant,
		"dev/" + azureWant:                       azureWant,
		"feature/x@sha1:" + azureWant:            azureWant,
		"feature/x/" + azureWant:                 azureWant,
		"a@b@sha1:" + azureWant:                  azureWant,
		azureWant:                                azureWant,
		"sha1:" + azureWant:                      azureWant,
		"dev@sha1:" + strings.ToUpper(azureWant): azureWant,
		"dev@sha256:" + sha256:                   sha256,
		"dev@sha1:" + azureWant[:7]:              "",
		"dev@sha1:" + azureWant + "0":            "",
		"dev@sha1:" + azureWant + "\n":           "",
		"dev" + azureWant:                        "",
		"dev":                                    "",
		"":                                       "",
	} {
		assert.Equal(t, want, azureCommit(revision), "%q", revision)
	}
}

func TestAzureClusterType(t *testing.T) {
	t.Parallel()
	paths := func(all ...any) azureRow {
		kustomizations := azureRow{}
		for i, path := range all {
			kustomizations[string(rune('a'+i))] = azureRow{"path": path}
		}
		return azureRow{"kustomizations": kustomizations}
	}
	for name, test := range map[string]struct {
		root string
		row  azureRow
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
		"null":                {".", azureRow{"kustomizations": nil}, ""},
		"a list":              {".", azureRow{"kustomizations": []any{azureRow{"path": "./large"}}}, ""},
		"a text in it":        {".", azureRow{"kustomizations": azureRow{"a": "./large"}}, ""},
	} {
		for range 5 { // maps come in any order
			assert.Equal(t, test.want, azureClusterType(test.row, test.root), name)
		}
	}
}

func TestAzureNames(t *testing.T) {
	t.Parallel()
	managed := "/subscriptions/" + azureSub + "/resourceGroups/edge/providers/Microsoft.ContainerService/managedClusters/both" +
		"/providers/Microsoft.KubernetesConfiguration/fluxConfigurations/cfg"
	ids := []string{
		azureFlux(azureSub, "edge", "alone"),
		strings.Replace(azureFlux(azureSub, "EDGE", "ALONE"), "/cfg", "/other", 1), // the same cluster
		azureFlux(azureSub, "east", "group"),
		azureFlux(azureSub, "west", "Group"),
		azureFlux(azureSub, "edge", "sub"),
		azureFlux(azureSub2, "edge", "sub"),
		azureFlux(azureSub, "edge", "both"),
		managed,
	}
	seen := make([]azureSeen, len(ids))
	for i, id := range ids {
		cluster, configuration, err := azureClusterOf(id)
		require.NoError(t, err)
		seen[i] = azureSeen{cluster, promote.Sighting{Reconciler: configuration}}
	}
	var names []string
	for _, sighting := range azureNamed(seen) {
		names = append(names, sighting.Cluster+" "+sighting.Reconciler)
	}
	assert.Equal(t, []string{
		azureSub + "/edge/Microsoft.ContainerService/managedClusters/both cfg",
		azureSub + "/edge/Microsoft.Kubernetes/connectedClusters/both cfg",
		azureSub + "/edge/sub cfg",
		azureSub2 + "/edge/sub cfg",
		"alone cfg", "alone other",
		"east/group cfg", "west/Group cfg",
	}, names)
}

// FuzzAzureSighting reads rows of strangers.
func FuzzAzureSighting(f *testing.F) {
	for _, row := range []azureRow{
		azureCompliant(f, "edge-1"),
		azureCompliant(f, "edge-1", "compliance", "Non-Compliant", "problem", "x"),
		azureCompliant(f, "edge-1", "repository", "git@github.com:acme/gitops.git", "revision", nil),
		azureCompliant(f, "edge-1", "kustomizations", []any{1.0}, "statuses", azureRow{"kind": 1.0}),
	} {
		text, err := json.Marshal(row)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(`{"id":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var row azureRow
		if json.Unmarshal(text, &row) != nil {
			return
		}
		seen, ours, err := azureSighting(row, azureWanted)
		if err != nil || !ours {
			assert.Equal(t, azureSeen{}, seen)
			return
		}
		assert.NotEmpty(t, seen.Reconciler)
		assert.NotEmpty(t, azureNamed([]azureSeen{seen})[0].Cluster)
		assert.Contains(t, []promote.State{promote.Compliant, promote.Pending, promote.Failed}, seen.State)
		assert.NotContains(t, seen.ClusterType, "/")
		assert.Less(t, len(seen.Message), 5*(maxAzureReason+8))
		if seen.Commit == "" {
			assert.Equal(t, promote.Pending, seen.State)
		} else {
			assert.Equal(t, seen.Commit, azureCommit(seen.Commit))
		}
		if seen.State == promote.Compliant {
			assert.Empty(t, seen.Message)
			assert.True(t, strings.EqualFold("Compliant", azureText(row, "compliance")))
		}
	})
}
