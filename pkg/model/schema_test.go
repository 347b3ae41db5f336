package model

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

func TestEveryKindHasASchema(t *testing.T) {
	t.Parallel()
	want := append(slices.Collect(maps.Keys(kinds)), configMapKind)
	assert.ElementsMatch(t, want, Kinds())
	assert.Nil(t, Schema("Deployment"))
}

// TestSchemaDescribesEverything: every field and kind has a description, and no description is of nothing.
func TestSchemaDescribesEverything(t *testing.T) {
	t.Parallel()
	unused := maps.Clone(descriptions)
	for kind, body := range bodies() {
		assert.NotEmpty(t, descriptions[kind], kind)
		delete(unused, kind)
		walkFields(body, nil, func(at *trail, field specField) {
			delete(unused, kind+"."+at.String())
			if field.typ != ignoredType && !slices.Contains([]string{"metadata", "spec"}, at.String()) {
				assert.NotEmpty(t, field.doc, "%s.%s", kind, at)
			}
		})
	}
	assert.Empty(t, slices.Sorted(maps.Keys(unused)))
}

func walkFields(typ reflect.Type, at *trail, do func(at *trail, field specField)) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == textType {
		return
	}
	for name, field := range specFields(typ) {
		do(at.key(name), field)
		walkFields(field.typ, at.key(name), do)
	}
}

// compiled are the schemas, compiled by another validator.
func compiledSchema(t *testing.T, schema map[string]any) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(schema)
	require.NoError(t, err)
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("kalypso.json", read))
	compiled, err := compiler.Compile("kalypso.json")
	require.NoError(t, err)
	return compiled
}

func instance(t *testing.T, text string) any {
	t.Helper()
	converted, err := sigsyaml.YAMLToJSON([]byte(text))
	require.NoError(t, err, text)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(converted))
	require.NoError(t, err)
	return value
}

// TestSchemaTakesSampleFleets: what kalypso reads without a complaint, editors do not complain of.
func TestSchemaTakesSampleFleets(t *testing.T) {
	t.Parallel()
	anyKind := compiledSchema(t, AnySchema())
	one := map[string]*jsonschema.Schema{}
	for _, kind := range Kinds() {
		one[kind] = compiledSchema(t, Schema(kind))
	}
	// These are kept from being read, by .sourceignore among others, as they would be errors.
	unread := []string{"cluster-type-example.yaml", "arc-flux-next.draft.yaml", "fraud-scoring.yaml"}
	seen := map[string]int{}
	root := os.DirFS("../../testdata")
	require.NoError(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" || strings.Contains(name, "/want/") || strings.HasPrefix(name, "bad/") {
			return err
		}
		text, err := fs.ReadFile(root, name)
		require.NoError(t, err)
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var document any
			if err := decoder.Decode(&document); err != nil {
				return nil // the end, or what is no YAML and is meant to be none
			}
			object, _ := document.(map[string]any)
			kind, _ := object["kind"].(string)
			if one[kind] == nil || object["apiVersion"] != nil && object["apiVersion"] != apiVersionOf(kind) {
				continue
			}
			written, err := sigsyaml.Marshal(object)
			require.NoError(t, err)
			value := instance(t, string(written))
			if slices.Contains(unread, path.Base(name)) {
				require.Error(t, one[kind].Validate(value), name)
				continue
			}
			seen[kind]++
			if object["apiVersion"] != nil {
				require.NoError(t, anyKind.Validate(value), name)
			}
			require.NoError(t, one[kind].Validate(value), name)
		}
	}))
	for _, kind := range Kinds() {
		if kind != "DeploymentTarget" { // the samples have none
			assert.Positive(t, seen[kind], kind)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	anyKind := compiledSchema(t, AnySchema())
	const head = "apiVersion: scheduler.kalypso.io/v1alpha1\n"
	for name, document := range map[string]string{
		"an unknown field":        head + "kind: ClusterType\nmetadata: {name: a}\nspec: {reconcilr: a, reconciler: a, namespaceService: b}",
		"a missing field":         head + "kind: ClusterType\nmetadata: {name: a}\nspec: {reconciler: a}",
		"an empty field":          head + "kind: ClusterType\nmetadata: {name: a}\nspec: {reconciler: ' ', namespaceService: b}",
		"no spec":                 head + "kind: Environment\nmetadata: {name: a}",
		"no name":                 head + "kind: SchedulingPolicy\nmetadata: {labels: {a: b}}\nspec: {}",
		"a boolean for a label":   head + "kind: ClusterType\nmetadata: {name: a, labels: {edge: true}}\nspec: {reconciler: a, namespaceService: b}",
		"an unknown operator":     head + "kind: SchedulingPolicy\nmetadata: {name: a}\nspec: {clusterTypeSelector: {labelSelector: {matchExpressions: [{key: a, operator: in}]}}}",
		"an unknown type":         head + "kind: Template\nmetadata: {name: a}\nspec: {type: recon, manifests: []}",
		"a list for a map":        head + "kind: Workload\nmetadata: {name: a}\nspec: {deploymentTargets: {name: a}}",
		"a share beyond all":      head + "kind: Environment\nmetadata: {name: a}\nspec: {controlPlane: {repo: a, branch: b}, promotion: {checks: {healthy: lots}}}",
		"a draft in quotes":       head + "kind: GitOpsRepo\nmetadata: {name: a}\nspec: {repo: a, branch: b, pullRequest: {draft: 'true'}}",
		"an unknown auto-merge":   head + "kind: GitOpsRepo\nmetadata: {name: a}\nspec: {repo: a, branch: b, pullRequest: {autoMerge: never}}",
		"a label with a comma":    head + "kind: GitOpsRepo\nmetadata: {name: a}\nspec: {repo: a, branch: b, pullRequest: {labels: ['a,b']}}",
		"a time without a unit":   head + "kind: Environment\nmetadata: {name: a}\nspec: {controlPlane: {repo: a, branch: b}, promotion: {checks: {timeout: 5}}}",
		"a number of a ConfigMap": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {A: 5}",
	} {
		require.Error(t, anyKind.Validate(instance(t, document)), name)
	}
	for name, document := range map[string]string{
		"another kind":            "apiVersion: apps/v1\nkind: Deployment\nspec: 5",
		"a ClusterType of others": "apiVersion: example.com/v1\nkind: ClusterType",
		"nothing":                 "",
		"settings":                head + "kind: GitOpsRepo\nmetadata: {name: a}\nspec:\n  repo: a\n  branch: b\n" + indented(allSettings, 2),
		"settings of promotions":  inField(allSettings),
		"a policy for all":        head + "kind: SchedulingPolicy\nmetadata: {name: a, labels: null}\nspec:",
		"promotion":               head + "kind: Environment\nmetadata: {name: a}\nspec: {controlPlane: {repo: a, branch: b}, promotion: {next: [b], checks: {healthy: 99.5%, timeout: 1h30m, fleet: flux:a, expect: 3}}}",
	} {
		require.NoError(t, anyKind.Validate(instance(t, document)), name)
	}
}
