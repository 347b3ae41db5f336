package model

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model/yamldoc"
)

const api = "apiVersion: scheduler.kalypso.io/v1alpha1\n"

// whole spells diagnostics out with their hints.
func whole(diags diag.List) []string {
	lines := []string{}
	for i, line := range shown(diags) {
		if hint := diags.Sorted()[i].Hint; hint != "" {
			line += " " + hint
		}
		lines = append(lines, line)
	}
	return lines
}

// What is wrong is reported where it stands, with what was probably meant.
func TestStrictDecoding(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content string
		want          []string
	}{
		// unknown fields
		{"at the top", api + "kind: ClusterType\nmetdata: {name: a}\nspec: {reconciler: r, namespaceService: ns}\n", []string{
			`repo:f.yaml:3:1: error: unknown field "metdata" in ClusterType [unknown-field] did you mean "metadata"?`,
		}},
		{"in metadata", api + "kind: ClusterType\nmetadata: {name: a, lables: {}}\nspec: {reconciler: r, namespaceService: ns}\n", []string{
			`repo:f.yaml:3:21: error: unknown field "lables" in ClusterType metadata [unknown-field] did you mean "labels"?`,
		}},
		{"instead of a required one", api + "kind: ClusterType\nmetadata: {name: a}\nspec:\n  reconcilier: r\n  namespaceservice: ns\n", []string{
			`repo:f.yaml:5:3: error: unknown field "reconcilier" in ClusterType spec [unknown-field] did you mean "reconciler"?`,
			`repo:f.yaml:6:3: error: unknown field "namespaceservice" in ClusterType spec [unknown-field] did you mean "namespaceService"?`,
		}},
		{"nothing near", api + "kind: ClusterType\nmetadata: {name: a}\nspec: {reconciler: r, namespaceService: ns, flavour: x}\n", []string{
			`repo:f.yaml:4:45: error: unknown field "flavour" in ClusterType spec [unknown-field] one of configType, namespaceService, reconciler`,
		}},
		{"in an item of a list", api + "kind: Workload\nmetadata: {name: a}\nspec:\n  deploymentTargets:\n  - name: x\n    environment: dev\n    manifests: {}\n  - name: z\n    enviroment: dev\n    manifests: {}\n", []string{
			`repo:f.yaml:10:5: error: unknown field "enviroment" in Workload spec.deploymentTargets[1] [unknown-field] did you mean "environment"?`,
		}},
		{"deep down", api + "kind: SchedulingPolicy\nmetadata: {name: a}\nspec:\n  clusterTypeSelector:\n    labelSelector:\n      matchExpressions:\n      - {key: a, operator: In, value: [b]}\n", []string{
			`repo:f.yaml:8:32: error: unknown field "value" in SchedulingPolicy spec.clusterTypeSelector.labelSelector.matchExpressions[0] [unknown-field] did you mean "values"?`,
		}},
		{"of an embedded location", api + "kind: BaseRepo\nmetadata: {name: a}\nspec: {repo: https://h/r, brnach: main, pth: x, comit: c}\n", []string{
			`repo:f.yaml:4:27: error: unknown field "brnach" in BaseRepo spec [unknown-field] did you mean "branch"?`,
			`repo:f.yaml:4:41: error: unknown field "pth" in BaseRepo spec [unknown-field] did you mean "path"?`,
			`repo:f.yaml:4:49: error: unknown field "comit" in BaseRepo spec [unknown-field] did you mean "commit"?`,
		}},
		{"the commit of a GitOpsRepo is not an id", api + "kind: GitOpsRepo\nmetadata: {name: a}\nspec: {repo: https://h/r, branch: main, commit: c}\n", []string{
			`repo:f.yaml:4:49: error: spec.commit must be a map, but is the string "c" [wrong-type]`,
		}},

		// what is missing
		{"everything", api + "kind: ClusterType\n", []string{
			`repo:f.yaml:1:1: error: ClusterType metadata is missing [missing-field] add metadata`,
			`repo:f.yaml:1:1: error: ClusterType spec is missing [missing-field] add spec`,
		}},
		{"in the spec", api + "kind: ClusterType\nmetadata: {name: a}\nspec:\n  configType: x\n", []string{
			`repo:f.yaml:5:3: error: ClusterType spec.namespaceService is missing [missing-field] add spec.namespaceService`,
			`repo:f.yaml:5:3: error: ClusterType spec.reconciler is missing [missing-field] add spec.reconciler`,
		}},
		{"empty", api + "kind: ClusterType\nmetadata: {name: ''}\nspec: {reconciler: '  ', namespaceService: }\n", []string{
			`repo:f.yaml:3:18: error: ClusterType metadata.name must not be empty [missing-field]`,
			`repo:f.yaml:4:20: error: ClusterType spec.reconciler must not be empty [missing-field]`,
			`repo:f.yaml:4:44: error: ClusterType spec.namespaceService must not be empty [missing-field]`,
		}},
		{"null", api + "kind: Workload\nmetadata:\nspec: {deploymentTargets: [~], configSchemas: ~}\n---\n" + api + "kind: Workload\nmetadata: {name: a}\nspec: {deploymentTargets: ~}\n", []string{
			`repo:f.yaml:3:10: error: Workload metadata.name is missing [missing-field] add metadata.name`,
			`repo:f.yaml:4:28: error: Workload spec.deploymentTargets[0].environment is missing [missing-field] add spec.deploymentTargets[0].environment`,
			`repo:f.yaml:4:28: error: Workload spec.deploymentTargets[0].manifests is missing [missing-field] add spec.deploymentTargets[0].manifests`,
			`repo:f.yaml:4:28: error: Workload spec.deploymentTargets[0].name is missing [missing-field] add spec.deploymentTargets[0].name`,
			`repo:f.yaml:9:27: error: Workload spec.deploymentTargets must not be empty [missing-field]`,
		}},

		// wrong types
		{"number", api + "kind: BaseRepo\nmetadata: {name: a}\nspec: {repo: https://h/r, branch: main, commit: 0123456}\n", []string{
			`repo:f.yaml:4:49: error: spec.commit must be a string, but is the number 42798 (YAML reads 0123456 so) [wrong-type] write the full commit SHA of 40 digits, in quotes`,
		}},
		{"number as written", api + "kind: ConfigSchema\nmetadata: {name: a}\nspec: {schema: 5}\n", []string{
			`repo:f.yaml:4:16: error: spec.schema must be a string, but is the number 5 [wrong-type] put it in quotes: "5"`,
		}},
		{"float", api + "kind: BaseRepo\nmetadata: {name: a}\nspec: {repo: https://h/r, branch: 1e3}\n", []string{
			`repo:f.yaml:4:35: error: spec.branch must be a string, but is the number 1000 (YAML reads 1e3 so) [wrong-type] put it in quotes: "1e3"`,
		}},
		{"boolean", api + "kind: ClusterType\nmetadata: {name: a, labels: {edge: true}}\nspec: {reconciler: yes, namespaceService: ns}\n", []string{
			`repo:f.yaml:3:36: error: metadata.labels.edge must be a string, but is the boolean true [wrong-type] put it in quotes: "true"`,
			`repo:f.yaml:4:20: error: spec.reconciler must be a string, but is the boolean true (YAML reads yes so) [wrong-type] put it in quotes: "yes"`,
		}},
		{"a word that is a boolean", api + "kind: ClusterType\nmetadata: {name: y, labels: {a: no, b: off}}\nspec: {reconciler: r, namespaceService: ns}\n", []string{
			`repo:f.yaml:3:18: error: metadata.name must be a string, but is the boolean true (YAML reads y so) [wrong-type] put it in quotes: "y"`,
			`repo:f.yaml:3:33: error: metadata.labels.a must be a string, but is the boolean false (YAML reads no so) [wrong-type] put it in quotes: "no"`,
			`repo:f.yaml:3:40: error: metadata.labels.b must be a string, but is the boolean false (YAML reads off so) [wrong-type] put it in quotes: "off"`,
		}},
		{"list for a string", api + "kind: ClusterType\nmetadata: {name: [a]}\nspec: {reconciler: r, namespaceService: ns}\n", []string{
			`repo:f.yaml:3:18: error: metadata.name must be a string, but is a list [wrong-type]`,
		}},
		{"string for a map", api + "kind: ClusterType\nmetadata: a\nspec: [r]\n", []string{
			`repo:f.yaml:3:11: error: metadata must be a map, but is the string "a" [wrong-type]`,
			`repo:f.yaml:4:7: error: spec must be a map, but is a list [wrong-type]`,
		}},
		{"labels", api + "kind: ClusterType\nmetadata: {name: a, labels: [x]}\nspec: {reconciler: r, namespaceService: ns}\n", []string{
			`repo:f.yaml:3:29: error: metadata.labels must be a map, but is a list [wrong-type]`,
		}},
		{"map for a list", api + "kind: Workload\nmetadata: {name: a}\nspec: {deploymentTargets: {name: x}}\n", []string{
			`repo:f.yaml:4:27: error: spec.deploymentTargets must be a list, but is a map [wrong-type]`,
		}},
		{"item of a list", api + "kind: Workload\nmetadata: {name: a}\nspec: {deploymentTargets: [x, 5, ]}\n", []string{
			`repo:f.yaml:4:28: error: spec.deploymentTargets[0] must be a map, but is the string "x" [wrong-type]`,
			`repo:f.yaml:4:31: error: spec.deploymentTargets[1] must be a map, but is the number 5 [wrong-type]`,
		}},
		{"a long text is cut", api + "kind: ClusterType\nmetadata: " + strings.Repeat("ä", 50) + "\nspec: {reconciler: r, namespaceService: ns}\n", []string{
			`repo:f.yaml:3:11: error: metadata must be a map, but is the string "` + strings.Repeat("ä", 20) + `…" [wrong-type]`,
		}},
		{"manifest", api + "kind: Template\nmetadata: {name: a}\nspec: {type: config, manifests: [[a], 5, ~]}\n", []string{
			`repo:f.yaml:4:34: error: spec.manifests[0] must be a string or an object, but is a list [wrong-type]`,
			`repo:f.yaml:4:39: error: spec.manifests[1] must be a string, but is the number 5 [wrong-type] put it in quotes: "5"`,
		}},
		{"tag", api + "kind: ClusterType\nmetadata: {name: !secret a}\nspec: {reconciler: !!int r, namespaceService: !!binary bg==}\n", []string{
			`repo:f.yaml:3:18: error: metadata.name has the tag !secret, which does not match its value [wrong-type] remove the tag`,
			`repo:f.yaml:4:20: error: spec.reconciler has the tag !!int, which does not match its value [wrong-type] remove the tag`,
			`repo:f.yaml:4:47: error: spec.namespaceService has the tag !!binary, which does not match its value [wrong-type] remove the tag`,
		}},
		{"a core kind in our group", api + "kind: ConfigMap\nmetadata: {name: a}\n", []string{
			`repo:f.yaml:2:7: error: unknown kind "ConfigMap" in scheduler.kalypso.io/v1alpha1 [unknown-kind] one of BaseRepo, ClusterType, ConfigSchema, DeploymentTarget, Environment, GitOpsRepo, SchedulingPolicy, Template, Workload, WorkloadRegistration`,
		}},
		{"keys that are no strings", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {~: a, [b]: c, {d: e}: f}\n", []string{
			`repo:f.yaml:4:8: error: a key in data must be a string [wrong-type]`,
			`repo:f.yaml:4:14: error: a key in data must be a string [wrong-type]`,
			`repo:f.yaml:4:22: error: a key in data must be a string [wrong-type]`,
		}},
		{"key of the object", api + "kind: ClusterType\n~: a\nmetadata: {name: a}\nspec: {reconciler: r, namespaceService: ns}\n", []string{
			`repo:f.yaml:3:1: error: a key in the object must be a string [wrong-type]`,
		}},

		// duplicates
		{"key twice", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: '1'\n  z: '1'\n  x: '2'\n", []string{
			`repo:f.yaml:7:3: error: duplicate key "x" [duplicate-key] remove one of them`,
		}},
		{"key twice, written differently", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {yes: a, 'true': b, 1: c, 0x1: d}\n", []string{
			`repo:f.yaml:4:8: warning: YAML reads the key yes as "true" [unquoted-key] put it in quotes: "yes"`,
			`repo:f.yaml:4:16: error: duplicate key "true" [duplicate-key] remove one of them`,
			`repo:f.yaml:4:33: error: duplicate key "0x1" [duplicate-key] remove one of them`,
			`repo:f.yaml:4:33: warning: YAML reads the key 0x1 as "1" [unquoted-key] put it in quotes: "0x1"`,
		}},
		{"key twice, by an alias", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: &n a}\ndata: {a: x, *n : z}\n", []string{
			`repo:f.yaml:4:14: error: duplicate key "a" [duplicate-key] remove one of them`,
		}},
		{"kind twice", api + "kind: ClusterType\nkind: Template\nmetadata: {name: a}\nspec: {type: config, manifests: []}\n", []string{
			`repo:f.yaml:3:1: error: duplicate key "kind" [duplicate-key] remove one of them`,
		}},
		{"in another project's object", "apiVersion: v1\nkind: Pod\nspec: {a: 1, a: 2}\n", []string{
			`repo:f.yaml:3:14: error: duplicate key "a" [duplicate-key] remove one of them`,
		}},

		// values
		{"type of a template", api + "kind: Template\nmetadata: {name: a}\nspec: {type: Reconciler, manifests: [], contentType: shell}\n", []string{
			`repo:f.yaml:4:14: error: Template spec.type is "Reconciler" [invalid-value] did you mean "reconciler"?`,
			`repo:f.yaml:4:54: error: Template spec.contentType is "shell" [invalid-value] one of yaml, sh`,
		}},

		// places
		{"in a later document, with CRLF and a byte order mark", "\ufeff---\r\n" + strings.ReplaceAll(api, "\n", "\r\n") + "kind: ClusterType\r\nmetadata: {name: a}\r\nspec: {reconciler: r, namespaceService: ns}\r\n---\r\n# next\r\n" +
			strings.ReplaceAll(api, "\n", "\r\n") + "kind: ClusterType\r\nmetadata: {näme: b}\r\nspec:\r\n  ünknown: x\r\n", []string{
			`repo:f.yaml:10:12: error: unknown field "näme" in ClusterType metadata [unknown-field] did you mean "name"?`,
			`repo:f.yaml:12:3: error: ClusterType spec.namespaceService is missing [missing-field] add spec.namespaceService`,
			`repo:f.yaml:12:3: error: ClusterType spec.reconciler is missing [missing-field] add spec.reconciler`,
			`repo:f.yaml:12:3: error: unknown field "ünknown" in ClusterType spec [unknown-field] one of configType, namespaceService, reconciler`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, diags := parseOne(Platform, c.content)
			assert.Equal(t, c.want, whole(diags))
		})
	}
}

// All problems of a source are reported in one run, and each object that has one is marked.
func TestBrokenObjectsAreKept(t *testing.T) {
	t.Parallel()
	objects, diags := parseOne(Platform, api+"kind: ClusterType\nmetadata: {name: bad}\nspec: {reconciler: 5, namespaceService: ns}\n---\n"+
		api+"kind: ClusterType\nmetadata: {name: good}\nspec: {reconciler: r, namespaceService: ns}\n---\n"+
		api+"kind: ClusterType\nmetadata: {name: odd, labels: {a: '!'}}\nspec: {reconciler: r, namespaceService: ns}\n")
	require.Len(t, objects.ClusterTypes, 3)
	broken := map[string]bool{}
	for _, c := range objects.ClusterTypes {
		broken[c.Name.Value] = c.Broken
	}
	assert.Equal(t, map[string]bool{"bad": true, "good": false, "odd": false}, broken, "a warning breaks nothing")
	assert.Equal(t, []string{"4:20 wrong-type", "13:35 invalid-label"}, places(diags))
	assert.False(t, objects.Incomplete, "they are all there")
}

// null stands for a value that is not given, as in Kubernetes.
func TestNulls(t *testing.T) {
	t.Parallel()
	objects, diags := parse(Platform, tree{
		"a.yaml": api + "kind: ClusterType\nmetadata:\n  name: a\n  labels:\n  annotations: ~\nspec: {reconciler: r, namespaceService: ns, configType: null}\nstatus:\n",
		"b.yaml": api + "kind: SchedulingPolicy\nmetadata: {name: p}\nspec:\n  deploymentTargetSelector:\n    workspace:\n    labelSelector:\n  clusterTypeSelector: ~\n",
		"c.yaml": api + "kind: SchedulingPolicy\nmetadata: {name: q}\nspec:\n",
		"d.yaml": api + "kind: SchedulingPolicy\nmetadata: {name: r}\n",
		"e.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {a: }}\ndata: {x: , w: ~, z: ''}\n",
		"f.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}\ndata:\n",
		"g.yaml": api + "kind: BaseRepo\nmetadata: {name: main}\nspec: {repo: https://h/r, branch: main, commit: , path: }\n",
	})
	noProblem(t, diags)
	assert.Empty(t, objects.ClusterTypes[0].Labels)
	assert.Empty(t, objects.ClusterTypes[0].ConfigType.Value)
	assert.Len(t, objects.Policies, 3)
	for _, p := range objects.Policies {
		assert.Empty(t, p.Workspace.Value)
		assert.Empty(t, p.Targets.MatchLabels)
	}
	assert.Empty(t, objects.ConfigMaps[0].Labels["a"].Value)
	assert.Len(t, objects.ConfigMaps[0].Data, 3, "a null value is an empty text")
	assert.Empty(t, objects.ConfigMaps[1].Data)
	assert.Equal(t, ".", objects.BaseRepos[0].Path.Value)
	assert.Empty(t, objects.BaseRepos[0].Commit.Value)
}

// Merge keys: what a map says itself wins over what it merges, an earlier merged map over a later
// one.
func TestMergeKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content string
		want          map[string]any
	}{
		{"own first", "a: &x {k: 1, l: 2}\nb: {k: 3, <<: *x}\n", map[string]any{"k": 3, "l": 2}},
		{"merge first", "a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}\n", map[string]any{"k": 3, "l": 2}},
		{"list", "a: [&x {k: 1}, &y {k: 2, l: 2}]\nb: {<<: [*x, *y], m: 3}\n", map[string]any{"k": 1, "l": 2, "m": 3}},
		{"twice", "a: [&x {k: 1}, &y {k: 2, l: 2}]\nb: {<<: *x, <<: *y}\n", map[string]any{"k": 1, "l": 2}},
		{"nested", "a: [&x {k: 1, l: 1}, &y {<<: *x, l: 2}]\nb: {<<: *y, m: 3}\n", map[string]any{"k": 1, "l": 2, "m": 3}},
		{"written out", "b: {<<: {k: 1}, l: 2}\n", map[string]any{"k": 1, "l": 2}},
		{"not deep", "a: &x {k: {l: 1}}\nb: {<<: *x, k: {m: 2}}\n", map[string]any{"k": map[string]any{"m": 2}}},
		{"a quoted key is no merge", "b: {'<<': {k: 1}}\n", map[string]any{"<<": map[string]any{"k": 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			object, isMap := values(t, c.content)[0].(map[string]any)
			require.True(t, isMap)
			assert.Equal(t, c.want, object["b"])
		})
	}
	for content, want := range map[string]string{
		"<<: a\n":                "f.yaml:1:5: error: << must be a map or a list of maps, but is the string \"a\" [wrong-type]",
		"b: {<<: 5}\n":           "f.yaml:1:9: error: b.<< must be a map or a list of maps, but is the number 5 [wrong-type]",
		"b: {<<: [{k: 1}, x]}\n": "f.yaml:1:18: error: b.<<[1] must be a map, but is the string \"x\" [wrong-type]",
		"<<: [x]\n":              "f.yaml:1:6: error: <<[0] must be a map, but is the string \"x\" [wrong-type]",
	} {
		docs, diags := testDocuments(content)
		require.Empty(t, diags)
		_, diags = decoded(&docs[0])
		assert.Equal(t, []string{want}, shown(diags))
	}
}

func TestMergeKeysInObjects(t *testing.T) {
	t.Parallel()
	objects, diags := parseOne(Platform, api+"kind: Workload\nmetadata: {name: w}\nspec:\n  deploymentTargets:\n"+
		"  - &base\n    name: a\n    environment: dev\n    manifests: &m {repo: r}\n"+
		"  - <<: *base\n    name: b\n    manifests:\n      <<: *m\n      path: p\n")
	noProblem(t, diags)
	targets := objects.Workloads[0].DeploymentTargets
	require.Len(t, targets, 2)
	assert.Equal(t, "b", targets[1].Name.Value)
	assert.Equal(t, "dev", targets[1].Environment.Value)
	assert.Equal(t, 7+1, targets[1].Environment.At.Line, "where it was written")
	assert.Equal(t, "r", targets[1].Manifests["repo"].Value)
	assert.Equal(t, "p", targets[1].Manifests["path"].Value)
	assert.Len(t, targets[0].Manifests, 1)
}

// Every string keeps the place where it was written.
func TestPlacesOfTexts(t *testing.T) {
	t.Parallel()
	objects, diags := parse(Platform, tree{"sub/f.yaml": "# first\n---\n" + api + "kind: ClusterType\nmetadata:\n  name: edge\n  labels:\n    site: \"store\"\nspec: {reconciler: flux, namespaceService: ns}\n---\n" +
		"kind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\ndata:\n  K: |\n    text\n"})
	noProblem(t, diags)
	at := func(text Text) string { return text.Value + " " + text.At.String() }
	edge := objects.ClusterTypes[0]
	assert.Equal(t, "repo:sub/f.yaml:3:1", edge.At.String())
	assert.Equal(t, "edge repo:sub/f.yaml:6:9", at(edge.Name))
	assert.Equal(t, "store repo:sub/f.yaml:8:11", at(edge.Labels["site"]))
	assert.Equal(t, "flux repo:sub/f.yaml:9:20", at(edge.Reconciler))
	assert.Equal(t, "text\n repo:sub/f.yaml:15:6", at(objects.ConfigMaps[0].Data["K"]))
	assert.Equal(t, "ClusterType", edge.Kind)
	assert.Same(t, objects.Source, edge.Source)
}

func TestTemplateManifests(t *testing.T) {
	t.Parallel()
	objects, diags := parseOne(Platform, api+"kind: Template\nmetadata: {name: t}\nspec:\n  type: reconciler\n  manifests:\n"+
		"  - kind: A\n    i: 5\n    f: 0.5\n    b: yes\n    z: ~\n    l: [x, 017]\n    o: {1: s}\n"+
		"  - |\n    text {{ .Path }}\n  - plain\n")
	noProblem(t, diags)
	template := objects.Templates[0]
	assert.Equal(t, ContentYAML, template.ContentType, "the default")
	require.Len(t, template.Manifests, 3)
	assert.Equal(t, map[string]any{
		"kind": "A", "i": 5, "f": 0.5, "b": true, "z": nil, "l": []any{"x", 15}, "o": map[string]any{"1": "s"},
	}, plain(template.Manifests[0].Object))
	kind, isBlock := template.Manifests[0].Object["kind"].(Block)
	require.True(t, isBlock)
	assert.Equal(t, 7, kind.At.Line)
	assert.Equal(t, 11, kind.At.Column)
	assert.Equal(t, "text {{ .Path }}\n", template.Manifests[1].Text.Value)
	assert.Equal(t, 4, template.Manifests[1].Text.Indent)
	assert.Equal(t, "plain", template.Manifests[2].Text.Value)
	assert.Equal(t, 16, template.Manifests[2].At.Line)
}

// Kubernetes' own fields are accepted, whatever they hold.
func TestIgnoredFields(t *testing.T) {
	t.Parallel()
	_, diags := parseOne(Platform, api+`kind: ClusterType
metadata:
  name: a
  namespace: n
  generateName: g
  finalizers: [f]
  ownerReferences: [{a: b}]
  uid: u
  resourceVersion: 5
  generation: 1
  selfLink: s
  creationTimestamp: null
  deletionTimestamp: 2024-01-01T00:00:00Z
  deletionGracePeriodSeconds: 0
  managedFields: [{manager: m}]
spec: {reconciler: r, namespaceService: ns}
status: {conditions: []}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
immutable: true
binaryData: {a: aGk=}
`)
	assert.Empty(t, shown(diags))
}

// Blanks around what people paste go; the default path is the whole repository.
func TestLocations(t *testing.T) {
	t.Parallel()
	objects, diags := parseOne(Platform, api+"kind: WorkloadRegistration\nmetadata: {name: a}\nspec:\n  workload: {repo: ' https://h/r ', branch: \"main\\n\", path: ' ./x '}\n  workspace: w\n---\n"+
		api+"kind: WorkloadRegistration\nmetadata: {name: b}\nspec: {workload: {repo: r, branch: b, path: '  '}}\n")
	noProblem(t, diags)
	first, second := objects.Registrations[0], objects.Registrations[1]
	assert.Equal(t, "https://h/r", first.Workload.Repo.Value)
	assert.Equal(t, "main", first.Workload.Branch.Value)
	assert.Equal(t, "./x", first.Workload.Path.Value)
	assert.Equal(t, ".", second.Workload.Path.Value)
}

// A file with a huge number of errors is reported once, and does not fill the memory.
func TestTooManyProblems(t *testing.T) {
	t.Parallel()
	read := func(n int) diag.List {
		_, diags := parseOne(Platform, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: '!'}}\ndata:\n"+strings.Repeat("  a: b\n", n+1))
		return diags
	}
	assert.Equal(t, yamldoc.MostReported, read(yamldoc.MostReported).Count(diag.Error))
	diags := read(yamldoc.MostReported + 2)
	assert.Equal(t, yamldoc.MostReported+1, diags.Count(diag.Error))
	assert.Equal(t, 1, diags.Count(diag.Warning), "another severity is not left out")
	assert.Equal(t, "repo:f.yaml: error: the file has more problems; only 100 are shown [too-many-problems]", shown(diags)[0])
	assert.Equal(t, diags.Sorted(), read(yamldoc.MostReported+2).Sorted())
}
