package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// assign schedules a fleet, which must have no diagnostics.
func assign(t testing.TB, documents ...string) []string {
	t.Helper()
	assignments, diags := schedule.Assign(readFleet(t, documents...))
	require.Empty(t, messages(diags))
	return summary(assignments)
}

func TestAssign(t *testing.T) {
	t.Parallel()
	objects := []string{
		target("cart", "workspace: shop, workload: cart, tier: web"), target("ledger", "workspace: bank, workload: ledger"),
		clusterType("edge", "site: store"), clusterType("cloud", "site: azure"),
	}
	tests := []struct {
		name   string
		policy string
		want   []string
	}{
		{"absent selectors", `{}`, []string{"cloud/cart: p", "cloud/ledger: p", "edge/cart: p", "edge/ledger: p"}},
		{
			"empty selectors",
			`{deploymentTargetSelector: {labelSelector: {}}, clusterTypeSelector: {labelSelector: {matchLabels: {}, matchExpressions: []}}}`,
			[]string{"cloud/cart: p", "cloud/ledger: p", "edge/cart: p", "edge/ledger: p"},
		},
		{"null selectors", `{deploymentTargetSelector: null, clusterTypeSelector: {labelSelector: null}}`, []string{"cloud/cart: p", "cloud/ledger: p", "edge/cart: p", "edge/ledger: p"}},
		{"an empty workspace is any", `{deploymentTargetSelector: {workspace: ""}, clusterTypeSelector: {labelSelector: {matchLabels: {site: store}}}}`, []string{"edge/cart: p", "edge/ledger: p"}},
		{"a workspace", `{deploymentTargetSelector: {workspace: bank}}`, []string{"cloud/ledger: p", "edge/ledger: p"}},
		{"a workspace and a selector", `{deploymentTargetSelector: {workspace: shop, labelSelector: {matchLabels: {tier: web}}}, clusterTypeSelector: {labelSelector: {matchLabels: {site: store}}}}`, []string{"edge/cart: p"}},
		{"workload is a label", `{deploymentTargetSelector: {labelSelector: {matchLabels: {workload: ledger}}}, clusterTypeSelector: {labelSelector: {matchLabels: {site: store}}}}`, []string{"edge/ledger: p"}},
		{"workspace is a label", `{deploymentTargetSelector: {labelSelector: {matchExpressions: [{key: workspace, operator: In, values: [shop]}]}}, clusterTypeSelector: {labelSelector: {matchLabels: {site: store}}}}`, []string{"edge/cart: p"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, assign(t, append([]string{policy("p", test.policy)}, objects...)...))
		})
	}
}

func TestAssignNothing(t *testing.T) {
	t.Parallel()
	assert.Empty(t, assign(t, target("cart", ""), clusterType("edge", "")))
}

// Two policies with the same assignment are both reasons of one assignment.
func TestAssignWithTwoReasons(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"cloud/cart: all", "edge/cart: all stores"}, assign(t,
		policy("stores", `{clusterTypeSelector: {labelSelector: {matchLabels: {site: store}}}}`), everything("all"),
		target("cart", ""), clusterType("edge", "site: store"), clusterType("cloud", "site: azure")))
}

// Assignments are not identified by joined names: "a-b" on "c" and "a" on "b-c" are two.
func TestAssignDoesNotJoinNames(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"b-c/a: p", "b-c/a-b: p", "c/a: p", "c/a-b: p"},
		assign(t, everything("p"), target("a", ""), target("a-b", ""), clusterType("c", ""), clusterType("b-c", "")))
}

// More than 64 objects need more than one word of a set.
func TestAssignMany(t *testing.T) {
	t.Parallel()
	documents := []string{policy("even", `{deploymentTargetSelector: {labelSelector: {matchLabels: {parity: even}}}}`), clusterType("edge", "")}
	var want []string
	for i := range 200 {
		parity := "odd"
		if i%2 == 0 {
			parity = "even"
			want = append(want, fmt.Sprintf("edge/t%03d: even", i))
		}
		documents = append(documents, target(fmt.Sprintf("t%03d", i), "parity: "+parity))
	}
	assert.Equal(t, want, assign(t, documents...))
}

func TestAssignWarnsOfPoliciesThatMatchNothing(t *testing.T) {
	t.Parallel()
	const targets, clusterTypes = `deploymentTargetSelector: {labelSelector: {matchLabels: {site: stroe}}}`, `clusterTypeSelector: {labelSelector: {matchLabels: {site: stroe}}}`
	const (
		noTarget      = `SchedulingPolicy "p" selects site=stroe, but no deployment target has that label [no-match]` + "\n    hint: one of workspace\n"
		noClusterType = `SchedulingPolicy "p" selects site=stroe, but no cluster type has that label [no-match]` + "\n" +
			`    cp:a.yaml:13:39: similar label` + "\n" + `    hint: ClusterType "edge" has site=store` + "\n"
	)
	tests := []struct{ policy, want string }{
		{"{" + targets + "}", `4:71: warning: ` + noTarget},
		{"{" + clusterTypes + "}", `4:66: warning: ` + noClusterType},
		{"{" + targets + ", " + clusterTypes + "}", `3:18: warning: SchedulingPolicy "p" selects no deployment target and no cluster type [no-match]` + "\n"},
		{
			"{clusterTypeSelector: {labelSelector: {matchExpressions: [{key: site, operator: NotIn, values: [store]}]}}}",
			`3:18: warning: SchedulingPolicy "p" selects no cluster type [no-match]` + "\n",
		},
		{
			"{deploymentTargetSelector: {workspace: bank}}",
			`4:46: warning: SchedulingPolicy "p" is for workspace "bank", which has no deployment target here [no-match]` + "\n    hint: one of shop\n",
		},
		{"{deploymentTargetSelector: {workspace: shop}}", ""},
	}
	for _, test := range tests {
		t.Run(test.policy, func(t *testing.T) {
			t.Parallel()
			fleet := readFleet(t, policy("p", test.policy), target("cart", "workspace: shop"), clusterType("edge", "site: store"))
			_, diags := schedule.Assign(fleet)
			assert.Equal(t, test.want, messages(diags))

			fleet.Incomplete = true // what could not be read may match
			_, diags = schedule.Assign(fleet)
			assert.Empty(t, diags)
		})
	}
}

func TestAssignInAnEmptyFleet(t *testing.T) {
	t.Parallel()
	assignments, diags := schedule.Assign(readFleet(t, everything("p")))
	assert.Empty(t, assignments)
	assert.Equal(t, `3:18: warning: SchedulingPolicy "p" selects no deployment target and no cluster type [no-match]`+"\n", messages(diags))
}

// A policy with errors assigns nothing.
func TestAssignLeavesOutBrokenPolicies(t *testing.T) {
	t.Parallel()
	fleet, diags := tryFleet(policy("p", `{clusterTypeSelektor: {}}`), target("cart", ""), clusterType("edge", ""))
	require.True(t, diags.HasErrors())
	assignments, diags := schedule.Assign(fleet)
	assert.Empty(t, assignments)
	assert.Empty(t, diags)
}

// randomDocuments are the parts of a fleet, with few enough keys and values that most policies
// match something.
func randomDocuments(random *rand.Rand) (policies, targets, clusterTypes []string) {
	for i := range 1 + random.IntN(6) {
		policies = append(policies, policy(fmt.Sprintf("p%d", i), fmt.Sprintf(
			"{deploymentTargetSelector: {workspace: %q, labelSelector: %s}, clusterTypeSelector: {labelSelector: %s}}",
			pick(random, "", "", "shop", "bank"), randomSelector(random), randomSelector(random))))
	}
	for i := range random.IntN(8) {
		targets = append(targets, target(fmt.Sprintf("t%d", i), randomLabels(random)+"workspace: "+pick(random, "shop", "bank")))
	}
	for i := range random.IntN(6) {
		clusterTypes = append(clusterTypes, clusterType(fmt.Sprintf("c%d", i), randomLabels(random)))
	}
	return policies, targets, clusterTypes
}

func pick(random *rand.Rand, choices ...string) string { return choices[random.IntN(len(choices))] }

func randomLabels(random *rand.Rand) string {
	labels := ""
	for _, key := range []string{"a", "b", "c"} {
		if random.IntN(2) == 0 {
			labels += fmt.Sprintf("%s: %q, ", key, pick(random, "", "x", "y"))
		}
	}
	return labels
}

func randomSelector(random *rand.Rand) string {
	key := func() string { return pick(random, "a", "b", "c") }
	value := func() string { return pick(random, `""`, "x", `"y"`) }
	switch random.IntN(6) {
	case 0:
		return fmt.Sprintf("{matchLabels: {%s: %s}}", key(), value())
	case 1:
		return fmt.Sprintf("{matchExpressions: [{key: %s, operator: Exists}]}", key())
	case 2:
		return fmt.Sprintf("{matchExpressions: [{key: %s, operator: DoesNotExist}]}", key())
	case 3:
		return fmt.Sprintf("{matchExpressions: [{key: %s, operator: NotIn, values: [%s, %s]}]}", key(), value(), value())
	case 4:
		return fmt.Sprintf("{matchLabels: {a: x}, matchExpressions: [{key: %s, operator: In, values: [%s, %s]}]}", key(), value(), value())
	default:
		return "{}"
	}
}

// The order in which objects are read changes neither assignments nor reasons.
func TestAssignDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	for range 150 {
		policies, targets, clusterTypes := randomDocuments(random)
		documents := slices.Concat(policies, targets, clusterTypes)
		want, _ := schedule.Assign(readFleet(t, documents...))
		random.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
		got, _ := schedule.Assign(readFleet(t, documents...))
		require.Equal(t, summary(want), summary(got))
	}
}

// An additional object changes no other assignment.
func TestAssignUnrelatedObjectsChangeNothing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 2))
	for range 150 {
		policies, targets, clusterTypes := randomDocuments(random)
		documents := slices.Concat(policies, targets, clusterTypes)
		before, _ := schedule.Assign(readFleet(t, documents...))
		documents = append(documents, target("new", randomLabels(random)), clusterType("newer", randomLabels(random)),
			policy("newest", `{deploymentTargetSelector: {workspace: nobody}}`))
		after, _ := schedule.Assign(readFleet(t, documents...))
		after = slices.DeleteFunc(after, func(a schedule.Assignment) bool {
			return a.Target.Name.Value == "new" || a.ClusterType.Name.Value == "newer"
		})
		require.Equal(t, summary(before), summary(after))
	}
}

// Every assignment has a reason, and Explainer agrees with Assign about every pair.
func TestExplainAgreesWithAssign(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	for range 150 {
		policies, targets, clusterTypes := randomDocuments(random)
		fleet := readFleet(t, slices.Concat(policies, targets, clusterTypes)...)
		assignments, _ := schedule.Assign(fleet)
		reasons := map[[2]string][]*model.SchedulingPolicy{}
		for _, a := range assignments {
			require.NotEmpty(t, a.Reasons)
			reasons[[2]string{a.ClusterType.Name.Value, a.Target.Name.Value}] = a.Reasons
		}
		explainer := schedule.NewExplainer(fleet)
		for _, clusterType := range fleet.ClusterTypes {
			for _, target := range fleet.Targets {
				results := explainer.PolicyResults(target, clusterType)
				require.Len(t, results, len(fleet.Policies))
				var assigning []*model.SchedulingPolicy
				for _, v := range results {
					if v.Assigns() {
						assigning = append(assigning, v.Policy)
					}
				}
				require.Equal(t, reasons[[2]string{clusterType.Name.Value, target.Name.Value}], assigning)
				require.Equal(t, assigning, explainer.Reasons(target, clusterType))
			}
		}
	}
}

// A selector with ten thousand values or expressions is fast: values are looked up, not compared one by one for each
// target.
func TestS8LargeSelectors(t *testing.T) {
	t.Parallel()
	many := func(format, separator string) string {
		parts := make([]string, 10_000)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, separator)
	}
	documents := []string{clusterType("edge", "")}
	for i := range 500 {
		documents = append(documents, target(fmt.Sprintf("t%03d", i), fmt.Sprintf("number: v%d", i*100)))
	}
	for name, c := range map[string]struct {
		selector string
		want     int
	}{
		"values":      {"{matchExpressions: [{key: number, operator: In, values: [" + many("v%d", ", ") + "]}]}", 100},
		"no values":   {"{matchExpressions: [{key: number, operator: NotIn, values: [" + many("v%d", ", ") + "]}]}", 400},
		"expressions": {"{matchExpressions: [" + many("{key: number, operator: NotIn, values: [v%d]}", ", ") + "]}", 400},
		"labels":      {"{matchLabels: {" + many("k%d: v", ", ") + "}}", 0},
	} {
		fleet := readFleet(t, append([]string{policy("p", "{deploymentTargetSelector: {labelSelector: "+c.selector+"}}")}, documents...)...)
		assignments, diags := schedule.Assign(fleet)
		require.False(t, diags.HasErrors(), name)
		assert.Len(t, assignments, c.want, name)
	}
}
