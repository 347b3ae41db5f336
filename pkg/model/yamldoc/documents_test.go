package yamldoc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// values are the documents of a text, decoded.
func values(t *testing.T, content string) []any {
	t.Helper()
	docs, diags := testDocuments(content)
	require.Empty(t, diags)
	list := []any{}
	for i := range docs {
		list = append(list, value(docs[i].Root))
	}
	return list
}

func value(n *yaml.Node) any {
	n = Deref(n)
	switch n.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			key, _ := KeyText(n.Content[i])
			object[key] = value(n.Content[i+1])
		}
		return object
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, value(item))
		}
		return list
	default:
		resolved, _ := Resolve(n)
		return resolved
	}
}

// Files are split as kustomize splits them, since that is how every fleet was read so far. Each line
// was tried with sigs.k8s.io/kustomize/kyaml v0.21.1 (kio.FromBytes), which gives the same unless
// the line says otherwise.
func TestDocumentsAreThoseOfKustomize(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	for _, c := range []struct {
		name, content string
		want          []any
	}{
		{"one", "a: 1\n", []any{m{"a": 1}}},
		{"two", "a: 1\n---\nb: 2\n", []any{m{"a": 1}, m{"b": 2}}},
		{"separator first", "---\na: 1\n---\nb: 2\n", []any{m{"a": 1}, m{"b": 2}}},
		{"separator twice", "a: 1\n---\n---\nb: 2\n", []any{m{"a": 1}, m{"b": 2}}},
		{"separator last", "a: 1\n---\n", []any{m{"a": 1}}},
		{"separator last without a line break", "a: 1\n---", []any{m{"a": 1}}},
		{"comment after the separator", "a: 1\n--- # b\nb: 2\n", []any{m{"a": 1}, m{"b": 2}}},
		{"comment right after the separator", "a: 1\n---# b\nb: 2\n", []any{m{"a": 1}, m{"b": 2}}},
		{"blanks after the separator", "a: 1\n--- \t \nb: 2\n", []any{m{"a": 1}, m{"b": 2}}},
		{"content after the first line's separator", "--- {a: 1}\n", []any{m{"a": 1}}},
		{"the first line is no separator", "---a: 1\n", []any{m{"---a": 1}}},
		{"comments alone", "# a\n---\n# b\n---\nb: 2\n", []any{m{"b": 2}}},
		{"null alone", "~\n---\nb: 2\n---\nnull\n", []any{m{"b": 2}}},
		{"nothing", "", []any{}},
		{"blank", "\n \n\n", []any{}},
		{"indented separator", "a: |\n  x\n  ---\n  y\n", []any{m{"a": "x\n---\ny\n"}}},
		{"lists", "- a\n---\nb: 2\n", []any{[]any{"a"}, m{"b": 2}}},
		{"CRLF", "a: |\r\n  x\r\n  y\r\n---\r\nb: 2\r\n", []any{m{"a": "x\ny\n"}, m{"b": 2}}},
		{"byte order mark", "\ufeffa: 1\n---\nb: 2\n", []any{m{"a": 1}, m{"b": 2}}},
		{"byte order mark in the middle", "a: 1\n---\n\ufeffb: 2\n", []any{m{"a": 1}, m{"b": 2}}},
		{"byte order mark before the separator", "\ufeff---\na: 1\n", []any{m{"a": 1}}},

		// what a literal block ends with
		{"block before a separator", "a: |\n  x\n---\nb: 2\n", []any{m{"a": "x\n"}, m{"b": 2}}},
		{"block and a blank line before a separator", "a: |\n  x\n\n---\nb: 2\n", []any{m{"a": "x\n"}, m{"b": 2}}},
		{"block that keeps", "a: |+\n  x\n\n\n---\nb: |+\n  y\n\n", []any{m{"a": "x\n\n\n"}, m{"b": "y\n\n"}}},
		{"block that strips", "a: |-\n  x\n---\nb: |-\n  y\n", []any{m{"a": "x"}, m{"b": "y"}}},
		{"folded block before a separator", "a: >\n  x\n  y\n---\nb: 2\n", []any{m{"a": "x y\n"}, m{"b": 2}}},
		{"block before a separator with CRLF", "a: |\r\n  x\r\n---\r\nb: 2\r\n", []any{m{"a": "x\n"}, m{"b": 2}}},
		{"block at the end", "b: 2\n---\na: |\n  x\n", []any{m{"b": 2}, m{"a": "x\n"}}},
		{"block at the end without a line break", "b: 2\n---\na: |\n  x", []any{m{"b": 2}, m{"a": "x"}}},
		{"block before a separator without a line break", "a: |\n  x\n---", []any{m{"a": "x\n"}}},

		// kustomize reads the first document up to a separator and loses the rest without a word
		{"end marker", "a: 1\n...\n---\nb: 2\n", []any{m{"a": 1}, m{"b": 2}}},
		{"end marker and separator without a line break (lost in kustomize)", "a: 1\n...\n--- {b: 2}", []any{m{"a": 1}, m{"b": 2}}},
		{"content after the last separator (lost in kustomize)", "a: 1\n--- {b: 2}", []any{m{"a": 1}, m{"b": 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, values(t, c.content))
		})
	}
}

// Behind a separator nothing but a comment may stand: kustomize refuses the file ("invalid document
// separator"), and what stands there would be lost.
func TestTextAfterSeparator(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		content, quoted string
		line            int
	}{
		{"a: 1\n--- foo\nb: 2\n", `"foo"`, 2},
		{"a: 1\n---foo\nb: 2\n", `"foo"`, 2},
		{"a: 1\n\n--- {b: 2}\n---\n", `"{b: 2}"`, 3},
		{"a: 1\n----\nb: 2\n", `"-"`, 2},
		{"a: 1\n---\nb: \"x\n--- y\n  z\"\n", `"y"`, 4},
		{"---\r\na: 1\r\n--- |\r\n  x\r\n", `"|"`, 3},
		{"a: 1\n--- # c\rb: 2\nc: 3\n", `"# c\rb: 2"`, 2},
		{"---\na: 1\n--- !tag\nb: 2\n--- too\nc: 3\n", `"!tag"`, 3},
	} {
		docs, diags := testDocuments(c.content)
		assert.Empty(t, docs)
		assert.Equal(t, []string{fmt.Sprintf("f.yaml:%d:1: error: invalid YAML: the document separator --- cannot be followed by %s [invalid-yaml]",
			c.line, c.quoted)}, shown(diags), "%q", c.content)
	}
}

func TestSplitOffsets(t *testing.T) {
	t.Parallel()
	var got []string
	for c := range split("# head\na: 1\n--- # one\n---\nb: 2\n\n---\n---\nc") {
		got = append(got, fmt.Sprintf("%d %q %q", c.lineOffset, c.text, c.separator))
	}
	assert.Equal(t, []string{
		`0 "# head\na: 1\n" "--- # one\n"`,
		`3 "---\nb: 2\n\n" "---\n"`, // a separator needs a line break of its own before it
		`7 "---\nc" ""`,
	}, got)
}

// places as an editor counts them: lines from the top of the file, columns in characters.
func TestPlacesOfNodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content string
		want          []string
	}{
		{"first document", "a: 1\nb:\n  - x\n  - {y: z}\n", []string{"1:1 a", "1:4 1", "2:1 b", "3:5 x", "4:6 y", "4:9 z"}},
		{"later documents", "a: 1\n---\n\nb: 2\n--- # c\n# d\nc: 3\n...\n--- {d: 4}", []string{"1:1 a", "1:4 1", "4:1 b", "4:4 2", "7:1 c", "7:4 3", "9:6 d", "9:9 4"}},
		{"CRLF", "a: 1\r\nb: x\r\n---\r\nc: 3\r\n", []string{"1:1 a", "1:4 1", "2:1 b", "2:4 x", "4:1 c", "4:4 3"}},
		{"byte order mark", "\ufeffa: 1\nb: 2\n", []string{"1:1 a", "1:4 1", "2:1 b", "2:4 2"}},
		{"heads", "# a\n\n---\n # b\n--- # c\n\t\n#d\na: 1\n", []string{"8:1 a", "8:4 1"}},
		{"wide characters", "ä: {日本: 語, \"🎉\": x}\n", []string{"1:1 ä", "1:5 日本", "1:9 語", "1:12 🎉", "1:17 x"}},
		{"blocks", "a: |\n  x\n\n  y\nb: >-\n  z\nc: 1\n", []string{"1:1 a", "1:4 x\n\ny\n", "5:1 b", "5:4 z", "7:1 c", "7:4 1"}},
		{"aliases", "a: &x {k: v}\nb: *x\n", []string{"1:1 a", "1:8 k", "1:11 v", "2:1 b", "2:4 x"}},
		{"after the aliased value of a later document", "---\n---\na: &x {k: v}\nb: *x\n", []string{"3:1 a", "3:8 k", "3:11 v", "4:1 b", "4:4 x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			docs, diags := testDocuments(c.content)
			require.Empty(t, diags)
			var got []string
			for i := range docs {
				got = append(got, scalarPlaces(docs[i].Root)...)
			}
			assert.Equal(t, c.want, got)
		})
	}
}

func scalarPlaces(n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode || n.Kind == yaml.AliasNode {
		return []string{fmt.Sprintf("%d:%d %s", n.Line, n.Column, n.Value)}
	}
	var list []string
	for _, child := range n.Content {
		list = append(list, scalarPlaces(child)...)
	}
	return list
}

func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content string
		want          string
	}{
		{"NUL", "a: 1\nb: x\x00\n", "f.yaml:2:5: error: the file contains a NUL byte, so it is not YAML [not-text]"},
		{"NUL behind wide characters", "ä: \x00", "f.yaml:1:4: error: the file contains a NUL byte, so it is not YAML [not-text]"},
		{"UTF-16", "\xff\xfea\x00:\x00", "f.yaml:1:4: error: the file contains a NUL byte, so it is not YAML [not-text]"},
		{"Latin-1", "a: 1\r\nb: caf\xe9\r\n", "f.yaml:2:7: error: the file is not valid UTF-8 [not-text]"},
		{"Latin-1 after a byte order mark", "\ufeffb: caf\xe9\n", "f.yaml:1:7: error: the file is not valid UTF-8 [not-text]"},
		{"surrogate", "a: \xed\xa0\x80", "f.yaml:1:4: error: the file is not valid UTF-8 [not-text]"},
		{"cut off", "a: \xe6\x97", "f.yaml:1:4: error: the file is not valid UTF-8 [not-text]"},
		{"a control character", "a: \x01\n", "f.yaml:1: error: invalid YAML: control characters are not allowed [invalid-yaml]"},
		{"tab", "a:\n\tb: 1\n", "f.yaml:2: error: invalid YAML: found character that cannot start any token [invalid-yaml]"},
		{"bracket", "a: [1\nb: 2\n", "f.yaml:2: error: invalid YAML: did not find expected ',' or ']' [invalid-yaml]"},
		{"quote", "a: 'x\n", "f.yaml:1: error: invalid YAML: found unexpected end of stream [invalid-yaml]"},
		{"second document", "a: 1\n---\nb: 2\nc: @\n", "f.yaml:4: error: invalid YAML: found character that cannot start any token [invalid-yaml]"},
		{"second document, in its first line", "a: 1\n---\nb: @\n", "f.yaml:3: error: invalid YAML: found character that cannot start any token [invalid-yaml]"},
		{"key, after a head", "# licence\n\n---\na: 1\nb: 2\n c: 3\nd: 4\n", "f.yaml:6: error: invalid YAML: mapping values are not allowed in this context [invalid-yaml]"},
		{"key too far left", "---\na: 1\nb:\n  - c\n d: 1\ne: 2\n", "f.yaml:5: error: invalid YAML: did not find expected key [invalid-yaml]"},
		{"key in a later document", "# licence\na: 1\n---\n# b\na: \"x\"y\n", "f.yaml:5: error: invalid YAML: did not find expected key [invalid-yaml]"},
		{"end marker alone (lost in kustomize)", "a: 1\n...\nb: 2\n", "f.yaml:3: error: invalid YAML: did not find expected <document start> [invalid-yaml]"},
		{"directive before a separator", "%YAML 1.1\n---\na: 1\n", "f.yaml:1: error: invalid YAML: did not find expected <document start> [invalid-yaml]"},
		{"anchor", "a: 1\n---\nb: 1\nc: *x\n", "f.yaml:4: error: invalid YAML: unknown anchor 'x' referenced [invalid-yaml]"},
		{"anchor in the first line", "a: *x\n", "f.yaml:1: error: invalid YAML: unknown anchor 'x' referenced [invalid-yaml]"},
		{"behind unusual line breaks", "a: \"\u2028\u2028\"\nb: @\n", "f.yaml:2: error: invalid YAML: found character that cannot start any token [invalid-yaml]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, diags := testDocuments(c.content)
			assert.Equal(t, []string{c.want}, shown(diags))
		})
	}
}

// An error is reported at the line that is probably wrong, with the one that it does not match.
func TestWrongIndentation(t *testing.T) {
	t.Parallel()
	const others = "m:\n  n: 1\n"
	for _, c := range []struct {
		name, content string
		line, other   int
		hint          string
	}{
		{"too far right", "a:\n  b: 1\n   c: 2\n  d: 3\n", 3, 2, "indent"},
		{"too far left", "l:\n- a:\n    b: 1\n   c: 2\n", 4, 3, "indent"},
		{"too far left, after an inner block", "a: 1\ns:\n  x: 1\n  m:\n    p: 1\n   y: 2\n", 6, 5, "indent"},
		{"below a comment", "a: 1\ns:\n  x: 1\n\n  # c\n   z: 1\n", 6, 3, "indent"},
		{"first key too far right", others + "a:\n    b: 1\n  c: 2\n", 4, 5, "indent"},
		{"first key too far left", others + "a:\n b: 1\n  c: 2\n", 4, 5, "indent"},
		{"first key too far left, later document", "a: 1\n---\n# c\n" + others + "a:\n b: 1\n  c: 2\n", 7, 8, "indent"},
		{"item too far left", "a: 1\nl:\n    - a\n   - b\n", 4, 3, "indent"},
		{"key in a list", "a: 1\nl:\n  - a\n  b: 1\n", 4, 0, `begin each item of the list with "- "`},
		{"text too far left", "a: 1\nm:\n  t: |\n    x\n   y\n", 5, 4, "indent"},
		{"no colon", "a:\n  b 1\n  c: 2\n", 2, 0, "write a colon between key and value"},
		{"no blank", "a:\n  b:1\n  c: 2\n", 2, 0, "write a blank after the colon"},
		{"colon in a value, in an item", "- b: c\n  d: e: f\n", 2, 0, `put a value that contains ": " in quotes`},
		{"colon in a value", "a:\n  b: c: d\n", 2, 0, `put a value that contains ": " in quotes`},
		{"merge conflict", "a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> theirs\n", 2, 0, "resolve the merge conflict"},
		{"text after an action", "a:\n  b: {{ .Branch }}-x\n", 2, 0, "put the whole value in one pair of quotes"},
		{"quotes in quotes", "a:\n  b: \"{{ index . \"Branch\" }}\"\n", 2, 0, "put the whole value in one pair of quotes"},
		{"text after a quote", "a: 1\nb: 2\nc: 'it's'\n", 3, 0, "put the whole value in one pair of quotes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, diags := testDocuments(c.content)
			require.Len(t, diags, 1)
			assert.Equal(t, c.line, diags[0].At.Line)
			assert.Contains(t, diags[0].Hint, c.hint)
			if c.other == 0 {
				assert.Empty(t, diags[0].Related)
				return
			}
			require.Len(t, diags[0].Related, 1)
			assert.Equal(t, c.other, diags[0].Related[0].At.Line)
		})
	}
}

// An error in one document does not hide the others of the file.
func TestDocumentsAfterAnError(t *testing.T) {
	t.Parallel()
	docs, diags := testDocuments("a: 1\n---\nb: [\n---\nc: 3\n---\nd: }\n")
	assert.Equal(t, []string{"3 invalid-yaml", "7 invalid-yaml"}, places(diags))
	require.Len(t, docs, 2)
	assert.Equal(t, []string{"5:1 c", "5:4 3"}, scalarPlaces(docs[1].Root))
}

// The indentation of a literal block tells the column of what stands in it.
func TestBlockIndent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, value string
		want        int
	}{
		{"two", "|\n  x\n", 2},
		{"five", "|\n     x\n       y\n", 5},
		{"first line is indented further, as said", "|2\n      x\n    y\n", 2},
		{"blank lines first", "|\n\n \n  x\n", 2},
		{"strip", "|-\n  x\n", 2},
		{"comment", "| # here\n  x\n", 2},
		{"tag", "!!str |\n  x\n", 2},
		{"tag on a line before", "!!str\n  |\n    x\n", -1},
		{"nothing in it", "|\n\n", -1},
		{"folded", ">\n  x\n", -1},
		{"quoted", "\"x\"\n", -1},
		{"plain", "x\n", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, before := range []string{"", "z: 1\n---\n\n", "z: |\n    z\n---\n"} {
				docs, diags := testDocuments(before + "a: " + c.value + "b: 1\n")
				require.Empty(t, diags)
				last := docs[len(docs)-1]
				assert.Equal(t, c.want, last.Indent(last.Root.Content[1]), "%q", before)
			}
		})
	}
}

func TestDocumentLimit(t *testing.T) {
	t.Parallel()
	read := func(limit int, content string) (int, []string) {
		docs, diags := readDocuments(content, Limits{Documents: limit})
		return len(docs), shown(diags)
	}
	tooMany := []string{"f.yaml: error: the file has more than 3 documents [too-many-documents]"}
	for _, c := range []struct {
		name, content string
		want          int
		problems      []string
	}{
		{"at the limit", strings.Repeat("---\na: 1\n", 3), 3, []string{}},
		{"one more", strings.Repeat("---\na: 1\n", 4), 3, tooMany},
		{"at the limit, by end markers", strings.Repeat("---\na: 1\n...\n", 3), 3, []string{}},
		{"one more, by end markers", strings.Repeat("---\ra: 1\r...\r", 4), 3, tooMany},
		{"both", strings.Repeat("a: 0\r---\ra: 1\n---\n", 2), 3, tooMany},
		{"blank ones do not count", strings.Repeat("---\n \n", 9) + "a: 1\n", 1, []string{}},
		{"ones with a comment do", strings.Repeat("# a\n---\n", 4), 0, tooMany},
		{"ones that are null do", strings.Repeat("~\n---\n", 4), 0, tooMany},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n, problems := read(3, c.content)
			assert.Equal(t, c.problems, problems)
			assert.Equal(t, c.want, n)
		})
	}
	n, problems := read(0, strings.Repeat("---\ra: 1\r", 50)+"\n---\n"+strings.Repeat("a: 1\n---\n", 50))
	assert.Empty(t, problems)
	assert.Equal(t, 100, n, "no limit")
}
