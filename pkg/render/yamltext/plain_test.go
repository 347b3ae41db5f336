package yamltext

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// libraryYAML is what appendPlainYAML must give.
func libraryYAML(t testing.TB, v any) string {
	t.Helper()
	text, err := yaml.Marshal(v)
	require.NoError(t, err)
	return strings.TrimSuffix(string(text), "\n")
}

func TestPlainYAML(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value any
		want  bool
	}{
		{map[string]any{"host": "db.example.com", "port": 5432, "on": true}, false}, // on is quoted
		{map[string]any{"host": "db.example.com", "port": 5432, "pool": map[string]any{"max": 10, "min": -1}}, true},
		{map[string]any{"b": "x", "B": "x", "aa": "x", "a": "x", "Ab": "x"}, true},
		{map[string]any{"sinks": []any{map[string]any{"name": "audit", "batch": map[string]any{"wait": "5s"}, "levels": []any{"info", "warn"}}, "plain", 7}}, true},
		{[]any{map[string]any{"name": "a"}, map[string]any{"list": []any{1, 2}}}, true},
		{map[string]any{"u": "https://example.com:80/a?b", "v": "https://example.com:80/a"}, false}, // "?"
		{map[string]any{"image": "registry.example.com/a:1.2", "memory": "64Mi", "for": "10m", "path": "x-y_z"}, true},
		{map[string]any{"empty": map[string]any{}}, false},
		{map[string]any{"empty": []any{}}, false},
		{map[string]any{}, false},
		{[]any{[]any{"a"}}, false},
		{map[string]any{"nothing": nil}, false},
		{map[string]any{"number": "1e3"}, false},
		{map[string]any{"key-1": "x"}, false},
		{map[string]any{strings.Repeat("k", 128): "x"}, true},
		{map[string]any{strings.Repeat("k", 129): "x"}, false},
		{"text", false},
	}
	for _, test := range tests {
		text, ok := appendPlainYAML(nil, test.value)
		assert.Equal(t, test.want, ok, "%v", test.value)
		if ok {
			assert.Equal(t, libraryYAML(t, test.value), string(text))
		}
	}
}

// FuzzPlainYAML: what is written without the library is what the library writes.
func FuzzPlainYAML(f *testing.F) {
	for _, text := range []string{
		"a: b\nc: [d, 1, true]\n", "- name: a\n  x: {y: z}\n- b\n", "k: yes", "k: 'yes'", "a: 12:30", "a: 0x1F", "k: ~", "a: 1.5", "on: off", "d: 2024-01-01",
		"a: {b: {c: {d: [e, {f: g}]}}}", "n: {name: x, weight: 007}", "m: 64Mi\nt: 10m\n", "a: 'x: y'\nb: '#c'\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var value any
		if yaml.Unmarshal([]byte(text), &value) != nil {
			return
		}
		if written, ok := appendPlainYAML(nil, value); ok {
			require.Equal(t, libraryYAML(t, value), string(written))
		}
	})
}
