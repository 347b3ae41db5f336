package schedule_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// misses returns the misses of the only pair of a fleet with one policy.
func misses(t *testing.T, spec, targetLabels, clusterTypeLabels string) []string {
	t.Helper()
	fleet := readFleet(t, policy("p", spec), target("cart", targetLabels), clusterType("edge", clusterTypeLabels))
	results := schedule.NewExplainer(fleet).PolicyResults(fleet.Targets[0], fleet.ClusterTypes[0])
	require.Len(t, results, 1)
	lines := []string{}
	for _, miss := range results[0].Misses {
		require.False(t, miss.At.IsZero())
		lines = append(lines, miss.Message)
	}
	assert.Equal(t, len(lines) == 0, results[0].Assigns())
	return lines
}

func TestExplainMisses(t *testing.T) {
	t.Parallel()
	targets := func(selector string) string { return "{deploymentTargetSelector: {labelSelector: " + selector + "}}" }
	tests := []struct {
		name, policy string
		want         []string
	}{
		{"nothing", `{}`, []string{}},
		{"workspace", `{deploymentTargetSelector: {workspace: bank}}`, []string{`requires workspace "bank", but the deployment target is of "shop"`}},
		{"value", targets(`{matchLabels: {tier: db}}`), []string{`requires tier=db, but the deployment target has tier=web`}},
		{"no label", targets(`{matchLabels: {size: large}}`), []string{`requires size=large, but the deployment target has no label "size"`}},
		{"in", targets(`{matchExpressions: [{key: tier, operator: In, values: [z, db]}]}`), []string{`requires tier in (db,z), but the deployment target has tier=web`}},
		{"not in", targets(`{matchExpressions: [{key: tier, operator: NotIn, values: [web]}]}`), []string{`requires tier notin (web), but the deployment target has tier=web`}},
		{"exists", targets(`{matchExpressions: [{key: size, operator: Exists}]}`), []string{`requires size, but the deployment target has no label "size"`}},
		{"does not exist", targets(`{matchExpressions: [{key: tier, operator: DoesNotExist}]}`), []string{`requires !tier, but the deployment target has the label "tier"`}},
		{"cluster type", `{clusterTypeSelector: {labelSelector: {matchLabels: {site: azure}}}}`, []string{`requires site=azure, but the cluster type has site=store`}},
		{
			"all of them, in the order of the file",
			`{clusterTypeSelector: {labelSelector: {matchLabels: {size: large, site: azure}}}, deploymentTargetSelector: {workspace: bank, labelSelector: {matchLabels: {tier: db, b: x, a: x}}}}`,
			[]string{
				`requires workspace "bank", but the deployment target is of "shop"`,
				`requires tier=db, but the deployment target has tier=web`,
				`requires b=x, but the deployment target has no label "b"`,
				`requires a=x, but the deployment target has no label "a"`,
				`requires size=large, but the cluster type has no label "size"`,
				`requires site=azure, but the cluster type has site=store`,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, misses(t, test.policy, "tier: web, workspace: shop", "site: store"))
		})
	}
}

// Labels whose value is the same alias have the same place; their order is deterministic.
func TestExplainIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	for range 30 {
		assert.Equal(t, []string{
			`requires a=x, but the deployment target has no label "a"`,
			`requires b=x, but the deployment target has no label "b"`,
			`requires c=x, but the deployment target has no label "c"`,
		}, misses(t, `{deploymentTargetSelector: {labelSelector: {matchLabels: {c: &v x, b: *v, a: *v}}}}`, "", ""))
	}
}

func TestExplainLeavesOutInvalidPolicies(t *testing.T) {
	t.Parallel()
	fleet := readFleet(t, target("cart", ""), clusterType("edge", ""), everything("good"),
		policy("bad", `{clusterTypeSelector: {labelSelector: {matchExpressions: [{key: a, operator: Like}]}}}`))
	results := schedule.NewExplainer(fleet).PolicyResults(fleet.Targets[0], fleet.ClusterTypes[0])
	require.Len(t, results, 1)
	assert.Equal(t, "good", results[0].Policy.Name.Value)
}

// resultsOf returns the results for the first target on the first cluster type.
func resultsOf(t *testing.T, documents ...string) []schedule.PolicyResult {
	t.Helper()
	fleet := readFleet(t, documents...)
	return schedule.NewExplainer(fleet).PolicyResults(fleet.Targets[0], fleet.ClusterTypes[0])
}

func TestExplainSides(t *testing.T) {
	t.Parallel()
	results := resultsOf(t, target("cart", "workspace: shop, tier: web"), clusterType("edge", "site: store"),
		policy("p", `{deploymentTargetSelector: {workspace: bank, labelSelector: {matchLabels: {tier: db, size: s}}}, clusterTypeSelector: {labelSelector: {matchLabels: {site: azure}}}}`))
	require.Len(t, results, 1)
	var got []string
	for _, m := range results[0].Misses {
		require.False(t, m.At.IsZero())
		found := "nothing"
		if m.Found != nil {
			found = *m.Found
		}
		got = append(got, fmt.Sprintf("%s %q: %s, %s", m.Side, m.Label, m.Wants, found))
	}
	assert.Equal(t, []string{
		`deployment target "": bank, shop`,
		`deployment target "tier": tier=db, web`,
		`deployment target "size": size=s, nothing`,
		`cluster type "site": site=azure, store`,
	}, got)
}

func TestNearest(t *testing.T) {
	t.Parallel()
	const cart, edge = "workspace: shop, tier: web, size: s", "site: store, region: west"
	tests := []struct {
		name     string
		policies []string
		want     string
	}{
		{"one that assigns", []string{everything("z"), policy("a", "{clusterTypeSelector: {labelSelector: {matchLabels: {site: azure}}}}")}, "z"},
		{"fewer misses", []string{
			policy("a", "{clusterTypeSelector: {labelSelector: {matchLabels: {site: azure, region: east}}}}"),
			policy("b", "{clusterTypeSelector: {labelSelector: {matchLabels: {site: azure}}}}"),
		}, "b"},
		{"another workspace is farther than a label", []string{
			policy("a", "{deploymentTargetSelector: {workspace: bank}}"),
			policy("b", "{clusterTypeSelector: {labelSelector: {matchLabels: {site: azure}}}}"),
		}, "b"},
		{"the one that means the target", []string{
			policy("a", "{deploymentTargetSelector: {labelSelector: {matchLabels: {tier: db}}}}"),
			policy("b", "{clusterTypeSelector: {labelSelector: {matchLabels: {site: azure}}}}"),
		}, "b"},
		{"the first of equals", []string{
			policy("b", "{clusterTypeSelector: {labelSelector: {matchLabels: {site: azure}}}}"),
			policy("a", "{clusterTypeSelector: {labelSelector: {matchLabels: {region: east}}}}"),
		}, "a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			results := resultsOf(t, append(test.policies, target("cart", cart), clusterType("edge", edge))...)
			nearest, ok := schedule.Nearest(results)
			assert.True(t, ok)
			assert.Equal(t, test.want, nearest.Policy.Name.Value)
			sorted := schedule.NearestFirst(results)
			assert.Len(t, sorted, len(results))
			assert.Equal(t, nearest, sorted[0])
		})
	}
	_, ok := schedule.Nearest(nil)
	assert.False(t, ok)
}

func TestSelections(t *testing.T) {
	t.Parallel()
	fleet := readFleet(t, target("cart", "workspace: shop"), target("ledger", "workspace: bank"), clusterType("edge", "site: store"), clusterType("hub", "site: hub"),
		policy("bank", "{deploymentTargetSelector: {workspace: bank}, clusterTypeSelector: {labelSelector: {matchLabels: {site: hub}}}}"),
		policy("nobody", "{deploymentTargetSelector: {workspace: none}, clusterTypeSelector: {labelSelector: {matchLabels: {site: moon}}}}"))
	var got []string
	for _, s := range schedule.NewExplainer(fleet).Selections(fleet.ClusterTypes[0]) {
		line := fmt.Sprintf("%s: %d on %d", s.Policy.Name.Value, s.Targets, s.ClusterTypes)
		for _, m := range s.Misses {
			line += ", " + m.Message
		}
		got = append(got, line)
	}
	assert.Equal(t, []string{
		"bank: 1 on 1, requires site=hub, but the cluster type has site=store",
		"nobody: 0 on 0, requires site=moon, but the cluster type has site=store",
	}, got)
}
