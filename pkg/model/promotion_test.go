package model

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

const environmentHead = api + "kind: Environment\n"

// inField is an Environment with a text in spec.promotion.
func inField(promotion string) string {
	return environmentHead + "metadata: {name: dev}\nspec:\n  controlPlane: {repo: https://h/r, branch: dev}\n  promotion:\n" + indented(promotion, 4)
}

// inAnnotation is an Environment with a text in a literal block.
func inAnnotation(promotion string) string {
	return environmentHead + "spec: {controlPlane: {repo: https://h/r, branch: dev}}\nmetadata:\n  name: dev\n  annotations:\n    kalypso.io/promotion: |\n" +
		indented(promotion, 6)
}

func indented(text string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.Repeat(" ", columns) + line)
	}
	return b.String()
}

// promotionOf is what the only Environment of a text says.
func promotionOf(t *testing.T, content string) *Promotion {
	t.Helper()
	objects, diags := parseEnvironments(content)
	require.Empty(t, shown(diags))
	require.Len(t, objects.Environments, 1)
	return objects.Environments[0].Promotion
}

func parseEnvironments(content string) (*Objects, diag.List) {
	return parse(Main, tree{EnvironmentsDirectory + "/f.yaml": content})
}

const allChecks = `next: [stage, edge]
checks:
  fleet: ["flux:a,b", command:./state.sh]
  healthy: 99.5%
  timeout: 1h30m
  expect: 27
  clusterTypeSelector:
    labelSelector:
      matchLabels: {site: store}
      matchExpressions: [{key: size, operator: In, values: [small, large]}]
  statusLogins: [octocat, "kalypso[bot]"]
`

func sortedValues(texts []Text) []string {
	values := make([]string, len(texts))
	for i, text := range texts {
		values[i] = text.Value
	}
	slices.Sort(values)
	return values
}

func TestPromotion(t *testing.T) {
	t.Parallel()
	for where, content := range map[string]string{"field": inField(allChecks), "annotation": inAnnotation(allChecks)} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			p := promotionOf(t, content)
			require.NotNil(t, p)
			assert.Equal(t, []string{"edge", "stage"}, sortedValues(p.Next))
			assert.Equal(t, "stage", p.Next[0].Value, "they stay in order")
			assert.Equal(t, []string{"command:./state.sh", "flux:a,b"}, sortedValues(p.Checks.Fleets))
			assert.False(t, p.Checks.LeftToPerson())
			assert.Equal(t, "99.5%", p.Checks.Healthy.String())
			assert.Equal(t, 90*time.Minute, p.Checks.Timeout.Value)
			assert.Equal(t, 27, p.Checks.Expect.Value)
			assert.Equal(t, []string{"kalypso[bot]", "octocat"}, sortedValues(p.Checks.StatusLogins))
			assert.Equal(t, "store", p.Checks.ClusterTypes.MatchLabels["site"].Value)
			size := p.Checks.ClusterTypes.MatchExpressions[0]
			assert.Equal(t, "size In [small large]", fmt.Sprint(size.Key, " ", size.Operator, " ", size.Values))

			// Each value knows where it stands.
			lines := strings.Split(content, "\n")
			for text, at := range map[string]diag.Place{
				"stage": p.Next[0].At, "edge": p.Next[1].At, `"flux:a,b"`: p.Checks.Fleets[0].At, "99.5%": p.Checks.Healthy.At,
				"1h30m": p.Checks.Timeout.At, "27": p.Checks.Expect.At, "store": p.Checks.ClusterTypes.MatchLabels["site"].At,
				"octocat": p.Checks.StatusLogins[0].At, "next:": p.At, "fleet:": p.Checks.At,
			} {
				assert.True(t, strings.HasPrefix(lines[at.Line-1][at.Column-1:], text), "%s is not at %v", text, at)
			}
		})
	}
}

func TestPromotionValues(t *testing.T) {
	t.Parallel()
	none := func(t *testing.T, c Checks) {
		t.Helper()
		assert.True(t, c.LeftToPerson())
	}
	for checks, want := range map[string]func(*testing.T, Checks){
		"fleet: none":   none,
		"fleet: [none]": none,
		"fleet: ":       func(t *testing.T, c Checks) { assert.Empty(t, c.Fleets) },
		"fleet: azure-resource-graph": func(t *testing.T, c Checks) {
			assert.Equal(t, []string{"azure-resource-graph"}, sortedValues(c.Fleets))
		},
		"fleet: argocd:https://argocd.example.com": func(t *testing.T, c Checks) {
			assert.Equal(t, []string{"argocd:https://argocd.example.com"}, sortedValues(c.Fleets))
		},
		"healthy: 27":       func(t *testing.T, c Checks) { assert.Equal(t, "27", c.Healthy.String()) },
		"healthy: '27'":     func(t *testing.T, c Checks) { assert.Equal(t, "27", c.Healthy.String()) },
		"healthy: 017":      func(t *testing.T, c Checks) { assert.Equal(t, "15", c.Healthy.String(), "as Kubernetes reads it") },
		"healthy: '95%'":    func(t *testing.T, c Checks) { assert.Equal(t, "95%", c.Healthy.String()) },
		"healthy: 95.50%":   func(t *testing.T, c Checks) { assert.Equal(t, "95.5%", c.Healthy.String()) },
		"healthy: 100%":     func(t *testing.T, c Checks) { assert.Equal(t, "100%", c.Healthy.String()) },
		"healthy: 1%":       func(t *testing.T, c Checks) { assert.Equal(t, "1%", c.Healthy.String()) },
		"healthy: 99.9999%": func(t *testing.T, c Checks) { assert.Equal(t, "99.9999%", c.Healthy.String()) },
		"healthy: ~":        func(t *testing.T, c Checks) { assert.Equal(t, "100%", c.Healthy.String()) },
		"timeout: 90s":      func(t *testing.T, c Checks) { assert.Equal(t, 90*time.Second, c.Timeout.Value) },
		"timeout: '1.5h'":   func(t *testing.T, c Checks) { assert.Equal(t, 90*time.Minute, c.Timeout.Value) },
		"expect: 1":         func(t *testing.T, c Checks) { assert.Equal(t, 1, c.Expect.Value) },
		"statusLogins: ":    func(t *testing.T, c Checks) { assert.Empty(t, c.StatusLogins) },
		"statusLogins:\n  - ann_acme\n  - Kalypso[bot]": func(t *testing.T, c Checks) {
			assert.Equal(t, []string{"Kalypso[bot]", "ann_acme"}, sortedValues(c.StatusLogins))
		},
		"{}": func(t *testing.T, c Checks) { assert.Equal(t, Checks{At: c.At}, c) },
	} {
		t.Run(checks, func(t *testing.T) {
			t.Parallel()
			content := "checks:\n  " + checks + "\n"
			want(t, promotionOf(t, inField(content)).Checks)
			want(t, promotionOf(t, inAnnotation(content)).Checks)
		})
	}
}

// Problems are reported at their place, in the field and in the annotation.
func TestPromotionErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ promotion, want string }{
		{"nxt: [a]", `1:1 unknown field "nxt" in Environment PATH [unknown-field] did you mean "next"?`},
		{"next: stage", `1:7 PATH.next must be a list, but is the string "stage" [wrong-type] write next: [stage]`},
		{"next: [yes]", `1:8 PATH.next[0] must be a string, but is the boolean true (YAML reads yes so) [wrong-type] put it in quotes: "yes"`},
		{"next: [a]\nnext: [b]", `2:1 duplicate key "next" [duplicate-key] remove one of them`},
		{"checks: 5", `1:9 PATH.checks must be a map, but is the number 5 [wrong-type]`},
		{"checks: {health: 5}", `1:10 unknown field "health" in Environment PATH.checks [unknown-field] did you mean "healthy"?`},
		{"checks: {timeout: 30}", `1:19 Environment PATH.checks.timeout is "30" [invalid-value] write a duration above 0 with its unit, such as 90s, 30m or 2h`},
		{"checks: {timeout: 0s}", `1:19 Environment PATH.checks.timeout is "0s" [invalid-value] write a duration above 0 with its unit, such as 90s, 30m or 2h`},
		{"checks: {timeout: -5m}", `1:19 Environment PATH.checks.timeout is "-5m" [invalid-value] write a duration above 0 with its unit, such as 90s, 30m or 2h`},
		{"checks: {timeout: 1d}", `1:19 Environment PATH.checks.timeout is "1d" [invalid-value] write a duration above 0 with its unit, such as 90s, 30m or 2h`},
		{"checks: {timeout: 9999999h}", `1:19 Environment PATH.checks.timeout is "9999999h" [invalid-value] write a duration above 0 with its unit, such as 90s, 30m or 2h`},
		{"checks: {timeout: [30m]}", `1:19 PATH.checks.timeout must be a duration, but is a list [wrong-type]`},
		{"checks: {timeout: true}", `1:19 PATH.checks.timeout must be a duration, but is the boolean true [wrong-type]`},
		{"checks: {timeout: !!int 30m}", `1:19 PATH.checks.timeout has the tag !!int, which does not match its value [wrong-type] remove the tag`},
		{"checks: {expect: 0}", `1:18 Environment PATH.checks.expect is "0" [invalid-value] write a whole number above 0`},
		{"checks: {expect: -3}", `1:18 Environment PATH.checks.expect is "-3" [invalid-value] write a whole number above 0`},
		{"checks: {expect: 18446744073709551615}", `1:18 Environment PATH.checks.expect is "18446744073709551615" [invalid-value] write a whole number above 0`},
		{"checks: {expect: 2.5}", `1:18 PATH.checks.expect must be a whole number, but is the number 2.5 [wrong-type]`},
		{"checks: {expect: '27'}", `1:18 PATH.checks.expect must be a whole number, but is the string "27" [wrong-type]`},
		{"checks: {expect: {a: 1}}", `1:18 PATH.checks.expect must be a whole number, but is a map [wrong-type]`},
		{"checks: {healthy: true}", `1:19 PATH.checks.healthy must be a count or a percentage, but is the boolean true [wrong-type]`},
		{"checks: {healthy: [5]}", `1:19 PATH.checks.healthy must be a count or a percentage, but is a list [wrong-type]`},
		{"checks: {fleet: {}}", `1:17 PATH.checks.fleet must be a string or a list of strings, but is a map [wrong-type]`},
		{"checks: {fleet: 5}", `1:17 PATH.checks.fleet must be a string, but is the number 5 [wrong-type] put it in quotes: "5"`},
		{"checks:\n  fleet:\n  - [flux]", `3:5 PATH.checks.fleet[0] must be a string, but is a list [wrong-type]`},
		{"checks: {fleet: [none, flux]}", `1:18 Environment PATH.checks.fleet[0] is "none" [invalid-value] remove the others if a person sets the status, else "none"`},
		{"checks: {fleet: [flux, flux]}", `1:24 Environment PATH.checks.fleet[1] is "flux" [invalid-value] remove the duplicate`},
		{"checks: {statusLogins: ann}", `1:24 PATH.checks.statusLogins must be a list, but is the string "ann" [wrong-type] write statusLogins: [ann]`},
		{"checks: {statusLogins: [5]}", `1:25 PATH.checks.statusLogins[0] must be a string, but is the number 5 [wrong-type] put it in quotes: "5"`},
		{"checks: {statusLogins: ['@ann']}", `1:25 Environment PATH.checks.statusLogins[0] is "@ann" [invalid-value] write a GitHub login such as octocat, or NAME[bot] for a GitHub App`},
		{"checks: {statusLogins: [ann, ~]}", `1:30 Environment PATH.checks.statusLogins[1] is "~" [invalid-value] write a GitHub login such as octocat, or NAME[bot] for a GitHub App`},
		{"checks: {statusLogins: ['[bot]']}", `1:25 Environment PATH.checks.statusLogins[0] is "[bot]" [invalid-value] write a GitHub login such as octocat, or NAME[bot] for a GitHub App`},
		{"checks: {clusterTypeSelector: {matchLabels: {a: b}}}", `1:32 unknown field "matchLabels" in Environment PATH.checks.clusterTypeSelector [unknown-field] one of labelSelector`},
		{"checks: {clusterTypeSelector: {labelSelector: {matchExpressions: [{operator: In}]}}}", `1:67 Environment PATH.checks.clusterTypeSelector.labelSelector.matchExpressions[0].key is missing [missing-field] add PATH.checks.clusterTypeSelector.labelSelector.matchExpressions[0].key`},
	} {
		t.Run(c.promotion, func(t *testing.T) {
			t.Parallel()
			assertTold(t, inField(c.promotion+"\n"), c.want, "spec.promotion", 6, 4)
			assertTold(t, inAnnotation(c.promotion+"\n"), c.want, "annotation kalypso.io/promotion", 7, 6)
		})
	}
}

// assertTold compares the only error in a text with what is wanted; its place is relative to the
// promotion, which stands after that many lines and columns.
func assertTold(t *testing.T, content, want, path string, lines, columns int) {
	t.Helper()
	_, diags := parseEnvironments(content)
	require.Len(t, diags, 1)
	d := diags[0]
	assert.Equal(t, diag.Error, d.Severity)
	got := fmt.Sprintf("%d:%d %s [%s]", d.At.Line-lines, d.At.Column-columns, d.Message, d.Rule)
	if d.Hint != "" {
		got += " " + d.Hint
	}
	assert.Equal(t, strings.ReplaceAll(want, "PATH", path), got)
}

func TestHealthyRefused(t *testing.T) {
	t.Parallel()
	for _, healthy := range []string{
		"0", "-1", "2.5", "99.5", "'99.5'", "'0'", "'007'", "' 27'", "'+27'", "0%", "0.5%", "100.0001%", "101%", "1000%", "-5%", "95 %", "95%%", "'%'", "'.5%'", "5.%",
		"99.99999%", "95,5%", "1e2%", "''", "all", "1000000001", "18446744073709551616", "99999999999999999999", ".inf", ".nan",
	} {
		t.Run(healthy, func(t *testing.T) {
			t.Parallel()
			_, diags := parseEnvironments(inField("checks:\n  healthy: " + healthy + "\n"))
			assert.Equal(t, []string{"8:16 invalid-value"}, places(diags))
			assert.Contains(t, diags[0].Hint, `"99.5%"`)
		})
	}
}

func TestFleetRefused(t *testing.T) {
	t.Parallel()
	for _, fleet := range []string{"''", "' '", "':'", "':argument'", "Flux", "flux edge", "-flux", "flux-", "none:x", `"flux:a\nb"`, `"flux:\u202e"`, "[~]", "['']"} {
		t.Run(fleet, func(t *testing.T) {
			t.Parallel()
			_, diags := parseEnvironments(inField("checks:\n  fleet: " + fleet + "\n"))
			assert.Equal(t, []string{"invalid-value"}, rules(diags))
		})
	}
}

func TestHealthyOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		healthy     string
		total, want int
	}{
		{"95%", 30, 29},
		{"99.5%", 200, 199},
		{"99.5%", 201, 200},
		{"100%", 30, 30},
		{"1%", 1, 1},
		{"1%", 100, 1},
		{"1%", 101, 2},
		{"33.3333%", 3, 1},
		{"99.9999%", 1_000_000, 999_999},
		{"99.9999%", 1_000_001, 1_000_000},
		{"50%", 0, 0},
		{"50%", math.MaxInt, math.MaxInt/2 + 1},
		{"27", 30, 27},
		{"27", 20, 27},
		{"27", 0, 27},
		{"~", 30, 30},
		{"~", 0, 0},
	} {
		healthy := promotionOf(t, inField("checks: {healthy: "+c.healthy+"}\n")).Checks.Healthy
		assert.Equal(t, c.want, healthy.Of(c.total), "%s of %d", c.healthy, c.total)
	}
	assert.Equal(t, 7, Healthy{}.Of(7), "the zero value is all of them")
}

// Every share of every number of clusters is the exact product, rounded up.
func FuzzHealthyOf(f *testing.F) {
	f.Add(995_000, 200)
	f.Add(333_333, math.MaxInt)
	f.Fuzz(func(t *testing.T, share, total int) {
		if share < percent || share > millionths || total < 0 {
			return
		}
		product := new(big.Int).Mul(big.NewInt(int64(share)), big.NewInt(int64(total)))
		want, rest := new(big.Int).DivMod(product, big.NewInt(millionths), new(big.Int))
		if rest.Sign() > 0 {
			want.Add(want, big.NewInt(1))
		}
		h := Healthy{Share: share}
		require.Equal(t, want.Int64(), int64(h.Of(total)), "%v of %d", h, total)
		_, again := parseHealthy(h.String())
		require.Equal(t, share, again, h.String())
	})
}

// The place of an error in the annotation is as exact as its style allows.
func TestPromotionAnnotationPlaces(t *testing.T) {
	t.Parallel()
	const head = environmentHead + "spec: {controlPlane: {repo: https://h/r, branch: dev}}\nmetadata:\n  name: dev\n  annotations:\n"
	for _, c := range []struct{ name, annotation, want string }{
		{"single-quoted", "    kalypso.io/promotion: '{next: 5}'\n", "7:27 wrong-type"},
		{"double-quoted", "    kalypso.io/promotion: \"{next: 5}\"\n", "7:27 wrong-type"},
		{"escaped", "    kalypso.io/promotion: \"{next: \\x35}\"\n", "7:27 wrong-type"},
		{"over several lines", "    kalypso.io/promotion: '{\n      next: 5}'\n", "7:27 wrong-type"},
		{"plain", "    kalypso.io/promotion: next\n", "7:27 wrong-type"},
		{"folded", "    kalypso.io/promotion: >\n      next: 5\n", "7:27 wrong-type"},
		{"literal", "    kalypso.io/promotion: |\n      next: 5\n", "8:13 wrong-type"},
		{"literal without the last break", "    kalypso.io/promotion: |-\n      # why\n\n      next: 5", "10:13 wrong-type"},
		{"literal with blank lines first", "    kalypso.io/promotion: |+\n\n\n      next: 5\n\n", "10:13 wrong-type"},
		{"literal with an indicator", "    kalypso.io/promotion: |2\n        next: 5\n", "8:15 wrong-type"},
		{"literal with CRLF", "    kalypso.io/promotion: |\r\n      checks:\r\n        expect: 0\r\n", "9:17 invalid-value"},
		{"tagged", "    kalypso.io/promotion: !!str '{next: 5}'\n", "7:27 wrong-type"},
		{"anchored", "    other: &x |\n      next: 5\n    kalypso.io/promotion: *x\n", "8:13 wrong-type"},
		{"merged", "    <<: {kalypso.io/promotion: '{next: 5}'}\n", "7:32 wrong-type"},
		{"after wide characters", "    {\"\u00e9\u20ac\": x, kalypso.io/promotion: '{next: 5}'}\n", "7:37 wrong-type"},
		{"not YAML", "    kalypso.io/promotion: |\n      next:\n      - a\n      b\n", "10 invalid-yaml"},
		{"not YAML, quoted", "    kalypso.io/promotion: '{next: ['\n", "7:27 invalid-yaml"},
		{"not text", "    kalypso.io/promotion: \"a: \\0\"\n", "7:27 not-text"},
		{"a map", "    kalypso.io/promotion: {next: [a]}\n", "7:27 wrong-type"},
		{"a number", "    kalypso.io/promotion: 5\n", "7:27 wrong-type"},
		{"a word", "    kalypso.io/promotion: '\"stage\"'\n", "7:27 wrong-type"},
		{"a list", "    kalypso.io/promotion: |\n      - stage\n", "8:7 wrong-type"},
		{"two documents", "    kalypso.io/promotion: |\n      next: [a]\n      ---\n      next: [b]\n", "10:7 too-many-documents"},
		{"alias to nothing", "    kalypso.io/promotion: |\n      checks: {}\n      next: *a\n", "9 invalid-yaml"},
		{"alias to itself", "    kalypso.io/promotion: |\n      next: &a [*a]\n", "8:17 invalid-yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			objects, diags := parseEnvironments(head + c.annotation)
			assert.Equal(t, []string{c.want}, places(diags), "%v", shown(diags))
			for _, e := range objects.Environments {
				assert.True(t, e.Broken)
			}
		})
	}
}

// The limits of the file hold for what is in the annotation.
func TestPromotionAnnotationLimits(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 30) + strings.Repeat("]", 30)
	for name, c := range map[string]struct {
		promotion string
		change    func(*Limits)
		rule      string
	}{
		"nesting":   {"next: " + deep, func(l *Limits) { l.Nesting = 20 }, "too-deep"},
		"values":    {"a: &a [1, 2, 3]\nb: &b [*a, *a, *a]\nnext: [*b, *b, *b]", func(l *Limits) { l.Nodes = 40 }, "too-large"},
		"aliases":   {"checks: &a {}\nnext: *a", func(l *Limits) { l.Aliases = false }, "yaml-alias"},
		"documents": {"a\n---\nb\n---\nc\n---\nd", func(l *Limits) { l.Documents = 2 }, "too-many-documents"},
		"tags":      {"%TAG ! x\n---\nnext: []", func(*Limits) {}, "invalid-yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := DefaultOptions()
			c.change(&options.Platform)
			source := sourceOf(Main, tree{EnvironmentsDirectory + "/f.yaml": inAnnotation(c.promotion + "\n")}.fs())
			_, diags := Parse(source, nil, options)
			assert.Contains(t, rules(diags), c.rule)
		})
	}
}

func TestPromotionGivenTwice(t *testing.T) {
	t.Parallel()
	both := func(field, annotation string) string {
		quoted, _ := json.Marshal(annotation)
		return environmentHead + "metadata: {name: dev, annotations: {kalypso.io/promotion: " + string(quoted) + "}}\nspec:\n  controlPlane: {repo: r, branch: b}\n  promotion: " + field + "\n"
	}
	for _, c := range []struct{ field, annotation, differs string }{
		{"{next: [a, b]}", "next: [b, a]", "next"},
		{"{checks: {healthy: 95%}}", "checks: {healthy: '95.0%'}", ""},
		{"{checks: {healthy: 100%, timeout: 60s}}", "checks: {timeout: 1m}", ""},
		{"{checks: {fleet: flux}}", "checks: {fleet: [flux]}", ""},
		{"{checks: {clusterTypeSelector: {labelSelector: {matchLabels: {a: b, c: d}}}}}", "checks: {clusterTypeSelector: {labelSelector: {matchLabels: {c: d, a: b}}}}", ""},
		{"{pullRequest: {labels: [a], draft: true}, commit: {signing: required}}", "commit: {signing: required}\npullRequest: {draft: true, labels: [a]}", ""},
		{"{pullRequest: {labels: [a, b]}}", "pullRequest: {labels: [b, a]}", "pullRequest.labels"},
		{"{pullRequest: {draft: true}}", "pullRequest: {}", "pullRequest.draft"},
		{"{}", "{}", ""},
		{"~", "next: [a]", ""},
		{"{next: [a]}", "", ""},
		{"{next: [a]}", "# nothing", ""},
		{"{next: [a]}", "next: [b]", "next"},
		{"{}", "next: [b]", "next"},
		{"{next: [a]}", "checks: {}", "next"},
		{"{checks: {fleet: flux}}", "checks: {fleet: none}", "checks.fleet"},
		{"{checks: {healthy: 95}}", "checks: {healthy: 95%}", "checks.healthy"},
		{"{checks: {timeout: 5m}}", "checks: {timeout: 6m}", "checks.timeout"},
		{"{checks: {expect: 5}}", "checks: {}", "checks.expect"},
		{"{checks: {clusterTypeSelector: {labelSelector: {matchLabels: {a: b}}}}}", "{}", "checks.clusterTypeSelector"},
	} {
		t.Run(c.field+" "+c.annotation, func(t *testing.T) {
			t.Parallel()
			content := both(c.field, c.annotation)
			if c.differs == "" {
				assert.NotNil(t, promotionOf(t, content))
				return
			}
			_, diags := parseEnvironments(content)
			require.Equal(t, []string{"3:59 promotion-differs"}, places(diags))
			assert.Contains(t, diags[0].Message, " differ in "+c.differs)
			assert.Equal(t, 6, diags[0].Related[0].At.Line)
		})
	}
	_, diags := parseEnvironments(both("{next: 5}", "next: [a]"))
	assert.Equal(t, []string{"6:21 wrong-type"}, places(diags), "what is broken is not compared")
}

func TestPromotionNotGiven(t *testing.T) {
	t.Parallel()
	assert.Nil(t, promotionOf(t, environmentHead+"metadata: {name: dev}\nspec: {controlPlane: {repo: r, branch: b}}\n"))
	assert.Nil(t, promotionOf(t, environmentHead+"metadata: {name: dev, annotations: {kalypso.io/promotion: ''}}\nspec: {controlPlane: {repo: r, branch: b}}\n"))
}

// Whatever the annotation holds: nothing panics, what is wrong has its place in the file, and what is
// right means the same as in the field.
func FuzzPromotionAnnotation(f *testing.F) {
	f.Add(allChecks)
	f.Add("next: [stage]\n---\nnext: [a]\n")
	f.Add("checks: {fleet: none, healthy: '99.5%', timeout: 1h, expect: 010}\n")
	f.Add("next:\n\n\n  - a\nchecks: {healthy: 5}\n# end")
	f.Add("checks: {timeout: -1m, healthy: 0, expect: x, fleet: [~]}\nnexxt: 5\n")
	for _, seed := range oddYAML {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, promotion string) {
		quoted, err := json.Marshal(promotion)
		require.NoError(t, err)
		inQuotes := environmentHead + "metadata: {name: dev, annotations: {kalypso.io/promotion: " + string(quoted) + "}}\nspec: {controlPlane: {repo: r, branch: b}}\n"
		var all []*Promotion
		for _, content := range []string{inQuotes, inAnnotation(promotion), inField(promotion)} {
			objects, diags := parseEnvironments(content)
			for _, d := range diags {
				require.True(t, d.At.IsZero() || d.At.Line <= strings.Count(content, "\n")+1, "%v", d)
				if d.Severity == diag.Error {
					requirePlaceWithin(t, content, d.At)
				}
			}
			if !diags.HasErrors() && len(diags) == 0 && len(objects.Environments) == 1 {
				all = append(all, objects.Environments[0].Promotion)
			}
		}
		if strings.ContainsAny(promotion, oddBreaks+"\ufeff") {
			return // a block does not keep them
		}
		for i := range all {
			if i > 0 && all[0] != nil && all[i] != nil {
				_, differ := difference(reflect.ValueOf(*all[0]), reflect.ValueOf(*all[i]), nil)
				require.False(t, differ)
			}
		}
	})
}
