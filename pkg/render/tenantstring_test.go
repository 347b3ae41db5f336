package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/rendertest"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// noStrings are plain scalars that some reader does not take for strings.
func noStrings() []string {
	return strings.Split("123 true 0x10 1.5 2024-01-01 2024-1-1 2024-13-45 2024-01-01T1:00:00Z 2024-01-01T10:00:00 1:30 190:20:30 190:20:30.15 1e3 "+
		"null Null y n Y N yes no on off On OFF 0o17 017 08 1_000 0b1 1__0 0_7 12e03 +1 -1 .5 .inf -.inf .NaN ~ = << "+
		"1.0e+400 -1.0E+400 1e400 1_0.e+400 .5e+400 -.5e400 1.e-400 1_000.5 1._5 1. +.INF .nan a: a:: x:y: 1: main-branch:", " ")
}

func TestReadsAsText(t *testing.T) {
	t.Parallel()
	tooLarge := []string{"99999999999999999999999", "-99999999999999999999999", "0o7777777777777777777777777", "0xffffffffffffffffffff", strings.Repeat("9", 400)}
	for _, text := range append(noStrings(), tooLarge...) {
		assert.False(t, yamltext.ReadsAsText(text), text)
	}
	for _, text := range []string{
		"a", "main", "note", "trueish", "t", "f", "yess", "1.2.3", "1.0-rc", "v1", "0x", "0xg", "1e", "2024-01", "2024-01-01-web", "12-web", "./1", "../1:30", ".", "..",
		"1:99", "_1", "10m", "64Mi", "a=b", "1,000", "2024-01-01 a", "nan", "inf", "0b2", "é", "1 2",
		"1.2.3-rc1", "10.0.0.1", "10.0.0.1:80", "1.2.3e+400", "1e400a", "1.0e+", "e400", "-.", "0o8", "a:b", "::1", "a:b:c",
	} {
		assert.True(t, yamltext.ReadsAsText(text), text)
	}
}

// stringPlaces are where Kubernetes wants a string; % is what a template prints.
func stringPlaces() []string {
	const object = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
	return []string{
		object + "metadata: {name: %}\n",
		object + "metadata: {name: a, namespace: %}\n",
		object + "metadata:\n  name: a\n  labels:\n    x: %\n",
		object + "metadata:\n  name: a\n  labels:\n    %: x\n",
		object + "metadata: {name: a, annotations: {x: %}}\n",
		object + "metadata: {name: a}\nspec:\n  sourceRef: {kind: GitRepository, name: %}\n  prune: true\n",
		object + "metadata: {name: a}\nspec:\n  prune: true\n  targetNamespace: %\n",
		object + "metadata: {name: a}\nspec:\n  prune: true\n  branches:\n  - %\n",
	}
}

// stringActions are ways in which a template prints the strings of cartWith, alone or joined.
func stringActions() []string {
	return []string{
		"{{ .Manifests.x }}{{ .Manifests.z }}", "{{ .Labels.x }}{{ .Labels.z }}", `{{ index .Labels "x" }}{{ if .Labels.z }}{{ .Labels.z }}{{ end }}`,
		"{{ .Manifests.x | trim }}{{ .Manifests.z | lower }}", `{{ printf "%s%s" .Labels.x .Labels.z }}`, `{{ print .Manifests.x .Manifests.z }}`,
		"{{ $x := .Labels.x }}{{ $x }}{{ .Labels.z }}", "{{ with .Manifests }}{{ .x }}{{ .z }}{{ end }}", "{{ .ConfigData.X }}{{ .ConfigData.Z }}",
		"{{ range $key, $value := .Manifests }}{{ $value }}{{ end }}", "{{ .Labels.x }}{{ .Manifests.z }}",
		`{{ if ne .Labels.x "prod" }}{{ .Labels.x }}{{ .Labels.z }}{{ else }}{{ .Workload }}{{ end }}`, `{{ regexFind ".*" .Manifests.x }}{{ .Manifests.z }}`,
		`{{ if regexMatch "^[^k].{0,18}$" .Manifests.x }}{{ .Manifests.x }}{{ .Manifests.z }}{{ else }}a{{ end }}`,
		`{{ if lt (len .Manifests.x) 20 }}{{ .Manifests.x }}{{ .Manifests.z }}{{ else }}a{{ end }}`,
	}
}

// cartWith is a workload with two strings, both in the manifests and in the labels if they may be there.
func cartWith(x, z string) string {
	labels := ""
	if areLabels(x, z) {
		labels = fmt.Sprintf("labels: {x: %q, z: %q}, ", x, z)
	}
	return workload("cart", "", fmt.Sprintf("name: web, %smanifests: {x: %q, z: %q}", labels, x, z))
}

func areLabels(x, z string) bool {
	return !strings.ContainsAny(x+z, ":~=+<") && strings.Trim(x, "-._") == x && strings.Trim(z, "-._") == z
}

// newStringPress is a press whose configuration has the strings of cartWith, too.
func newStringPress(t *testing.T, template string) press {
	t.Helper()
	p := newPress(t, template, "yaml")
	objects, diags := parseRepo("cp", model.Platform, []string{platformConfig("a", "", `{X: "{{ .Manifests.x }}", Z: "{{ .Manifests.z }}"}`)}, nil)
	require.False(t, diags.HasErrors())
	p.platform.ConfigMaps = objects.ConfigMaps
	return p
}

// both prints a workload in the fast way and in the usual one, which must be the same.
func (p press) both(t *testing.T, workload string) (content string, diags diag.List) {
	t.Helper()
	content, diags = p.print(workload)
	p.options.whole = true
	reference, want := p.print(workload)
	require.Equal(t, reported(want), reported(diags))
	require.Equal(t, reference, content)
	return content, diags
}

// TestS3Strings: whatever a tenant writes where Kubernetes wants a string is rendered as one to all readers, or
// is refused at its line.
func TestS3Strings(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{{"2024-01-0", "1"}, {"1", "e3"}, {"0x", "10"}, {"0x", "ff"}, {"tr", "ue"}, {"1", ":30"}, {"0", "o17"}, {"1", "_000"}, {"20", "24-01-01"}, {"1.0e", "+400"}, {"1", "e400"}, {"main", ":"}}
	for _, text := range noStrings() {
		pairs = append(pairs, [2]string{text, ""})
	}
	for i, place := range stringPlaces() {
		for j, action := range stringActions() {
			if (i+j)%3 != 0 && !thorough() {
				continue // each action in some places
			}
			template := strings.ReplaceAll(place, "%", action)
			t.Run(template, func(t *testing.T) {
				t.Parallel()
				p := newStringPress(t, template)
				for i, pair := range pairs {
					rare := i > 8 || i%3 != len(template)%3 && !thorough()
					if i%12 != len(template)%12 && (rendertest.RaceDetector || rare) || strings.Contains(action, ".Labels") && !areLabels(pair[0], pair[1]) {
						continue
					}
					_, diags := p.both(t, cartWith(pair[0], pair[1]))
					require.True(t, diags.HasErrors(), "%q", pair)
					assert.Regexp(t, `shop:a.yaml:6:\d+: error: [^\n]* \[tenant-value\]`, reported(diags), "%q", pair)
				}
				if content, diags := p.both(t, cartWith("web", "1")); assert.False(t, diags.HasErrors(), reported(diags)) {
					assert.Contains(t, content, "web")
				}
			})
		}
	}
}

// Between brackets, a colon at the end of a string makes a key of it to PyYAML, but not to go-yaml.
func TestS3Colons(t *testing.T) {
	t.Parallel()
	const object = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
	for _, place := range []string{
		"k: [%, b]", "k: {a: %}", `{"a":%}`, `{"a":[%],"b":"c"}`, "k: [!!str %, b]", "k: { %: b, c: d}", object + "k: [%]",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: {x: %}}",
	} {
		for _, text := range []string{"a:", "b::", "x:y:", "main-branch:", "./web:"} {
			_, diags := newStringPress(t, strings.ReplaceAll(place, "%", "{{ .Manifests.x }}")+"\n").both(t, cartWith(text, ""))
			assert.Regexp(t, `shop:a.yaml:6:\d+: error: [^\n]* \[tenant-value\]`, reported(diags), "%s with %q", place, text)
		}
		_, diags := newStringPress(t, strings.ReplaceAll(place, "%", "{{ .Manifests.x }}:{{ .Manifests.z }}")+"\n").both(t, cartWith("main-branch", "z"))
		assert.False(t, diags.HasErrors(), "%s: %s", place, reported(diags))
	}
	for _, template := range []string{"k: [{{ .Manifests.x }}:, b]\n", "k: {a: {{ .Manifests.x }}-{{ .Manifests.z }}:}\n"} {
		_, diags := newStringPress(t, template).both(t, cartWith("main-branch", "z"))
		assert.Contains(t, reported(diags), "[tenant-value]", template)
	}
}

// Names of workloads and targets are strings, too, alone and joined.
func TestS3StringsOfNames(t *testing.T) {
	t.Parallel()
	tests := []struct{ template, workload, target, want string }{
		{"a: {{ .Workload }}\n", "2024", "web", `the workload name "2024" is rendered as 2024,`},
		{"a: {{ .Labels.workload }}\n", "0x1f", "web", `the workload name "0x1f" is rendered as 0x1f,`},
		{"a: {{ .DeploymentTargetName }}\n", "2024", "01-01", `the workload name "2024" is rendered as 2024-01-01,`},
		{"a: {{ .DeploymentTargetName }}\n", "2024-01", "01", `the workload name "2024-01" is rendered as 2024-01-01,`},
		{"a: {{ .DeploymentTargetName | trunc -2 }}\n", "cart", "01", `the deployment target name "01" is rendered as 01,`},
		{"a: {{ .DeploymentTargetName | trimPrefix \"cart-\" }}\n", "cart", "1e3", `the deployment target name "1e3" is rendered as 1e3,`},
		{"a: {{ .Namespace | trimPrefix \"dev-edge-\" }}\n", "2024", "1-1", `the workload name "2024" is rendered as 2024-1-1,`},
		{"{{ range $key, $value := .Labels }}{{ $key }}: {{ $value | quote }}\n{{ end }}", "cart", "web", `the label key "0123" is rendered as 0123,`},
		{"{{ range $key, $value := .Manifests }}{{ $key }}: {{ $value | quote }}\n{{ end }}", "cart", "web", `the key "on" of manifests is rendered as on,`},
		{"{{ toYaml .Labels | replace \"'\" \"\" | replace `\"` \"\" }}\n", "cart", "web", `the label key "0123" is rendered as 0123,`},
	}
	for _, test := range tests {
		_, diags := newStringPress(t, test.template).both(t, workload(test.workload, `"0123": x`, "name: "+fmt.Sprintf("%q", test.target)+`, manifests: {"on": x}`))
		assert.Contains(t, reported(diags), test.want, test.template)
		content, diags := newStringPress(t, strings.ReplaceAll(test.template, ": {{ ", ": pre-{{ ")).both(t, workload("cart", "app: x", "name: web, manifests: {repo: x}"))
		assert.False(t, diags.HasErrors(), "%s", reported(diags))
		assert.NotEmpty(t, content)
	}
}

// A template says what is wrong once, for each string, with the line.
func TestStringMessages(t *testing.T) {
	t.Parallel()
	const template = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Manifests.x }}\n  labels:\n    a: {{ .Labels.x }}\n    b: {{ .Manifests.z }}\nspec: {x: {{ .Manifests.x }}}\n"
	_, diags := newStringPress(t, template).both(t, cartWith("0123", "on"))
	assert.Equal(t, `shop:a.yaml:6:47: error: the value "0123" of label "x" is rendered as 0123, which some YAML parsers do not read as a string (in edge/cart-web/reconciler.yaml line 6) [tenant-value]
    cp:a.yaml:3:18: printed by this template
    hint: print it with {{ … | quote }} in the template, or use another value
shop:a.yaml:6:80: error: the value "0123" of manifests.x is rendered as 0123, which some YAML parsers do not read as a string (in edge/cart-web/reconciler.yaml line 4) [tenant-value]
    cp:a.yaml:3:18: printed by this template
    hint: print it with {{ … | quote }} in the template, or use another value
shop:a.yaml:6:91: error: the value "on" of manifests.z is rendered as on, which some YAML parsers do not read as a string (in edge/cart-web/reconciler.yaml line 7) [tenant-value]
    cp:a.yaml:3:18: printed by this template
    hint: print it with {{ … | quote }} in the template, or use another value
`, reported(diags))
}

// What is published already stays: a fleet that is taken over may have had it for years.
func TestStringsThatArePublished(t *testing.T) {
	t.Parallel()
	p := newPress(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Manifests.x }}, labels: {a: true}}\nspec: {b: {{ .Labels.z }}}\n", "yaml")
	p.options.Published = func(string, []byte) bool { return true }
	content, diags := p.both(t, cartWith("0123", "on"))
	assert.Contains(t, content, "{name: 0123, labels: {a: true}}\nspec: {b: on}")
	assert.Equal(t, []string{
		`shop:a.yaml:6:58: warning: the value "on" of label "z" is rendered as on, which some YAML parsers do not read as a string (in edge/cart-web/reconciler.yaml line 4) [tenant-value]`,
		`shop:a.yaml:6:80: warning: the value "0123" of manifests.x is rendered as 0123, which some YAML parsers do not read as a string (in edge/cart-web/reconciler.yaml line 3) [tenant-value]`,
	}, problems(diags))
	_, diags = p.both(t, cartWith("a", "b"))
	assert.Equal(t, []string{
		`cp:a.yaml:3:18: warning: metadata.labels.a true is not a string to YAML: put it in quotes (in edge/cart-web/reconciler.yaml line 3) [invalid-output-string]`,
	}, problems(diags))
}

// What an object manifest holds is written as a string by a library. Few are left that only a reader of
// YAML 1.1 takes for something else.
func TestStringsInObjects(t *testing.T) {
	t.Parallel()
	for _, text := range noStrings() {
		files := platform(object("Template", "flux", "", `spec: {type: reconciler, manifests: [{apiVersion: v1, kind: Secret, metadata: {name: a, labels: {x: "{{ .Manifests.x }}", z: "2024-01-01", b: "on"}}, replicas: 3}]}`),
			textTemplate("default", "namespace", rendertest.Namespace), clusterType("edge", ""), everywhere(), registration("shop", "retail")).
			app("shop", cartWith(text, ""))
		tree, diags := renderFleet(files.read(t), Options{})
		if diags.HasErrors() {
			assert.Contains(t, []string{
				"2024-13-45", "2024-01-01T10:00:00", "=", "<<", "1.0e+400", "-1.0E+400", "1e400", "1_0.e+400", ".5e+400", "-.5e400", "1.e-400",
			}, text)
			assert.Regexp(t, "hint: use (another value|a value without special characters)", reported(diags))
			continue
		}
		content, _ := tree.ReadFile("edge/cart-web/reconciler.yaml")
		for name, read := range readers() {
			documents, err := read(string(content))
			require.NoError(t, err)
			labels := documents[0].(map[string]any)["metadata"].(map[string]any)["labels"]
			assert.Equal(t, map[string]any{"x": text, "z": "2024-01-01", "b": "on"}, labels, name)
		}
	}
}

// FuzzStrings: two strings of a tenant that a template joins are one string to all readers, or refused.
func FuzzStrings(f *testing.F) {
	for _, text := range noStrings() {
		f.Add(text[:len(text)/2], text[len(text)/2:])
	}
	p := newPress(f, "a: {{ .Manifests.x }}{{ .Manifests.z }}\nb: {{ .Manifests.x }}/{{ .Manifests.z }}\n", "yaml")
	flow := newPress(f, "{a: {{ .Manifests.x }}{{ .Manifests.z }}, b: {{ .Manifests.x }}/{{ .Manifests.z }}}\n", "yaml")
	f.Fuzz(func(t *testing.T, x, y string) {
		x, y = strings.ToValidUTF8(x, "?"), strings.ToValidUTF8(y, "?")
		for _, p := range []press{p, flow} {
			content, ok := p.manifests(map[string]string{"x": x, "z": y})
			if !ok || x+y == "" {
				continue
			}
			for name, read := range readers() {
				got, err := read(content)
				require.NoError(t, err, name)
				require.Equal(t, []any{map[string]any{"a": x + y, "b": x + "/" + y}}, got, "%s reads %q", name, content)
			}
		}
	})
}
