package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
)

func TestVerify(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	tests := []struct {
		name, content string
		want          []string
	}{
		{"nothing", "", nil},
		{"no object", "- hosts: all\n  tasks: []\n", nil},
		{"text", "just text\n", nil},
		{"empty documents", "---\n---\n# comment\n---\nnull\n", nil},
		{"an object", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a.b-c, namespace: x}\n", nil},
		{"merge keys", "a: &a {x: 1}\nb: {<<: *a, w: 2}\nc: {<<: *a, <<: *a}\n", nil},
		{"an alias as key", "a: &a x\nb:\n  *a : 1\n  a: 2\n", nil},
		{"a map as key", "? {a: 1}\n: 1\n\"\": 2\n", nil},
		{"names of roles", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"system:node A\"}\n", nil},

		{"no YAML", "a: 1\nb: [\n", []string{"invalid-output 2: not valid YAML: did not find expected node content"}},
		{"no YAML further down", "a: 1\n---\nb: c: d\n", []string{"invalid-output 3: not valid YAML: mapping values are not allowed in this context"}},
		{"a tab", "a:\n\tb: 1\n", []string{"invalid-output 2: not valid YAML: found character that cannot start any token"}},
		{"unknown alias", "a: *b\n", []string{"invalid-output 0: not valid YAML: unknown anchor 'b' referenced"}},
		{"a key twice", "a: 1\nb: 2\na: 3\n", []string{`duplicate-output-key 3 lasting: key "a" is duplicated`}},
		{"a key twice deep down", "a:\n- b: {c: 1, d: 2, c: 3}\n", []string{`duplicate-output-key 2 lasting: key "c" is duplicated`}},
		{"a key three times", "a: 1\na: 2\na: 3\n", []string{`duplicate-output-key 2 lasting: key "a" is duplicated`, `duplicate-output-key 3 lasting: key "a" is duplicated`}},
		{"a key twice, once in quotes", "1: a\n\"1\": b\n", []string{`duplicate-output-key 2 lasting: key "1" is duplicated`}},
		{"in the second document", "a: 1\n---\na: 1\na: 1\n", []string{`duplicate-output-key 4 lasting: key "a" is duplicated`}},
		{"no kind", "apiVersion: v1\nmetadata: {name: a}\n", []string{"invalid-output-name 1 lasting: the document has an apiVersion but no kind"}},
		{"no name", "---\napiVersion: v1\nkind: Secret\nmetadata: {}\n", []string{"invalid-output-name 2 lasting: Secret has no metadata.name"}},
		{"neither", "apiVersion: v1\n", []string{"invalid-output-name 1 lasting: the document has an apiVersion but no kind", "invalid-output-name 1 lasting: the document has no metadata.name"}},
		{"metadata is no map", "apiVersion: v1\nkind: Secret\nmetadata: name\n", []string{"invalid-output-name 1 lasting: Secret has no metadata.name"}},
		{"a name that is a map", "apiVersion: v1\nkind: Secret\nmetadata: {name: {a: b}}\n", []string{"invalid-output-name 1 lasting: Secret has no metadata.name"}},
		{
			"a bad name", "apiVersion: v1\nkind: Secret\nmetadata: {name: A_b}\n",
			[]string{`invalid-output-name 1 lasting: Secret name "A_b" is not valid: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character`},
		},
		{
			"a bad name of a role", "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a/b}\n",
			[]string{`invalid-output-name 1 lasting: Role name "a/b" is not valid: it must be one path segment`},
		},
		{
			"a long namespace", "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + long + "}\n",
			[]string{`invalid-output-name 1 lasting: Namespace name "` + long + `" (64 characters) is not valid: must be no more than 63 characters`},
		},
		{
			"a namespace with a dot", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a.b}\n",
			[]string{`invalid-output-name 1 lasting: Namespace name "a.b" (3 characters) is not valid: must not contain dots`},
		},
		{"a Namespace of another group", "apiVersion: example.com/v1\nkind: Namespace\nmetadata: {name: a.b}\n", nil},
		{
			"in a long namespace", "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: " + long + "}\n",
			[]string{`invalid-output-name 1 lasting: metadata.namespace "` + long + `" (64 characters) is not valid: must be no more than 63 characters`},
		},
		{
			"names that are numbers to YAML", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: 0123\n  namespace: 1e3\n",
			[]string{"invalid-output-name 4 lasting: metadata.name 0123 is not a string to YAML: put it in quotes", "invalid-output-name 5 lasting: metadata.namespace 1e3 is not a string to YAML: put it in quotes"},
		},
		{"names in quotes", "apiVersion: v1\nkind: Secret\nmetadata: {name: \"0123\", namespace: 'on'}\n", nil},
		{
			"a name that is a date", "apiVersion: v1\nkind: Secret\nmetadata: {name: 2024-01-01}\n",
			[]string{"invalid-output-name 3 lasting: metadata.name 2024-01-01 is not a string to YAML: put it in quotes"},
		},
		{
			"labels and annotations that are no strings", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  labels: {a: true, 5: b}\n  annotations:\n    c: 1:30\n    d: 2024-01-01\n",
			[]string{
				"invalid-output-string 5 lasting: metadata.labels.a true is not a string to YAML: put it in quotes",
				"invalid-output-string 5 lasting: the key 5 of metadata.labels is not a string to YAML: put it in quotes",
				"invalid-output-string 7 lasting: metadata.annotations.c 1:30 is not a string to YAML: put it in quotes",
				"invalid-output-string 8 lasting: metadata.annotations.d 2024-01-01 is not a string to YAML: put it in quotes",
			},
		},
		{
			"labels that are strings",
			"apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  labels: &l {a: \"true\", \"5\": b, c: }\n  annotations: {<<: *l, d: {e: 5}}\nspec: {a: true}\n", nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, flaws := verify.Read(test.content)
			var got []string
			for _, f := range flaws {
				lasting := ""
				if f.Lasting {
					lasting = " lasting"
				}
				got = append(got, fmt.Sprintf("%s %d%s: %s", f.Rule, f.Line, lasting, f.Message))
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestVerifyFindsObjects(t *testing.T) {
	t.Parallel()
	objects, flaws := verify.Read("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: ns}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n---\n- playbook\n")
	assert.Empty(t, flaws)
	assert.Len(t, objects, 2)
	assert.Equal(t, verify.ID{Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "a"}, objects[0].ID)
	assert.Equal(t, "Deployment ns/a", objects[0].String())
	assert.Equal(t, "Namespace b", objects[1].String())
}

// Layout does not make two objects different; content does.
func TestObjectSums(t *testing.T) {
	t.Parallel()
	sum := func(spec string) verify.Digest {
		objects, _ := verify.Read("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n" + spec)
		return *objects[0].Sum
	}
	assert.Equal(t, sum("data: {a: b, c: [1, 2]}"), sum("# comment\ndata:\n  a: \"b\"\n  c:\n  - 1\n  - 2\n"))
	for _, other := range []string{"data: {a: b, c: [2, 1]}", "data: {a: b, c: [1, '2']}", "data: {a: b, c: [[1, 2]]}", "data: {a: {b: c}, d: [1, 2]}", "", "data: {a: bc, '': [1, 2]}"} {
		assert.NotEqual(t, sum("data: {a: b, c: [1, 2]}"), sum(other), other)
	}
}

// FuzzVerify: whatever a template makes, reading it ends in objects or flaws.
func FuzzVerify(f *testing.F) {
	for _, seed := range []string{
		"", "a: 1\na: 2", "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}", "--- &a [*a]", "? [a]\n: b", "%TAG ! x\n---\n!a b", "...\n...", "<<: {a: 1}", "\x00", "{{{",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		objects, flaws := verify.Read(content)
		again, _ := verify.Read(content)
		assert.Equal(t, objects, again)
		for _, object := range objects {
			assert.NotEmpty(t, object.Kind)
			assert.NotEmpty(t, object.Name)
		}
		for _, flaw := range flaws {
			assert.NotEmpty(t, flaw.Message)
			assert.NotContains(t, flaw.Message, "\n")
		}
	})
}

// A file that is out there already may keep its flaws, but for YAML that nobody can read.
func TestPublishedFilesMayKeepFlaws(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, template string
		want           string // the severity is added
		lasting        bool
	}{
		{"name", "apiVersion: v1\nkind: Secret\nmetadata: {name: A}\n", `Secret name "A" is not valid`, true},
		{"duplicate key", "a: 1\na: 2\n", `key "a" is duplicated`, true},
		{"no value", "a: {{ .ConfigData.nothing }}\n", `.ConfigData.nothing has no value`, true},
		{"no YAML", "a: [\n", `not valid YAML`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fleet := withReconciler(flowTemplate("flux", "reconciler", "yaml", test.template)).read(t)
			severity := func(published func(string, []byte) bool) diag.Severity {
				_, diags := renderFleet(fleet, Options{Published: published})
				lines := problems(diags)
				assert.Len(t, lines, 1)
				assert.Contains(t, lines[0], test.want)
				assert.Contains(t, lines[0], "in edge/cart/reconciler.yaml")
				return diags.Sorted()[0].Severity
			}
			assert.Equal(t, diag.Error, severity(nil))
			assert.Equal(t, diag.Error, severity(func(string, []byte) bool { return false }))
			asked := []string{}
			want := diag.Error
			if test.lasting {
				want = diag.Warning
			}
			assert.Equal(t, want, severity(func(path string, content []byte) bool {
				asked = append(asked, path)
				assert.NotEmpty(t, content)
				return true
			}))
			if test.lasting {
				assert.Equal(t, []string{"edge/cart/reconciler.yaml"}, asked, "it is asked about files with flaws alone")
			}
		})
	}
}

// One mistake in a template is reported once, however many files have it.
func TestProblemsAreToldOnce(t *testing.T) {
	t.Parallel()
	fleet := withReconciler(flowTemplate("flux", "reconciler", "yaml", "a: 1\na: 2\n"), target("ledger", ""), clusterType("cloud", "")).read(t)
	_, diags := renderFleet(fleet, Options{})
	assert.Equal(t, []string{`cp:a.yaml:3:18: error: key "a" is duplicated (in cloud/cart/reconciler.yaml line 2 and 3 more) [duplicate-output-key]`}, problems(diags))
	_, diags = renderFleet(fleet, Options{Published: func(path string, _ []byte) bool { return strings.HasPrefix(path, "edge/") }})
	assert.Equal(t, []string{
		`cp:a.yaml:3:18: error: key "a" is duplicated (in cloud/cart/reconciler.yaml line 2 and 1 more) [duplicate-output-key]`,
		`cp:a.yaml:3:18: warning: key "a" is duplicated (in edge/cart/reconciler.yaml line 2 and 1 more) [duplicate-output-key]`,
	}, problems(diags))
}

// The YAML library compares each directive with all that came before.
func TestS8DirectivesInOutput(t *testing.T) {
	t.Parallel()
	for text, bad := range map[string]bool{
		"%TAG ! x\n--- a": true, "a\n...\n%TAG ! x\n--- a": true, "a\r%TAG": true, "\u2028%TAG": true,
		"a: '%TAG'": false, "a: |\n  %TAG ! x\n": false, "# %TAG\n": false,
	} {
		_, flaws := verify.Read(text)
		require.Equal(t, bad, len(flaws) > 0 && flaws[0].Message == "%TAG directives are not allowed", "%q: %v", text, flaws)
	}
}
