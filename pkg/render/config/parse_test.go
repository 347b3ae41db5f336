package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	yamlv2 "go.yaml.in/yaml/v2"
)

func TestConfigValue(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want any
	}{
		// The content of single quotes is always a string.
		{`'5'`, "5"},
		{`'a: b'`, "a: b"},
		{` 'a' `, "a"},
		{"'a'\n", "a"},
		{`''a''`, "a"},
		{`' a '`, " a "},
		{`'it''s'`, "it''s"},
		{`'`, ""},
		{`''`, ""},
		{`'a`, `'a`},
		{`a'`, `a'`},
		{`"5"`, `"5"`},
		{`"a: b"`, `"a: b"`},
		// Text that is neither a map nor a list is unchanged.
		{``, ``},
		{`5`, `5`},
		{`true`, `true`},
		{`null`, `null`},
		{`~`, `~`},
		{`  padded  `, `  padded  `},
		{"5\n", "5\n"},
		{`! 5`, `! 5`},
		// The tag "!" converts a scalar to a string.
		{`{a: ! 0, b: [! ~, ! yes], ! 1: ! }`, map[string]any{"a": "0", "b": []any{"~", "yes"}, "1": ""}},
		{`key:value`, `key:value`},
		{`http://x:80`, `http://x:80`},
		{`a: b: c`, `a: b: c`},
		{`[a`, `[a`},
		{`{a`, `{a`},
		{`# c`, `# c`},
		{`-`, []any{nil}},
		{`-a`, `-a`},
		{`--- a`, `--- a`},
		{`---`, `---`},
		{`*a`, `*a`},
		{`{{ .Environment }}`, `{{ .Environment }}`},
		{"a: {{ .Environment }}", "a: {{ .Environment }}"},
		{"!!binary aGk=", "!!binary aGk="},
		{"\t- a", "\t- a"},
		{"2024-01-01", "2024-01-01"},
		// Maps and lists become objects.
		{`a: b`, map[string]any{"a": "b"}},
		{`- a`, []any{"a"}},
		{`{}`, map[string]any{}},
		{`[]`, []any{}},
		{`a:`, map[string]any{"a": nil}},
		{`? a`, map[string]any{"a": nil}},
		{"[a, b]\n", []any{"a", "b"}},
		{`{"a": [1, 2.5, "x"]}`, map[string]any{"a": []any{1, 2.5, "x"}}},
		{"a: 1\n---\nb: 2", map[string]any{"a": 1}},
		{"# comment\na: 1", map[string]any{"a": 1}},
		{"a: &x {k: 1}\nb: *x", map[string]any{"a": map[string]any{"k": 1}, "b": map[string]any{"k": 1}}},
		{"a: &x {k: 1}\nb:\n  <<: *x\n  l: 2", map[string]any{"a": map[string]any{"k": 1}, "b": map[string]any{"k": 1, "l": 2}}},
		{"a: [yes, No, on, OFF, true]", map[string]any{"a": []any{true, false, true, false, true}}},
		{"a: [0777, 1_000, 0x1f, 0b11, 1e3]", map[string]any{"a": []any{511, 1000, 31, 3, 1e3}}},
		{"a: [2024-01-01, 1:30, 1.2.3]", map[string]any{"a": []any{"2024-01-01", "1:30", "1.2.3"}}},
		{"a: ~", map[string]any{"a": nil}},
		{"1: x", map[any]any{1: "x"}},
		{"true: x\na: y", map[any]any{true: "x", "a": true}},
		{"a: [{1: x}, {b: c}]", map[string]any{"a": []any{map[any]any{1: "x"}, map[string]any{"b": "c"}}}},
		{"{[a]: b}", "{[a]: b}"},
		// A NaN key cannot be looked up, and its order is random.
		{"{.nan: 1, .nan: 2}", "{.nan: 1, .nan: 2}"},
		{"- {a: {.NaN: 1}}", "- {a: {.NaN: 1}}"},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			t.Parallel()
			value, duplicateKey := parseConfigValue(test.text)
			assert.Equal(t, test.want, value)
			assert.False(t, duplicateKey)
		})
	}
}

func TestConfigValueWithDuplicateKeys(t *testing.T) {
	t.Parallel()
	value, duplicateKey := parseConfigValue("a: 1\nb: {c: 1, c: 2}\na: 2")
	assert.Equal(t, map[string]any{"a": 2, "b": map[string]any{"c": 2}}, value)
	assert.True(t, duplicateKey)
	value, duplicateKey = parseConfigValue("'a: 1\na: 2'")
	assert.Equal(t, "a: 1\na: 2", value)
	assert.False(t, duplicateKey)
}

// FuzzConfigValue: go.yaml.in/yaml/v2 alone decides whether text is a map or a list; other text is unchanged.
func FuzzConfigValue(f *testing.F) {
	for _, seed := range []string{
		"", "a", "'a'", "a: b", "- a", "key:value", "[a", "{a: {b: [c]}}", "a: 1\na: 2", "? a", "%YAML 1.1\n---\na: b",
		"!!set {a}", "&x [*x]", "a: &x [1]\nb: *x", "<<: {a: b}", "{.nan: 1}", "{[a]: b}", "a\r\nb: c", "--- |\n a", "a: !!binary x", "a: .nan",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, _ := parseConfigValue(text)
		again, _ := parseConfigValue(text)
		require.Equal(t, shown(value), shown(again))
		if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "'") && strings.HasSuffix(trimmed, "'") {
			require.Equal(t, strings.Trim(trimmed, "'"), value)
			return
		}
		var decided any
		err := unmarshalConfig(yamlv2.Unmarshal, text, &decided)
		switch value.(type) {
		case string:
			require.Equal(t, text, value)
			if kind := reflect.ValueOf(decided).Kind(); err == nil && (kind == reflect.Map || kind == reflect.Slice) {
				require.True(t, hasNaNKey(decided), "%T became text", decided)
			}
		default:
			require.NoError(t, err)
			require.Equal(t, reflect.ValueOf(decided).Kind(), reflect.ValueOf(value).Kind())
			_, writable := yamltext.ToYAML(value)
			require.NoError(t, writable)
		}
	})
}
