package incremental

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
	"github.com/kalypso-gitops/kalypso/pkg/render/reference"
	"github.com/kalypso-gitops/kalypso/pkg/render/rendertest"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// A sketch is YAML with tags for what is written into it: <plain>, <path>, <typed>, <quoted> and <printable> are
// placeholders, of which <typed> may contain a string of an application; <entries 2> is a run of entries, indented by two
// blanks, that begin with a line break; in <first 2> the first entry does not; in <lines 2> entries end with a line break.
var sketchMark = regexp.MustCompile(`<(plain|path|typed|quoted|printable|entries|first|lines)(?: ([0-9]))?>`)

var entryMark = regexp.MustCompile(`<(entries|first|lines)`)

var placeholderMarks = map[string]pieceKind{"plain": plainPlaceholder, "path": pathPlaceholder, "typed": plainPlaceholder, "quoted": quotedPlaceholder, "printable": printablePlaceholder}

// fits reports whether a placeholder of a kind may have a text as its value.
func (k pieceKind) fits(text string) bool {
	switch k {
	case printablePlaceholder:
		return yamltext.IsPrintable(text) && len(text) <= maxPlaceholder && isQuiet(text) && strings.TrimSpace(text) == text && text != ""
	default:
		return kindOf(text) == k
	}
}

// harmless returns a text for the placeholder n that no other placeholder has.
func (k pieceKind) harmless(n int) string {
	switch k {
	case pathPlaceholder:
		return fmt.Sprintf("./path%dx", n)
	case quotedPlaceholder:
		return fmt.Sprintf(`"quoted%dx"`, n)
	case printablePlaceholder:
		return fmt.Sprintf("printable%dx", n)
	default:
		return fmt.Sprintf("plain%dx", n)
	}
}

// sketched is a builder with what was written into its placeholders.
type sketched struct {
	builder
	kinds []pieceKind
	texts []string
	// tenant are the placeholders that may hold a string of an application.
	tenant []bool
}

// draw writes texts into the placeholders of a sketch, in turn and where they fit, and values into the runs.
func draw(sketch string, values *config.Values, texts ...string) (*sketched, bool) {
	drawn := &sketched{}
	c := &composition{Composer: &Composer{}, Subject: &reference.Subject{Values: values}, yaml: true}
	rest, runs := sketch, 0
	for {
		mark := sketchMark.FindStringSubmatchIndex(rest)
		if mark == nil {
			ok := c.add(piece{text: rest})
			drawn.builder = c.builder
			return drawn, ok
		}
		if !c.add(piece{text: rest[:mark[0]]}) {
			return nil, false
		}
		name, indent := rest[mark[2]:mark[3]], 0
		if mark[4] >= 0 {
			indent = int(rest[mark[4]] - '0')
		}
		rest = rest[mark[1]:]
		kind, isPlaceholder := placeholderMarks[name]
		switch {
		case isPlaceholder:
			n := len(drawn.texts)
			text := kind.harmless(n)
			if len(texts) > 0 && kind.fits(texts[n%len(texts)]) {
				text = texts[n%len(texts)]
			}
			tenant := name == "typed"
			drawn.kinds, drawn.texts, drawn.tenant = append(drawn.kinds, kind), append(drawn.texts, text), append(drawn.tenant, tenant)
			if !c.add(piece{kind: kind, text: text, tenant: tenant}) {
				return nil, false
			}
		default:
			if runs++; runs > len(values.Settings) {
				return nil, false
			}
			settings := values.Settings[runs-1:]
			if entryMark.MatchString(rest) { // no entry is written twice
				settings = settings[:1]
			}
			for i, s := range settings {
				f := entryOf(s, form{writer: inYAML, indent: indent})
				if name == "lines" {
					f = &writtenEntry{Segment: content.Segment{Key: f.Key, Text: f.Lines() + "\n", Entry: f.Entry, Indent: f.Indent}, usable: f.usable}
				}
				if !f.usable || f.nested != nil || !c.addSegment(f, name == "first" && i == 0) {
					return nil, false
				}
			}
		}
	}
}

// requireProof checks what the shape of a sketch says of other texts in the placeholders.
func requireProof(t *testing.T, shapes *fileShapes, sketch string, values *config.Values, texts ...string) (verified bool) {
	t.Helper()
	harmless, ok := draw(sketch, values)
	if !ok {
		return false
	}
	drawn, ok := draw(sketch, values, texts...)
	if !ok {
		return false
	}
	var buffer []byte
	for _, s := range []*sketched{harmless, drawn} {
		placed := shapes.place(&s.builder, true, &buffer)
		require.Equal(t, s.String(), placed.text.String())
		requireVerified(t, reference.File{Content: placed.text, Verified: placed.verified, Objects: placed.objects})
		verified = placed.verified
		if s == drawn && verified {
			requireSameNodes(t, harmless, drawn)
		}
	}
	return verified
}

// requireSameNodes checks that two files differ in nothing but what is in the placeholders, and that the
// strings of an application are strings.
func requireSameNodes(t *testing.T, harmless, drawn *sketched) {
	t.Helper()
	var pairs []string
	for i, text := range harmless.texts {
		pairs = append(pairs, text, drawn.texts[i])
		if harmless.kinds[i] == quotedPlaceholder {
			pairs = append(pairs, strings.Trim(text, `"`), drawn.texts[i][1:len(drawn.texts[i])-1])
		}
	}
	for _, text := range harmless.texts {
		if strings.Count(harmless.String(), text) != 1 {
			return // the sketch says the same
		}
	}
	replace := strings.NewReplacer(pairs...)
	want, flaw := verify.AllDocuments(harmless.String())
	require.Nil(t, flaw)
	got, flaw := verify.AllDocuments(drawn.String())
	require.Nil(t, flaw, "%q", drawn.String())
	require.Len(t, got, len(want), "%q", drawn.String())
	var same func(want, got *yaml.Node)
	same = func(want, got *yaml.Node) {
		message := fmt.Sprintf("%q and %q", harmless.String(), drawn.String())
		require.Equal(t, want.Kind, got.Kind, message)
		require.Equal(t, want.Style, got.Style, message)
		require.Equal(t, yamltext.ExplicitTag(want), yamltext.ExplicitTag(got), message)
		require.Equal(t, replace.Replace(want.Value), got.Value, message)
		for i, kind := range harmless.kinds {
			if (harmless.tenant[i] || kind == printablePlaceholder) && strings.Contains(want.Value, harmless.texts[i]) {
				require.True(t, yamltext.IsText(got), message)
			}
		}
		require.Len(t, got.Content, len(want.Content), message)
		for i := range want.Content {
			same(want.Content[i], got.Content[i])
		}
	}
	for i := range want {
		same(want[i], got[i])
	}
}

// sketches are all the contexts that YAML has for a value; * is replaced by each kind of placeholder.
func sketches() []string {
	contexts := []string{
		"a: *\n", "a: *", "*\n", "*", "a: x*y\n", "a: x * y\n", "a: x-*\n", "a: x:*\n", "a: *:x\n", "a:*\n", "a: *:\n", "*: a\n", "*:a\n", "- *\n", "-*\n", "- -*\n", "- *: a\n", "-\n  *\n",
		"? *\n: a\n", "? a\n: *\n", "a: [*, b]\n", "a: [*]\n", "a: {b: *}\n", "a: {*: b}\n", "a: {*}\n", "{a:*}\n", "{\"a\":*}\n", "[*: a]\n", "[a, [*]]: b\n", "a: \"*\"\n", "a: \"x * y\"\n", "a: \"x*\"\n",
		"a: 'x * y'\n", "a: '*'\n", "\"*\": a\n", "'*': a\n", "a: \"\\*\"\n", "a: \"\\x*\"\n", "a: \"\\x4*\"\n", "a: \"\\u00*\"\n", "a: \"\\\\*\"\n", "a: \"x\n*\n  y\"\n", "a: \"x\n  *\n  y\"\n", "a: \"x\n\n  *\"\n",
		"a: \"x\\\n  * y\"\n", "a: 'x\n*\n  y'\n", "a: 'x\n\n  *\n  y'\n", "a: x\n  *\n", "a: x\n\n  * y\nb: c\n", "a: |\n  *\n", "a: |\n  x\n  *\n  y\nb: c\n", "a: |2\n  *\n", "a: |2\n    *\n", "a: |*\n  x\n",
		"a: >\n  *\n", "a: >-\n  x\n  *\n\n  y\n", "a: >+\n   *\n\n", "a: |\n *\n  x\n", "a: |\n    *\n  x\n", "|\n  *\n", "|\n*\n", "--- |\n  *\n", "--- *\n", "--- *\n...\n", "---\n*\n---\na: b\n", "a: b\n---\n*\n",
		"---*\n", "a: b\n...\n*\n", "%YAML *\n--- a\n", "%TAG !a! *\n--- a\n", "a: &* b\n", "a: &x *\nb: *x\n", "a: !* b\n", "a: !!* b\n", "a: !<*> b\n", "a: !!str *\n", "a: !!binary *\n", "a: !x *\n", "a: !x [*]\n",
		"a: b # *\n", "# *\na: b\n", "a: b\n#*\n", "#*", "a: # *\n  b: c\n", "a:\n  # *\n  - b\n", "a: b #*\nc: *\n", "a: **\n", "a: * *\n", "a: *.*\n", "a: *:*\n", "*: *\n", "a: [*,*]\n", "a: \"*\" \n", "a: \"*\"*\n",
		"a: *\"b\"\n", "a: \"b\"*\n", "a: '*'*\n", "a: *#b\n", "a: * #b\n", "a: *, b\n", "a: [*#b]\n", "<<: *\n", "a: {<<: *}\n", "*\n*\n", "a: *\n  *\n", "\t*\n", "a:\t*\n", "a: *\t\n", "a: *\r\nb: c\n", "\ufeffa: *\n",
		"a: .*\n", "a: ..*\n", ".*\n", "..*\n", "..*: a\n", "-*\n--*\n", "--*\n", "a: 1*\n", "a: *1\n", "a: 0x*\n", "a: -*\n", "a: ~*\n", "a: +*\n", "=*\n", "a: <*\n", "a: ?*\n", "a: %*\n", "a: @*\n", "a: `*`\n",
		"apiVersion: v1\nkind: A\nmetadata: {name: *}\n", "apiVersion: v1\nkind: A\nmetadata: {name: x-*, namespace: *}\n", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: *\n  namespace: *\n",
		"apiVersion: *\nkind: A\nmetadata: {name: a}\n", "apiVersion: v1\nkind: *\nmetadata: {name: a}\n", "apiVersion: v1\nkind: A\nmetadata: {name: \"*\"}\n", "apiVersion: v1\nkind: A\nmetadata: {name: '*.*'}\n",
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: A\n  metadata: {name: *}\n", "apiVersion: v1\nkind: *List\nitems:\n- apiVersion: v1\n  kind: A\n  metadata: {name: b}\n",
		"apiVersion: v1\nkind: A\nmetadata: {name: *, namespace: !!null nothing}\n", "apiVersion: v1\nkind: A\nmetadata: *\n", "apiVersion: a/*\nkind: A\nmetadata: {name: a}\n", "*: v1\nkind: A\nmetadata: {name: a}\n", "apiVersion: v1\nkind: A\nmetadata: {*: a, name: a}\n",
		"a: !* b\nc: kalypso0text0z\n", "--- !!*\napiVersion: v1\nkind: A\nmetadata: {name: kalypso0text0z}\n", "a: !* *\nc: kalypso0text0z\n",
		"apiVersion: v1\nkind: A\nmetadata:\n  name: |\n    *\n", "apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec: *\n---\napiVersion: v1\nkind: A\nmetadata: {name: b}\n", "*: a\n*: b\n", "a: {*: a, *: b}\n",
	}
	var all []string
	for _, context := range contexts {
		for mark := range placeholderMarks {
			all = append(all, strings.ReplaceAll(context, "*", "<"+mark+">"))
		}
		all = append(all, strings.Replace(context, "*", "<plain>", 1))
	}
	slices.Sort(all)
	return all
}

// entrySketches are places for entries of the configuration.
func entrySketches() []string {
	return []string{
		"<first 0>\n", "<first 0>", "<entries 0>\n", "<lines 0>", "a: b<entries 0>\n", "a: b\n<first 0>\n", "a: b\n<lines 0>c: d\n", "a:\n<first 2>\nb: c\n", "a:<entries 2>\nb: c\n", "a: <entries 4>\n",
		"a:\n  b: c\n<first 2>\n", "a:\n<first 2>\n  b: c\n", "a:\n<first 2>\n    b: c\n", "a:\n<first 2>\n    # c\n    d\n", "a:\n<first 2>\n # <plain>\n", "a: |\n<first 2>\n", "a: |\n  x\n<first 2>\nb: c\n",
		"a: {<first 0>}\n", "- <first 2>\n", "- a: b<entries 2>\n", "- a: b<entries 0>\n", "-<entries 2>\n", "? <first 2>\n: b\n", "a: b <first 0>\n", "a: &x<entries 2>\nb: *x\n", "a: !x<entries 2>\n", "a: !!map<entries 2>\n",
		"a:<entries 2><entries 2>\n", "a:<entries 2><entries 4>\n", "a:<entries 2>\nb:<entries 2>\n", "---<entries 0>\n---\n<first 0>\n", "<lines 0>...\n", "<lines 0>---\na: b\n", "a: \"<entries 2>\"\n", "# a<entries 0>\n",
		"<lines 0>apiVersion: v1\nkind: A\nmetadata: {name: a}\n", "apiVersion: v1\nkind: A\nmetadata:\n  name: <plain><entries 2>\n", "apiVersion: v1\nkind: A\nmetadata: {name: <plain>}\ndata:<entries 2>\n", "KEY: a<entries 0>\n",
		"<first 0>\n  <plain>\n", "<first 0>\n\n\n  <plain>: b\n", "<lines 0>  <plain>\n", "a:\n- <plain>\n<first 0>\n", "a:\n  <plain>: x\n<first 2>\n", "a: x<lines 0>", "a: [\n<first 2>\n]\n", "a:\n<lines 2>  <plain>: <typed>\n",
	}
}

// fillings are texts for placeholders.
func fillings() []string {
	return slices.Concat(rendertest.HostileTexts(), []string{
		"./x", "../x", "./", "../", "./a:b", "./a:b/c", "/a", "_", "a.", "a-", "a--", "a...", "a---", "x@y", "e3", "E5", "0", "00", "1", "-1", "0x1F", "0b1", "1_0", "12:30:45", "190:20:30", "2001-12-14", "2001-12-14T21:59:43.10-05:00",
		`"a"`, `"a b"`, `"a: b"`, `"- a"`, `"# a"`, `"---"`, `"{a}"`, `"'"`, `"%"`, `"5"`, `"null"`, `"a, b"`, `"]"`, `"*a"`, "a #b", "a: ", "x: y: z", "' #", "a ---", "--- a", "... a", "%YAML 1.1", "!!int", "a,b", "apiVersion", "kind", "name", "<<", "List", "kalypso0text0z",
		strings.Repeat("a", 300), strings.Repeat("a", 64), strings.Repeat("a", 254), strings.Repeat("a:b", 100), "./" + strings.Repeat("a", 298), strings.Repeat("a ", 140) + "a", `"` + strings.Repeat("a ", 140) + `"`,
	})
}

// plainAnywhere matches what IsPlainAnywhere accepts.
var plainAnywhere = regexp.MustCompile(`^[A-Za-z0-9_/](?:[A-Za-z0-9._/@+=-]|:[A-Za-z0-9._/@+=-])*$|^\.{1,2}(?:/(?:[A-Za-z0-9._/@+=-]|:[A-Za-z0-9._/@+=-])*)?$`)

// Values that are classified as plain or quoted need no check: plain ones have no special character, quoted ones are
// one string.
func TestPlaceholdersArePlain(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(10, 10))
	texts := fillings()
	for range 20_000 {
		const alphabet = "ab0./:-_@+= \"#{'\\,?"
		text := make([]byte, 1+random.IntN(6))
		for i := range text {
			text[i] = alphabet[random.IntN(len(alphabet))]
		}
		texts = append(texts, string(text), `"`+string(text)+`"`)
	}
	found := map[pieceKind]int{}
	for _, text := range texts {
		require.Equal(t, plainAnywhere.MatchString(text), yamltext.IsPlainAnywhere(text), "%q", text)
		kind := kindOf(text)
		found[kind]++
		switch kind {
		case plainPlaceholder, pathPlaceholder:
			require.Regexp(t, plainAnywhere, text)
		case quotedPlaceholder:
			var value any
			require.NoError(t, yaml.Unmarshal([]byte(text), &value))
			require.Equal(t, text[1:len(text)-1], value)
		}
	}
	for _, kind := range []pieceKind{plainPlaceholder, pathPlaceholder, quotedPlaceholder, constantPiece} {
		assert.Greater(t, found[kind], 20)
	}
}

// What is proven of a shape is true of every file of it: placeholders of all kinds, in all places, with
// whatever may be in them.
func TestShapesOfPlaceholders(t *testing.T) {
	t.Parallel()
	values := rendertest.Layered(map[string]string{"KEY": "value"})
	verified := 0
	texts := fillings()
	step := share(40, 20)
	for i, sketch := range sketches() {
		shapes := newFileShapes()
		for j := i % step; j < len(texts); j += step {
			if requireProof(t, shapes, sketch, values, texts[j], texts[(i+j)%len(texts)]) {
				verified++
			}
		}
	}
	assert.Greater(t, verified, 40_000/step, "hardly anything is proven")
}

// The same for runs of entries.
func TestShapesOfEntries(t *testing.T) {
	t.Parallel()
	verified, texts, keys := 0, hardValues(), hardKeys()
	step := share(12, 4)
	for offset, sketch := range entrySketches() {
		shapes := newFileShapes()
		for i := offset % step; i < len(texts); i += step {
			text, key := texts[i], keys[(i+offset)%len(keys)]
			for _, config := range []map[string]string{{"KEY": text}, {key: text, "zz": text}} {
				if requireProof(t, shapes, sketch, rendertest.Layered(config), text, "kind") {
					verified++
				}
			}
		}
	}
	assert.Greater(t, verified, 2000/step, "hardly anything is proven")
}

// FuzzShape: the same, for any sketch, texts and entry.
func FuzzShape(f *testing.F) {
	texts := fillings()
	for i, sketch := range slices.Concat(sketches(), entrySketches()) {
		f.Add(sketch, texts[i%len(texts)], texts[(i*7)%len(texts)], hardKeys()[i%len(hardKeys())], hardValues()[i%len(hardValues())])
	}
	f.Fuzz(func(t *testing.T, sketch, first, second, key, text string) {
		if s := sketch + first + second + key + text; strings.ToValidUTF8(s, "") != s || len(s) > 5000 {
			return
		}
		requireProof(t, newFileShapes(), sketch, rendertest.Layered(map[string]string{key: text, "KEY": "value"}), first, second)
	})
}
