package model

import (
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// oddBreaks end a line for the YAML library, but not for what people read files with.
const oddBreaks = "\r\u0085\u2028\u2029"

var kustomizeSeparator = regexp.MustCompile(`\n---.*\n`)

// oddYAML are texts in which YAML's corners meet.
var oddYAML = []string{
	"", "?", "{", "a: 1\n", "---\na: 1\n---\nb: 2\n", "a: |\n  x\n---\nb: >-\n  y", "a: 1\r\n---\r\nb: 2\r\n", "\ufeffa: 1\n", "a: \x00", "a: \xff",
	"a: {b: [1, 2.5, 0x1f, 017, yes, ~, '5', 2024-01-01]}\n", "a: &x {b: 1}\nc: *x\nd: {<<: *x, b: 2}\n", "a: *a\n", "a: &a [*a]\n",
	"? [a, b]\n: c\n", "? a\n: b\n", "{a: 1, a: 2}\n", "yes: 1\ntrue: 2\n", "1: a\n'1': b\n", "!!str 5: !!int '5'\n", "! a: ! 5\n", "!<!x> y\n",
	"a: \"\u2028\u0085\"\nb: @\n", "a: 1\rb: 2\r---\rc: 3", "[[[[[[]]]]]]", "- - - - a\n", "a: 'x\n\n  y'\n", "5\n\n  --- x\n", "--- # c\r b\n",
	"a:\n\tb\n", "%YAML 1.1\n---\na\n", "a\n...\nb\n", "---\n---\n", "a: 1\n--- foo\n", "# c\n---\n # d\n---\n", "a: |2\n    x\n", "a: |+\n\n\n---\n",
	"a: 1e400\nb: 18446744073709551616\nc: .inf\n", "<<: [{a: 1}, {a: 2, b: 3}]\n<<: {c: 4}\n", "~: a\n", "!!binary aGk=: x\n", "a: !!set {x, y}\n",
}

// seedFiles are the YAML files of the sample fleets.
func seedFiles(f *testing.F, add func(content string)) {
	f.Helper()
	samples := os.DirFS("../../testdata")
	err := fs.WalkDir(samples, ".", func(p string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && entry.Name() == "want" || !isYAML(p) {
			if entry != nil && entry.IsDir() && entry.Name() == "want" {
				return fs.SkipDir
			}
			return err
		}
		content, err := fs.ReadFile(samples, p)
		if len(content) < 4096 {
			add(string(content))
		}
		return err
	})
	require.NoError(f, err)
}

// Whatever a file holds: what both we and Kubernetes' library read is the same, nothing panics, and
// what is wrong has its place in the file.
func FuzzDocuments(f *testing.F) {
	for _, seed := range oddYAML {
		f.Add(seed)
	}
	seedFiles(f, func(content string) { f.Add(content) })
	f.Fuzz(func(t *testing.T, content string) {
		docs, diags := testDocuments(content)
		for _, d := range diags {
			requirePlaceWithin(t, content, d.At)
		}
		text := strings.ReplaceAll(strings.TrimPrefix(content, "\ufeff"), "\r\n", "\n")
		for i := range docs {
			if !strings.ContainsAny(text, oddBreaks) { // they end a line for the library alone
				requireNodesWithin(t, text, docs[i].Root)
			}
			_, problems := decoded(&docs[i])
			for _, d := range problems {
				requirePlaceWithin(t, content, d.At)
			}
		}
		if !utf8.ValidString(content) || strings.Contains(content, "\x00") {
			return
		}
		for _, one := range kustomizeSeparator.Split(text, -1) {
			requireAsKubernetes(t, one)
		}
	})
}

func requirePlaceWithin(t *testing.T, content string, at diag.Place) {
	t.Helper()
	require.NotNil(t, at.File)
	require.GreaterOrEqual(t, at.Line, 1)
	require.LessOrEqual(t, at.Line, strings.Count(content, "\n")+1)
}

// requireNodesWithin checks that each scalar stands where its place says.
func requireNodesWithin(t *testing.T, text string, n *yaml.Node) {
	t.Helper()
	lines := strings.Split(text, "\n")
	require.GreaterOrEqual(t, n.Line, 1)
	require.LessOrEqual(t, n.Line, len(lines))
	line := []rune(lines[n.Line-1])
	require.GreaterOrEqual(t, n.Column, 1)
	require.LessOrEqual(t, n.Column, len(line)+1)
	isPlain := n.Kind == yaml.ScalarNode && n.Style == 0 && n.Tag != "!!null" && n.Anchor == ""
	if rest := string(line[n.Column-1:]); isPlain && n.Value != "" && !strings.HasPrefix(rest, "!") && !strings.Contains(text, "\ufeff") {
		first, _ := utf8.DecodeRuneInString(n.Value)
		require.True(t, strings.HasPrefix(rest, string(first)), "%q is not at %d:%d, %q is", n.Value, n.Line, n.Column, rest)
	}
	for _, child := range n.Content {
		requireNodesWithin(t, text, child)
	}
}

// customTag matches a tag that is none of YAML's own, which are written with "!!" or are "!" alone.
var customTag = regexp.MustCompile(`!\S`)

// requireAsKubernetes compares the document in a text, if there is just one and both accept it. Left
// out are merge keys, where the library takes the last value instead of the map's own, and tags that are
// not YAML's own.
func requireAsKubernetes(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, "\r\n") {
		return // left over from \r\r\n; reading it here would take it away once more
	}
	docs, diags := testDocuments(text)
	if len(docs) != 1 || diags.HasErrors() || strings.Contains(text, "<<") || customTag.MatchString(strings.ReplaceAll(text, "!!", "")) || strings.ContainsAny(text, oddBreaks) && strings.Contains(text, "!") {
		return
	}
	ours, diags := decoded(&docs[0])
	if diags.HasErrors() {
		return
	}
	theirs, err := k8syaml.YAMLToJSONStrict([]byte(text))
	if err != nil || string(theirs) == "null" {
		return
	}
	var want any
	require.NoError(t, json.Unmarshal(theirs, &want))
	require.True(t, reflect.DeepEqual(want, asJSON(ours)), "%q\n ours: %#v\ntheirs: %s", text, ours, theirs)
}

// asJSON turns numbers into those that JSON has.
func asJSON(value any) any {
	switch value := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(value))
		for key, v := range value {
			object[key] = asJSON(v)
		}
		return object
	case []any:
		list := make([]any, len(value))
		for i, v := range value {
			list[i] = asJSON(v)
		}
		return list
	case int:
		return float64(value)
	case int64:
		return float64(value)
	case uint64:
		return float64(value)
	case float64:
		if math.IsNaN(value) {
			return "NaN"
		}
		return value
	default:
		return value
	}
}

// Any file in any repository: no panic, and whatever is reported is reported at a place.
func FuzzParse(f *testing.F) {
	for _, seed := range oddYAML {
		f.Add(uint8(Platform), seed)
	}
	seedFiles(f, func(content string) {
		for role := range Output {
			f.Add(uint8(role), content)
		}
	})
	f.Fuzz(func(t *testing.T, roleByte uint8, content string) {
		role := Role(roleByte) % Output
		files := tree{"f.yaml": content}
		if role == Main {
			files = tree{EnvironmentsDirectory + "/f.yaml": content}
		}
		objects, diags := parse(role, files)
		for _, d := range diags {
			require.NotNil(t, d.At.File, d.Message)
			require.LessOrEqual(t, d.At.Line, strings.Count(content, "\n")+1)
			require.NotEmpty(t, d.Rule)
			for _, related := range d.Related {
				require.NotNil(t, related.At.File, d.Message)
			}
		}
		fleet, more := NewFleet(&Environment{Object: Object{Name: Text{Value: "dev"}}}, []string{"dev"}, []*Objects{objects})
		require.NotNil(t, fleet)
		if !diags.HasErrors() && !more.HasErrors() {
			for _, target := range fleet.Targets {
				require.False(t, target.Broken)
				require.NotEmpty(t, target.Name.Value)
			}
		}
	})
}
