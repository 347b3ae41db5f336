package yamltext

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestYAMLText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		value any
		want  string
	}{
		{"empty map", map[string]any{}, "{}"},
		{"empty list", []any{}, "[]"},
		{"null", nil, "null"},
		{"text", "a", "a"},
		{"four spaces deep", map[string]any{"a": map[string]any{"b": map[string]any{"c": 1}}}, "a:\n    b:\n        c: 1"},
		{"a list is indented under its key", map[string]any{"a": []any{"x", map[string]any{"k": 1, "l": 2}}}, "a:\n    - x\n    - k: 1\n      l: 2"},
		{"natural order of keys", map[string]any{"a10": 1, "a9": 2, "B": 3, "b": 4}, "B: 3\na9: 2\na10: 1\nb: 4"},
		{"keys that are no texts", map[any]any{true: 1, 2: "b", "c": nil}, "true: 1\n2: b\nc: null"},
		{
			"words that need quotes",
			map[string]any{"a": "yes", "b": "5", "c": "null", "d": "1:30", "e": "2020-01-01", "f": ""},
			"a: \"yes\"\nb: \"5\"\nc: \"null\"\nd: \"1:30\"\ne: \"2020-01-01\"\nf: \"\"",
		},
		{"lines", map[string]any{"a": "x\ny\n", "b": "x\ny", "c": "x\n\n"}, "a: |\n    x\n    y\nb: |-\n    x\n    y\nc: |+\n    x\n"},
		{"floats in shortest form", []any{1.5, 1e21, 100000.0, 0.1}, "- 1.5\n- 1e+21\n- 100000\n- 0.1"},
		{"only one newline goes", "x\n\n", "|+\n    x\n"},
		{"a template in a value", map[string]any{"a": "{{ .b }}"}, "a: '{{ .b }}'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := ToYAML(test.value)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestStringifiedYAML(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		value any
		want  string
	}{
		{"values stay", map[string]any{"a": "x", "b": 5, "c": true, "d": "5", "e": nil}, "a: x\nb: 5\nc: true\nd: \"5\"\ne: null"},
		{"a list becomes text", map[string]any{"a": []any{"x", "y"}}, "a: |\n    - x\n    - \"y\""},
		{"a list of one", map[string]any{"K": []any{1}}, "K: |\n    - 1"},
		{"a list in the middle", map[string]any{"K": []any{1}, "Z": "z"}, "K: |\n    - 1\nZ: z"},
		{"a list of lists", map[string]any{"K": []any{[]any{1, []any{2}}, []any{3}}}, "K: |\n    - - 1\n      - - 2\n    - - 3"},
		{"a list of maps", map[string]any{"K": []any{map[string]any{"name": "a", "v": []any{1}}}}, "K: |\n    - name: a\n      v:\n        - 1"},
		{"a list of lines", map[string]any{"K": []any{"a\nb\n", "c\nd"}}, "K: |\n    - |\n      a\n      b\n    - |-\n      c\n      d"},
		{"a list of blank lines", map[string]any{"K": []any{"a\n\n"}}, "K: |+\n    - |+\n      a\n"},
		{"a list in a map", map[string]any{"K": map[string]any{"l": []any{1}}}, "K: |-\n    l:\n        - 1"},
		{"a list of strings made by a function", map[string]any{"K": []string{"a"}}, "K: |\n    - a"},
		{"a map becomes text", map[string]any{"a": map[string]any{"b": []any{1}}}, "a: |-\n    b:\n        - 1"},
		{"a loose map becomes text", map[string]any{"a": map[any]any{1: 2}}, `a: '1: 2'`},
		{"empty ones", map[string]any{"a": map[string]any{}, "b": []any{}}, "a: '{}'\nb: |\n    []"},
		{"texts of a list", []any{"a", []any{1}, map[string]any{"k": 1}}, "- a\n- |\n  - 1\n- 'k: 1'"},
		{"a loose map at the top", map[any]any{"a": []any{1}}, "a: |\n    - 1"},
		{"labels", map[string]string{"a": "b"}, "a: b"},
		{"a text", "a", "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := Stringify(test.value)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}
