package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/rendertest"
)

// flowTemplate is a template whose manifests are exactly these strings.
func flowTemplate(name, kind, contentType string, manifests ...string) string {
	quoted, _ := json.Marshal(manifests)
	return object("Template", name, "", fmt.Sprintf("spec: {type: %s, contentType: %s, manifests: %s}", kind, contentType, quoted))
}

// withReconciler is a fleet of one target whose reconciler is written by the template given.
func withReconciler(template string, more ...string) fleetTexts {
	return platform(append([]string{
		template, textTemplate("default", "namespace", rendertest.Namespace), clusterType("edge", ""), target("cart", "workload: cart"), everywhere(),
	}, more...)...)
}

func TestManifestsJoined(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		manifests []string
		want      string
	}{
		{"one", []string{"a: 1\n"}, "a: 1\n"},
		{"as it is", []string{"\n# comment\na:   1   \n\n"}, "\n# comment\na:   1   \n\n"},
		{"without a newline", []string{"a: 1"}, "a: 1"},
		{"two", []string{"a: 1\n", "b: 2\n"}, "a: 1\n---\nb: 2\n"},
		{"a newline before the separator", []string{"a: 1", "b: 2"}, "a: 1\n---\nb: 2"},
		{"a leading separator stays", []string{"---\na: 1\n", "---\nb: 2\n"}, "---\na: 1\n---\n---\nb: 2\n"},
		{"empty ones are dropped", []string{"", "{{ if false }}x{{ end }}", "a: 1\n", "", "b: 2\n", ""}, "a: 1\n---\nb: 2\n"},
		{"a newline is not empty", []string{"\n", "a: 1\n"}, "\n---\na: 1\n"},
		{"nothing", []string{"", ""}, ""},
		{"blank lines at the end stay", []string{"a: 1\n\n", "b: 2\n"}, "a: 1\n\n---\nb: 2\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := withReconciler(flowTemplate("flux", "reconciler", "yaml", test.manifests...)).files(t)
			content, written := files["edge/cart/reconciler.yaml"]
			assert.True(t, written, "it is always written")
			assert.Equal(t, test.want, content)
		})
	}
}

// What a Template writes as an object comes out as sigs.k8s.io/yaml writes it.
func TestObjectManifests(t *testing.T) {
	t.Parallel()
	const manifest = `apiVersion: v1
kind: ConfigMap
metadata: {namespace: flux-system, name: "{{ .DeploymentTargetName }}", annotations: {"{{ key }}": "no template"}}
list:
- a
- - nested
  - 5
- {b: 1, a: "{{ .Environment }}"}
numbers: [1, -1, 1.5, 0x1f, 0777, 1e3, 9007199254740992, 1.0]
words: [yes, "yes", no, "no", null, ~, "null", "", true, 2024-01-01, "5"]
text: |
  line one
    line two
long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccccccccccccc dddd
strange: "<&> \u2028 \u00e9 \t \\ {"
empty: {map: {}, list: []}
z: 1
a: 2
1: number
`
	template := object("Template", "flux", "", "spec:\n  type: reconciler\n  manifests:\n  -\n"+indented(manifest, 4))
	var want map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(strings.NewReplacer("{{ .DeploymentTargetName }}", "cart", "{{ .Environment }}", "dev").Replace(manifest)), &want))
	text, err := yaml.Marshal(want)
	require.NoError(t, err)
	assert.Equal(t, string(text), withReconciler(template).files(t)["edge/cart/reconciler.yaml"])
}

func TestObjectManifestLayout(t *testing.T) {
	t.Parallel()
	template := object("Template", "flux", "", `spec: {type: reconciler, manifests: [{z: [{b: 1, a: ["{{ .Workload }}"]}], m: "{{ .ConfigData.LIST }}"}, "c: 1", {}]}`)
	assert.Equal(t, `m: '[a]'
z:
- a:
  - cart
  b: 1
---
c: 1
---
{}
`, withReconciler(template, platformConfig("a", "", "{LIST: '[a]'}")).files(t)["edge/cart/reconciler.yaml"])
}

// sigs.k8s.io/yaml loses digits when it reads; we do not.
func TestObjectManifestsKeepLargeNumbers(t *testing.T) {
	t.Parallel()
	template := object("Template", "flux", "", `spec: {type: reconciler, manifests: [{a: 18446744073709551615, b: 9007199254740993, c: -9223372036854775808}]}`)
	assert.Equal(t, "a: 18446744073709551615\nb: 9007199254740993\nc: -9223372036854775808\n", withReconciler(template).files(t)["edge/cart/reconciler.yaml"])
}

// A value in an object stays a string, whatever it looks like.
func TestObjectManifestsKeepStrings(t *testing.T) {
	t.Parallel()
	template := object("Template", "flux", "", `spec: {type: reconciler, manifests: [{a: "{{ .ConfigData.K }}"}]}`)
	for _, value := range []string{"5", "true", "a: b", "- a", "", "x\ny", "'", "#", "{a}", "&a"} {
		quoted, err := json.Marshal(map[string]string{"K": "'" + value + "'"})
		require.NoError(t, err)
		content := withReconciler(template, platformConfig("a", "", string(quoted))).files(t)["edge/cart/reconciler.yaml"]
		var got map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(content), &got))
		assert.Equal(t, map[string]any{"a": strings.Trim(value, "'")}, got, value)
	}
}

// Nor does it change if YAML has to escape it, as sigs.k8s.io/yaml does not by itself.
func TestObjectManifestsEscape(t *testing.T) {
	t.Parallel()
	template := object("Template", "flux", "", `spec: {type: reconciler, manifests: [{"k\x7f": "a\Nb", v: "{{ .ConfigData.K }}", w: ["{{ .Workload }}\uFFFE"]}]}`)
	content := withReconciler(template, platformConfig("a", "", `{K: "\x7f\x80\N\x9f\uFFFE\uFFFF"}`)).files(t)["edge/cart/reconciler.yaml"]
	assert.Equal(t, `"k\x7F": "a\Nb"
v: "\x7F\x80\N\x9F\uFFFE\uFFFF"
w:
- "cart\uFFFE"
`, content)
	var got map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(content), &got))
	assert.Equal(t, map[string]any{"k\x7f": "a\u0085b", "v": "\x7f\u0080\u0085\u009f\ufffe\uffff", "w": []any{"cart\ufffe"}}, got)
}

func TestObjectManifestThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	_, diags := withReconciler(object("Template", "flux", "", `spec: {type: reconciler, manifests: [{a: "{{ .Workload }}", b: .inf}]}`)).render(t)
	assert.Equal(t, []string{"cp:a.yaml:4:42: error: the object cannot be written as YAML: error marshaling into JSON: json: unsupported value: +Inf (in edge/cart/reconciler.yaml) [invalid-output]"}, problems(diags))
}

// The content type decides the ending of the config, and of nothing else.
func TestConfigFile(t *testing.T) {
	t.Parallel()
	configured := func(contentType, text string) map[string]string {
		return platform(
			object("ClusterType", "edge", "", "spec: {reconciler: flux, namespaceService: default, configType: mine}"),
			standardTemplates(), flowTemplate("mine", "config", contentType, text), target("cart", ""), everywhere(), platformConfig("a", "", "{K: v}"),
		).files(t)
	}
	tests := []struct {
		contentType, text string
		path              string
	}{
		{"yaml", "k: {{ .ConfigData.K }}\n", "edge/cart/platform-config.yaml"},
		{`""`, "k: {{ .ConfigData.K }}\n", "edge/cart/platform-config.yaml"},
		{"sh", "export K={{ .ConfigData.K }}\n", "edge/cart/platform-config.sh"},
		{"sh", "not: [yaml\n", "edge/cart/platform-config.sh"},
		{"yaml", "\n", "edge/cart/platform-config.yaml"},
		{"sh", "\n", "edge/cart/platform-config.sh"},
		{"yaml", "", ""},
		{"sh", "{{ if false }}x{{ end }}", ""},
	}
	for _, test := range tests {
		files := configured(test.contentType, test.text)
		delete(files, "edge/README.md")
		delete(files, "edge/cart/reconciler.yaml")
		delete(files, "edge/cart/namespace.yaml")
		want := map[string]string{}
		if test.path != "" {
			want[test.path] = strings.ReplaceAll(test.text, "{{ .ConfigData.K }}", "v")
		}
		assert.Equal(t, want, files, test)
	}
}

func TestReconcilerIsAlwaysYAMLByName(t *testing.T) {
	t.Parallel()
	files := withReconciler(flowTemplate("flux", "reconciler", "sh", "echo {{ .Workload }}: [\n")).files(t)
	assert.Equal(t, "echo cart: [\n", files["edge/cart/reconciler.yaml"])
}

// Templates see the names of the operator, and the labels of the cluster type.
func TestTemplateData(t *testing.T) {
	t.Parallel()
	fleet := platform(
		textTemplate("flux", model.ReconcilerTemplate, `name: {{ .DeploymentTargetName }}
namespace: {{ .Namespace }}
environment: {{ .Environment }}
workspace: {{ .Workspace }}
workload: {{ .Workload }}
clusterType: {{ .ClusterType }}
labels: {{ .Labels | toJson }}
missing: "{{ index .Labels "nothing" }}"
clusterTypeLabels: {{ .ClusterTypeLabels | toJson }}
manifests: {{ .Manifests | toJson }}
seeds: {{ .Repo }} {{ .Branch }} {{ .Path }}
config: {{ .ConfigData | toJson }}
`),
		textTemplate("default", "namespace", rendertest.Namespace), clusterType("edge", "site: store"), everywhere(),
		platformConfig("a", "", `{K: v, M: "{a: [1]}"}`), registration("shop", "retail"),
	).app("shop", workload("cart", "tier: web, team: blue", "name: web, labels: {tier: own, own: x}, manifests: {repo: r, branch: b, path: p, extra: e}"))
	assert.Equal(t, `name: cart-web
namespace: dev-edge-cart-web
environment: dev
workspace: retail
workload: cart
clusterType: edge
labels: {"own":"x","team":"blue","tier":"web","workload":"cart","workspace":"retail"}
missing: ""
clusterTypeLabels: {"site":"store"}
manifests: {"branch":"b","extra":"e","path":"p","repo":"r"}
seeds: r b p
config: {"K":"v","M":{"a":[1]}}
`, fleet.files(t)["edge/cart-web/reconciler.yaml"])
}
