package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// What stands for a value is counted, and what only looks like it in a word is not.
func TestStructure(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "a": 0, "a: b": 2, "- a\n-\n-": 3, "a-b": 0, "-1": 0, "[a, [b]]": 3, "{a, b: c}": 4, "? a\n?": 2,
		"a # b\n#c\n": 2, "a#b": 0, "-\u0085-\u2028- a": 3,
	} {
		assert.Equal(t, want, structure(text), "%q", text)
	}
}

// The estimate bounds what the library makes of a text, whatever is written.
func TestS8StructureBoundsTheNodes(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"- a\n", "-\n", "- - a\n", "a: b\n", "? a\n", "[a,a],", "{a,a},", "{a: b},", "[? a],", "[a: b],", "[[[a]]],", "{{a}},", "[],", "{},"} {
		text := strings.Repeat(unit, 500)
		if strings.HasSuffix(unit, ",") {
			text = "[" + text + "]"
		}
		var root yaml.Node
		require.NoError(t, yaml.Unmarshal([]byte(text), &root), "%q", unit)
		assert.LessOrEqual(t, nodesOf(root.Content[0]), 2*structure(text)+2, "%q", unit)
	}
}

func nodesOf(n *yaml.Node) int {
	nodes := 1
	for _, child := range n.Content {
		nodes += nodesOf(child)
	}
	return nodes
}

// Such a document is not even given to the YAML library.
func TestS8CostIsKnownBeforeParsing(t *testing.T) {
	t.Parallel()
	docs, diags := readDocuments("a: b\n---\n# c\n["+strings.Repeat("x,", 10)+"\n---\nc: d\n", Limits{Nodes: 10})
	assert.Equal(t, []string{
		"f.yaml:4:1: error: the document has more than 10 commas, colons, brackets and other places for values [too-large]",
	}, shown(diags))
	assert.Len(t, docs, 2, "the others are read")
}

// A generated file, as large as a file may be, is read.
func TestS8GeneratedFilesAreRead(t *testing.T) {
	t.Parallel()
	const object = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata:\n  name: c%05d\n  labels:\n    region: north\n    size: large\nspec:\n  reconciler: argocd\n  namespaceService: default\n"
	var file strings.Builder
	for i := 0; file.Len() < int(PlatformLimits().FileBytes)-500; i++ {
		fmt.Fprintf(&file, object+"---\n", i)
	}
	objects, diags := parse(Platform, tree{"f.yaml": file.String()})
	noProblem(t, diags)
	assert.Greater(t, len(objects.ClusterTypes), 20_000)
}

// A message may quote what is written, but not all of it.
func TestS8MessagesAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 500_000)
	for name, content := range map[string]string{
		"alias":       "a: *" + long + "\n",
		"field":       api + "kind: Workload\n" + "? " + long + "\n: a\n",
		"name":        api + "kind: ClusterType\nmetadata: {name: " + long + "}\nspec: {reconciler: a, namespaceService: b}\n",
		"kind":        api + "kind: " + long + "\n",
		"two bytes":   api + "kind: " + strings.Repeat("ä", 500_000) + "\n",
		"apiVersion":  "apiVersion: scheduler.kalypso.io/" + long + "\nkind: Workload\n",
		"label":       api + "kind: ClusterType\nmetadata: {name: a, labels: {a: " + long + "}}\nspec: {reconciler: a, namespaceService: b}\n",
		"environment": api + "kind: Environment\nmetadata: {name: " + long + "}\n",
	} {
		role := Platform
		files := tree{"f.yaml": content}
		if name == "environment" {
			role, files = Main, tree{EnvironmentsFolder + "/f.yaml": content}
		}
		_, diags := parse(role, files)
		require.NotEmpty(t, diags, name)
		for _, d := range diags {
			assert.LessOrEqual(t, len(d.Message)+len(d.Hint), 2*(longestMessage+len("…")), name)
		}
	}
}

func TestS8ConfigMapsAreNoLargerThanKubernetesAllows(t *testing.T) {
	t.Parallel()
	config := func(bytes int) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  key: " + strings.Repeat("x", bytes-len("key")) + "\n"
	}
	objects, diags := parseOne(Platform, config(mostConfigBytes))
	noProblem(t, diags)
	assert.False(t, objects.ConfigMaps[0].Broken)
	objects, diags = parseOne(Platform, config(mostConfigBytes+1))
	assert.Equal(t, []string{`repo:f.yaml:3:18: error: ConfigMap "c" holds 1048577 bytes, Kubernetes allows 1048576 [too-large]`}, shown(diags))
	assert.True(t, objects.ConfigMaps[0].Broken)
}

func TestTagDirective(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": -1, "a: b": -1, "%TAG ! x\n--- a": 0, "a: '%TAG'": -1, "a\n...\n%TAG ! x": 6, "a: |\n  %TAG ! x\n": -1,
		"a\r%TAG": 2, "\u2028%TAG": 3, "x%TAG\n%TAG": 6, "%YAML 1.1": -1,
	} {
		assert.Equal(t, want, TagDirective(text), "%q", text)
	}
}
