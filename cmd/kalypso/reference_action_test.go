package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// parameter is an input or output of the action.
type parameter struct{ name, description, value string }

// TestActionReference makes docs/reference/action.md from action.yml, in whose order it has all inputs and outputs.
func TestActionReference(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../action.yml")
	require.NoError(t, err)
	var action struct {
		Inputs  yaml.Node `yaml:"inputs"`
		Outputs yaml.Node `yaml:"outputs"`
	}
	require.NoError(t, yaml.Unmarshal(text, &action))
	inputs, outputs := parameters(t, action.Inputs, "default"), parameters(t, action.Outputs, "value")
	require.NotEmpty(t, inputs)
	require.NotEmpty(t, outputs)

	var b strings.Builder
	b.WriteString("<!-- made by make golden -->\n# The action\n\n" +
		"The inputs and outputs of [action.yml](../../action.yml); [how it is used](publishing.md#in-github-actions), and\n" +
		"[which version of kalypso it runs](../how-to/install.md#the-action).\n" +
		"\n## Inputs\n\n")
	for _, input := range inputs {
		value := ""
		if input.value != "" {
			value = " (default `" + input.value + "`)"
		}
		fmt.Fprintf(&b, "- `%s`%s: %s\n", input.name, value, input.description)
	}
	b.WriteString("\n## Outputs\n\nWith several environments or GitOps repositories, numbers are sums, and other outputs have a line for each result, in\n" +
		"the order of `results`.\n\n")
	for _, output := range outputs {
		fmt.Fprintf(&b, "- `%s`: %s\n", output.name, output.description)
	}
	assertReference(t, "reference/action.md", b.String())
}

// parameters reads the inputs or outputs of an action. Each must have a description of one line.
func parameters(t *testing.T, node yaml.Node, valueKey string) []parameter {
	t.Helper()
	require.Equal(t, yaml.MappingNode, node.Kind)
	var all []parameter
	for i := 0; i < len(node.Content); i += 2 {
		name := node.Content[i].Value
		var fields map[string]string
		require.NoError(t, node.Content[i+1].Decode(&fields), name)
		description := strings.TrimSpace(fields["description"])
		assert.True(t, strings.HasSuffix(description, "."), "%s of action.yml has no description in sentences: %q", name, description)
		assert.NotContains(t, description, "\n", name)
		_, has := fields[valueKey]
		assert.True(t, has, "%s of action.yml has no %s", name, valueKey)
		all = append(all, parameter{name, description, fields[valueKey]})
	}
	return all
}

// TestActionOutputsSayWhatThereIs keeps the lists of what two outputs may be those of the code.
func TestActionOutputsSayWhatThereIs(t *testing.T) {
	t.Parallel()
	action, err := os.ReadFile("../../action.yml")
	require.NoError(t, err)
	for typ, output := range map[string]string{"Action": "The result for each", "CheckState": "The result of check-promote"} {
		_, described, found := strings.Cut(string(action), output)
		require.True(t, found, output)
		described, _, _ = strings.Cut(described, "value:")
		files, err := filepath.Glob("../../pkg/promote/*.go")
		require.NoError(t, err)
		count := 0
		for _, file := range files {
			code, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, match := range regexp.MustCompile(`\b`+typ+` += "([a-z-]+)"`).FindAllStringSubmatch(string(code), -1) {
				count++
				assert.Regexp(t, `\b`+match[1]+`\b`, described, typ)
			}
		}
		assert.Greater(t, count, 5, typ)
	}
}
