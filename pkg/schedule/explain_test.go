package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// misses explains the only pair of a fleet with one policy.
func misses(t *testing.T, spec, targetLabels, clusterTypeLabels string) []string {
	t.Helper()
	fleet := readFleet(t, policy("p", spec), target("cart", targetLabels), clusterType("edge", clusterTypeLabels))
	verdicts := schedule.Explain(fleet, fleet.Targets[0], fleet.ClusterTypes[0])
	require.Len(t, verdicts, 1)
	lines := []string{}
	for _, miss := range verdicts[0].Misses {
		require.False(t, miss.At.IsZero())
		lines = append(lines, miss.Message)
	}
	assert.Equal(t, len(lines) == 0, verdicts[0].Assigns)
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
		{"workspace", `{deploymentTargetSelector: {workspace: bank}}`, []string{`wants workspace "bank", but the deployment target is of "shop"`}},
		{"value", targets(`{matchLabels: {tier: db}}`), []string{`wants tier=db, but the deployment target has tier=web`}},
		{"no label", targets(`{matchLabels: {size: large}}`), []string{`wants size=large, but the deployment target has no label "size"`}},
		{"in", targets(`{matchExpressions: [{key: tier, operator: In, values: [z, db]}]}`), []string{`wants tier in (db,z), but the deployment target has tier=web`}},
		{"not in", targets(`{matchExpressions: [{key: tier, operator: NotIn, values: [web]}]}`), []string{`wants tier notin (web), but the deployment target has tier=web`}},
		{"exists", targets(`{matchExpressions: [{key: size, operator: Exists}]}`), []string{`wants size, but the deployment target has no label "size"`}},
		{"does not exist", targets(`{matchExpressions: [{key: tier, operator: DoesNotExist}]}`), []string{`wants !tier, but the deployment target has the label "tier"`}},
		{"cluster type", `{clusterTypeSelector: {labelSelector: {matchLabels: {site: azure}}}}`, []string{`wants site=azure, but the cluster type has site=store`}},
		{
			"all of them, in the order of the file",
			`{clusterTypeSelector: {labelSelector: {matchLabels: {size: large, site: azure}}}, deploymentTargetSelector: {workspace: bank, labelSelector: {matchLabels: {tier: db, b: x, a: x}}}}`,
			[]string{
				`wants workspace "bank", but the deployment target is of "shop"`,
				`wants tier=db, but the deployment target has tier=web`,
				`wants b=x, but the deployment target has no label "b"`,
				`wants a=x, but the deployment target has no label "a"`,
				`wants size=large, but the cluster type has no label "size"`,
				`wants site=azure, but the cluster type has site=store`,
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

// Labels that share a value by an alias stand at one place; they are told in the same order anyway.
func TestExplainIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	for range 30 {
		assert.Equal(t, []string{
			`wants a=x, but the deployment target has no label "a"`,
			`wants b=x, but the deployment target has no label "b"`,
			`wants c=x, but the deployment target has no label "c"`,
		}, misses(t, `{deploymentTargetSelector: {labelSelector: {matchLabels: {c: &v x, b: *v, a: *v}}}}`, "", ""))
	}
}

func TestExplainLeavesOutInvalidPolicies(t *testing.T) {
	t.Parallel()
	fleet := readFleet(t, target("cart", ""), clusterType("edge", ""), everything("good"),
		policy("bad", `{clusterTypeSelector: {labelSelector: {matchExpressions: [{key: a, operator: Like}]}}}`))
	verdicts := schedule.Explain(fleet, fleet.Targets[0], fleet.ClusterTypes[0])
	require.Len(t, verdicts, 1)
	assert.Equal(t, "good", verdicts[0].Policy.Name.Value)
}
