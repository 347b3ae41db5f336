package yamldoc

import (
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
		"f.yaml:4:1: error: the document has more than 10 commas, colons, brackets and other value separators [too-large]",
	}, shown(diags))
	assert.Len(t, docs, 2, "the others are read")
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
