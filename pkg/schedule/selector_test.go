package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

func TestSelectors(t *testing.T) {
	t.Parallel()
	objects := []string{
		target("large-web", "size: large, tier: web"), target("small-web", "size: small, tier: web"),
		target("large", "size: large"), target("empty", `size: ""`), target("none", ""),
	}
	tests := []struct {
		selector string
		want     string
	}{
		{`{}`, "empty large large-web none small-web"},
		{`{matchLabels: {size: large}}`, "large large-web"},
		{`{matchLabels: {size: large, tier: web}}`, "large-web"},
		{`{matchLabels: {size: ""}}`, "empty"},
		{`{matchExpressions: [{key: size, operator: In, values: [large, small]}]}`, "large large-web small-web"},
		{`{matchExpressions: [{key: size, operator: In, values: [large, large]}]}`, "large large-web"},
		{`{matchExpressions: [{key: size, operator: In, values: [""]}]}`, "empty"},
		{`{matchExpressions: [{key: size, operator: In, values: [huge]}]}`, ""},
		{`{matchExpressions: [{key: size, operator: NotIn, values: [large]}]}`, "empty none small-web"},
		{`{matchExpressions: [{key: size, operator: NotIn, values: [large, ""]}]}`, "none small-web"},
		{`{matchExpressions: [{key: colour, operator: NotIn, values: [red]}]}`, "empty large large-web none small-web"},
		{`{matchExpressions: [{key: size, operator: Exists}]}`, "empty large large-web small-web"},
		{`{matchExpressions: [{key: size, operator: Exists, values: []}]}`, "empty large large-web small-web"},
		{`{matchExpressions: [{key: colour, operator: Exists}]}`, ""},
		{`{matchExpressions: [{key: tier, operator: DoesNotExist}]}`, "empty large none"},
		{`{matchExpressions: [{key: colour, operator: DoesNotExist}]}`, "empty large large-web none small-web"},
		{`{matchLabels: {tier: web}, matchExpressions: [{key: size, operator: NotIn, values: [small]}]}`, "large-web"},
		{`{matchExpressions: [{key: size, operator: Exists}, {key: tier, operator: DoesNotExist}]}`, "empty large"},
		{`{matchLabels: {size: large}, matchExpressions: [{key: size, operator: In, values: [small]}]}`, ""},
	}
	for _, test := range tests {
		t.Run(test.selector, func(t *testing.T) {
			t.Parallel()
			spec := "{deploymentTargetSelector: {labelSelector: " + test.selector + "}}"
			assignments, diags := schedule.Assign(readFleet(t, append(objects, policy("p", spec), clusterType("c", ""))...))
			require.False(t, diags.HasErrors(), messages(diags))
			var names []string
			for _, a := range assignments {
				names = append(names, a.Target.Name.Value)
			}
			assert.Equal(t, test.want, strings.Join(names, " "))
		})
	}
}

func TestInvalidSelectors(t *testing.T) {
	t.Parallel()
	const segment = `must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`
	tests := []struct {
		name, selector, want string
	}{
		{
			"unknown operator", `{matchExpressions: [{key: a, operator: Like, values: [x]}]}`,
			`7:49: error: unknown operator "Like" [invalid-selector]` + "\n    hint: one of DoesNotExist, Exists, In, NotIn\n",
		},
		{
			"misspelt operator", `{matchExpressions: [{key: a, operator: notIn, values: [x]}]}`,
			`7:49: error: unknown operator "notIn" [invalid-selector]` + "\n    hint: did you mean \"NotIn\"?\n",
		},
		{
			"kubectl's operator", `{matchExpressions: [{key: a, operator: "=", values: [x]}]}`,
			`7:49: error: unknown operator "=" [invalid-selector]` + "\n    hint: one of DoesNotExist, Exists, In, NotIn\n",
		},
		{
			"In without values", `{matchExpressions: [{key: a, operator: In}]}`,
			`7:30: error: invalid selector: operator In needs values for key "a" [invalid-selector]` + "\n",
		},
		{
			"NotIn with no values", `{matchExpressions: [{key: a, operator: NotIn, values: []}]}`,
			`7:30: error: invalid selector: operator NotIn needs values for key "a" [invalid-selector]` + "\n",
		},
		{
			"Exists with values", `{matchExpressions: [{key: a, operator: Exists, values: [x]}]}`,
			`7:30: error: invalid selector: operator Exists takes no values for key "a" [invalid-selector]` + "\n",
		},
		{
			"DoesNotExist with values", `{matchExpressions: [{key: a, operator: DoesNotExist, values: [x]}]}`,
			`7:30: error: invalid selector: operator DoesNotExist takes no values for key "a" [invalid-selector]` + "\n",
		},
		{
			"key", `{matchExpressions: [{key: "a b", operator: Exists}]}`,
			`7:30: error: invalid selector: "a b": name part ` + segment + ` [invalid-selector]` + "\n",
		},
		{
			"value", `{matchExpressions: [{key: a, operator: In, values: [good, "-bad"]}]}`,
			`7:30: error: invalid selector: "-bad": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character [invalid-selector]` + "\n",
		},
		{
			"key of matchLabels", `{matchLabels: {"a//b": x}}`,
			`7:33: error: invalid selector: "a//b": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character [invalid-selector]` + "\n",
		},
		{
			"value of matchLabels", `{matchLabels: {a: "x y"}}`,
			`7:28: error: invalid selector: "x y": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character [invalid-selector]` + "\n",
		},
		{
			"all at once", `{matchLabels: {a: "x y"}, matchExpressions: [{key: a, operator: Like}, {key: b, operator: In}]}`,
			`7:28: error: invalid selector: "x y": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character [invalid-selector]` + "\n" +
				`7:74: error: unknown operator "Like" [invalid-selector]` + "\n    hint: one of DoesNotExist, Exists, In, NotIn\n" +
				`7:81: error: invalid selector: operator In needs values for key "b" [invalid-selector]` + "\n",
		},
	}
	for _, test := range tests {
		for _, side := range []string{"deploymentTargetSelector", "clusterTypeSelector"} {
			t.Run(test.name+" in "+side, func(t *testing.T) {
				t.Parallel()
				spec := "\n  " + side + ":\n    labelSelector:\n" + strings.Repeat(" ", 9) + test.selector
				assignments, diags := schedule.Assign(readFleet(t, policy("p", spec), target("cart", ""), clusterType("edge", "")))
				assert.Empty(t, assignments)
				assert.Equal(t, test.want, messages(diags))
			})
		}
	}
}

// pair is a fleet of one target on one cluster type, with one policy that selects the target.
func pair(targetLabels map[string]string, selector model.Selector) *model.Fleet {
	labels := map[string]model.Text{}
	for key, value := range targetLabels {
		labels[key] = model.Text{Value: value}
	}
	object := func(name string) model.Object { return model.Object{Name: model.Text{Value: name}} }
	target := &model.DeploymentTarget{Object: object("t")}
	target.Labels = labels
	return &model.Fleet{Contents: model.Contents{
		Targets: []*model.DeploymentTarget{target}, ClusterTypes: []*model.ClusterType{{Object: object("c")}},
		Policies: []*model.SchedulingPolicy{{Object: object("p"), Targets: selector}},
	}}
}

// condition is a requirement for both implementations; the zero operator is that of matchLabels.
type condition struct {
	key, operator string
	values        []string
}

// theirs returns the selector of Kubernetes.
func theirs(conditions []condition) (labels.Selector, error) {
	operators := map[string]selection.Operator{
		"": selection.Equals, "In": selection.In, "NotIn": selection.NotIn, "Exists": selection.Exists, "DoesNotExist": selection.DoesNotExist,
	}
	selector := labels.NewSelector()
	for _, c := range conditions {
		operator, known := operators[c.operator]
		if !known {
			return nil, fmt.Errorf("unknown operator %q", c.operator)
		}
		requirement, err := labels.NewRequirement(c.key, operator, c.values)
		if err != nil {
			return nil, err
		}
		selector = selector.Add(*requirement)
	}
	return selector, nil
}

// ours returns the same selector as in a policy.
func ours(conditions []condition) model.Selector {
	selector := model.Selector{MatchLabels: map[string]model.Text{}}
	for _, c := range conditions {
		if c.operator == "" {
			selector.MatchLabels[c.key] = model.Text{Value: c.values[0]}
			continue
		}
		r := model.Requirement{Key: model.Text{Value: c.key}, Operator: model.Text{Value: c.operator}}
		for _, value := range c.values {
			r.Values = append(r.Values, model.Text{Value: value})
		}
		selector.MatchExpressions = append(selector.MatchExpressions, r)
	}
	return selector
}

// A selector selects the same objects as in Kubernetes.
func TestSelectorsAgreeWithKubernetes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(4, 4))
	keys, values := []string{"a", "b", "example.com/c"}, []string{"", "x", "y", "z"}
	matched := 0
	for range 20_000 {
		has := map[string]string{}
		for _, key := range keys {
			if random.IntN(2) == 0 {
				has[key] = pick(random, values...)
			}
		}
		var conditions []condition
		if random.IntN(3) == 0 {
			conditions = append(conditions, condition{pick(random, keys...), "", []string{pick(random, values...)}})
		}
		for range random.IntN(3) {
			c := condition{key: pick(random, keys...), operator: pick(random, "In", "NotIn", "Exists", "DoesNotExist")}
			if strings.HasSuffix(c.operator, "In") {
				c.values = []string{pick(random, values...), pick(random, values...)}[:1+random.IntN(2)]
			}
			conditions = append(conditions, c)
		}
		selector, err := theirs(conditions)
		require.NoError(t, err)
		assignments, diags := schedule.Assign(pair(has, ours(conditions)))
		require.False(t, diags.HasErrors())
		require.Equal(t, selector.Matches(labels.Set(has)), len(assignments) == 1, "%s on %v", selector, has)
		matched += len(assignments)
	}
	assert.Greater(t, matched, 4000, "too few selectors match for this to prove much")
	assert.Less(t, matched, 16_000)
}

// FuzzSelector: a selector is invalid if it is invalid in Kubernetes, and else selects the same objects.
func FuzzSelector(f *testing.F) {
	f.Add("size", "In", "large", "small", "size", "large")
	f.Add("size", "NotIn", "large", "", "tier", "web")
	f.Add("a//b", "Exists", "", "", "", "")
	f.Add("a", "DoesNotExist", "", "", "a", "")
	f.Add("", "In", "x", "", "a", "x")
	f.Add("a", "Like", "-x", "", "a", "x")
	f.Fuzz(func(t *testing.T, key, operator, first, second, labelKey, labelValue string) {
		c := condition{key: key, operator: operator}
		for _, value := range []string{first, second} {
			if value != "" {
				c.values = append(c.values, value)
			}
		}
		if key == "" || operator == "" {
			return // the model reports what is missing
		}
		has := map[string]string{labelKey: labelValue}
		assignments, diags := schedule.Assign(pair(has, ours([]condition{c})))
		selector, err := theirs([]condition{c})
		require.Equal(t, err != nil, diags.HasErrors(), "%v: %v", err, diags)
		if err == nil {
			require.Equal(t, selector.Matches(labels.Set(has)), len(assignments) == 1)
		}
	})
}

// Operators that only labels.NewRequirement accepts are invalid.
func TestOperatorsAreThoseOfLabelSelectors(t *testing.T) {
	t.Parallel()
	for _, operator := range []selection.Operator{
		selection.Equals, selection.DoubleEquals, selection.NotEquals, selection.GreaterThan, selection.LessThan, selection.In, selection.DoesNotExist,
	} {
		_, diags := schedule.Assign(pair(nil, ours([]condition{{"a", string(operator), []string{"1"}}})))
		assert.Contains(t, messages(diags), fmt.Sprintf("unknown operator %q", string(operator)))
	}
}
