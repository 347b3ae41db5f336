package yamldoc

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
	k8syaml "sigs.k8s.io/yaml"
)

// Scalars mean what YAML 1.1 as Kubernetes reads it makes of them (SPEC 3, SECURITY E12).
func TestResolve(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]any{
		// words
		"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
		"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
		"true": true, "True": true, "TRUE": true, "false": false, "False": false, "FALSE": false,
		"null": nil, "Null": nil, "NULL": nil, "~": nil, "": nil,
		"yEs": "yEs", "oN": "oN", "tRUE": "tRUE", "nULL": "nULL", "yess": "yess", "nope": "nope", "offs": "offs", "truest": "truest",
		"f": "f", "t": "t", "none": "none", "name": "name", "Nil": "Nil", "~x": "~x",
		// integers
		"0": 0, "5": 5, "-5": -5, "+5": 5, "017": 15, "0o17": 15, "0x1f": 31, "0X1F": 31, "0b101": 5, "-0b101": -5, "-0x1f": -31,
		"1_000": 1000, "_1": "_1", "0123456": 42798, "08": 8.0, "019": 19.0, "00": 0, "-0": 0,
		"9223372036854775807": math.MaxInt64, "9223372036854775808": uint64(1 << 63), "18446744073709551615": uint64(math.MaxUint64),
		"18446744073709551616": 18446744073709551616.0, "-9223372036854775808": math.MinInt64,
		// floats
		"1.5": 1.5, "-1.5": -1.5, "1e3": 1000.0, "1E3": 1000.0, "1.e3": 1000.0, ".5": 0.5, "5.": 5.0, "+.5": 0.5, "0.0": 0.0,
		".inf": math.Inf(1), "-.inf": math.Inf(-1), "+.Inf": math.Inf(1), "1e400": "1e400",
		"inf": "inf", "nan": "nan", "1e": "1e", "e3": "e3", "1.2.3": "1.2.3", "0x": "0x", "0xfg": "0xfg", "0b2": "0b2", "1__0": 10,
		// what only looks like something else
		"2024-01-01": "2024-01-01", "2024-01-01T00:00:00Z": "2024-01-01T00:00:00Z", "12:30": "12:30", "1:30:45": "1:30:45",
		"--": "--", "+": "+", ".": ".", "..": "..", "-a": "-a", "1.0.0-rc1": "1.0.0-rc1", "v1": "v1", "=": "=", "<<": "<<",
		// a commit id is a text unless all of it happens to be digits, or digits around an e
		"0123456789abcdef0123456789abcdef01234567": "0123456789abcdef0123456789abcdef01234567",
		"1234567": 1234567, "12345e67": 12345e67,
		// what is quoted or tagged
		`"5"`: "5", `'yes'`: "yes", `""`: "", `"~"`: "~", "!!str 5": "5", "!!str yes": "yes", `!!str "5"`: "5", "!!str": "",
		"!!int 5": 5, "!!int 0x1f": 31, "!!float 5": 5.0, "!!float 5.5": 5.5, "!!bool yes": true, "!!null ~": nil, "!!null": nil,
	} {
		t.Run(written, func(t *testing.T) {
			t.Parallel()
			value, ok := Resolve(scalarNode(t, written))
			assert.True(t, ok)
			assert.Equal(t, want, value)
			assertAsKubernetes(t, written, value)
		})
	}
	value, ok := Resolve(scalarNode(t, ".nan"))
	assert.True(t, ok)
	assert.True(t, math.IsNaN(value.(float64)))
}

// The library knows no other words than ours, in no other case.
func TestWordsAreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	for _, lower := range []string{"y", "yes", "true", "on", "n", "no", "false", "off", "null", "t", "f", "nil", "none", "ok", "oui", "non"} {
		for bits := range 1 << len(lower) {
			text := []byte(lower)
			for i := range text {
				if bits&(1<<i) != 0 {
					text[i] -= 'a' - 'A'
				}
			}
			var theirs any
			require.NoError(t, yamlv2.Unmarshal(text, &theirs))
			assert.Equal(t, theirs, resolvePlain(string(text)), "%s", text)
		}
	}
}

// A plain scalar may span lines. It is one text, whatever its lines look like by themselves.
func TestResolveFolded(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]any{
		"5\n\n  --- x":      "5\n--- x",
		"5\n\n  ---":        "5\n---",
		"n\n\n  ---":        "n\n---",
		"5\n\n  ...":        "5\n...",
		"5\n  5":            "5 5",
		"5\u2028  --- x":    "5\u2028--- x",
		"yes\n\n\n  no":     "yes\n\nno",
		"5\n\n  %TAG ! a:b": "5\n%TAG ! a:b",
	} {
		value, ok := Resolve(scalarNode(t, written))
		assert.True(t, ok)
		assert.Equal(t, want, value, "%q", written)
		assertAsKubernetes(t, written, value)
	}
}

func TestResolveRefusesTags(t *testing.T) {
	t.Parallel()
	for _, written := range []string{
		"!!int x", "!!int 1.5", `!!int "5"`, "!!float x", "!!bool 5", "!!bool maybe", "!!null x", "!!binary aGk=", "!!timestamp 2024-01-01",
		"!secret x", "!!int", "!!bool", `!!null ""`, "!<tag:example.com,2024:x> y", "!!merge <<",
	} {
		_, ok := Resolve(scalarNode(t, written))
		assert.False(t, ok, written)
	}
}

func scalarNode(t *testing.T, written string) *yaml.Node {
	t.Helper()
	var node yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte("a: "+written+"\n"), &node))
	return node.Content[0].Content[1]
}

// assertAsKubernetes compares a value with what sigs.k8s.io/yaml reads, unless JSON cannot say it.
func assertAsKubernetes(t *testing.T, written string, value any) {
	t.Helper()
	if f, isFloat := value.(float64); isFloat && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return
	}
	theirs, err := k8syaml.YAMLToJSONStrict([]byte("a: " + written + "\n"))
	require.NoError(t, err)
	ours, err := json.Marshal(map[string]any{"a": value})
	require.NoError(t, err)
	assert.JSONEq(t, string(theirs), string(ours))
}

// Keys become JSON texts as in sigs.k8s.io/yaml.
func TestKeyText(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"a": "a", "5": "5", "017": "15", "0x1f": "31", "yes": "true", "off": "false", "1.5": "1.5", "1e3": "1000", "1e30": "1e+30", "1e40": ".inf",
		`"yes"`: "yes", "'017'": "017", "2024-01-01": "2024-01-01", "1_0": "10", "-1": "-1", "!!str 017": "017", `""`: "",
		".inf": ".inf", "-.inf": "-.inf", ".nan": ".nan", "0.1": "0.1", "123456789.5": "1.2345679e+08",
	} {
		docs, diags := testDocuments(written + ": x\n")
		require.Empty(t, diags)
		got, ok := KeyText(docs[0].Root.Content[0])
		assert.True(t, ok, written)
		assert.Equal(t, want, got, written)
		var theirs map[string]any
		require.NoError(t, k8syaml.UnmarshalStrict([]byte(written+": x\n"), &theirs))
		assert.Equal(t, map[string]any{want: "x"}, theirs)
	}
	for _, written := range []string{"~", "null", "!!int x"} {
		docs, diags := testDocuments(written + ": x\n")
		require.Empty(t, diags)
		_, ok := KeyText(docs[0].Root.Content[0])
		assert.False(t, ok, "%q is no key in JSON", written)
	}
}

func TestIsMerge(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]bool{"<<": true, "!!merge <<": true, `"<<"`: false, "'<<'": false, "!!str <<": false, "<": false} {
		docs, diags := testDocuments(written + ": {}\n")
		require.Empty(t, diags)
		assert.Equal(t, want, IsMerge(docs[0].Root.Content[0]), written)
	}
}

// Most scalars are names and words; asking the library about each would cost more than all the rest.
func BenchmarkResolve(b *testing.B) {
	words := []string{"name", "namespace", "type", "template", "true", "5", "kustomize.toolkit.fluxcd.io/v1", "8080", "no", "frontend"}
	for b.Loop() {
		for _, word := range words {
			resolvePlain(word)
		}
	}
}

// The tag "!" makes a string of a scalar, wherever it stands.
func TestNonSpecificTag(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]any{
		"a: ! 0\nb: 0\n":                     map[string]any{"a": "0", "b": 0},
		"a: ! ~\nb: !\nc: ! \n":              map[string]any{"a": "~", "b": "", "c": ""},
		"{a: ! yes, b: [! 1, ! null, 1]}":    map[string]any{"a": "yes", "b": []any{"1", "null", 1}},
		"a: !\n  5\n":                        map[string]any{"a": "5"},
		"a: &x ! 0\nb: ! &y 1\nc: [*x, *y]":  map[string]any{"a": "0", "b": "1", "c": []any{"0", "1"}},
		"! 1: x\n? ! true\n: z\n":            map[string]any{"1": "x", "true": "z"},
		"é: [é, ! 5, 5! , \"! 5\"]\n# ! 5\n": map[string]any{"é": []any{"é", "5", "5!", "! 5"}},
		"a: ! \"5\"\nb: ! |\n  5\nc: ! [5]":  map[string]any{"a": "5", "b": "5\n", "c": []any{5}},
		"x: y\n---\na: |\n  ! 5\nb: ! 5":     map[string]any{"a": "! 5\n", "b": "5"},
	} {
		docs, diags := testDocuments(content)
		require.Empty(t, diags, "%q", content)
		got := value(docs[len(docs)-1].Root)
		assert.Equal(t, want, got, "%q", content)
		theirs, err := k8syaml.YAMLToJSON([]byte(content[max(0, strings.Index(content, "---")):]))
		require.NoError(t, err, "%q", content)
		ours, err := json.Marshal(got)
		require.NoError(t, err)
		assert.JSONEq(t, string(theirs), string(ours), "%q", content)
	}
}
