package incremental

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/kalypso-gitops/kalypso/pkg/render/reference"
	"github.com/kalypso-gitops/kalypso/pkg/render/rendertest"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// entryForms are the forms in which entries are written one by one, each with what writes all at once.
func entryForms(namespace string) map[string]struct {
	compose func(*composition) bool
	whole   func(*config.Values) (string, error)
} {
	type way = struct {
		compose func(*composition) bool
		whole   func(*config.Values) (string, error)
	}
	entries := func(f form) func(*composition) bool {
		return func(c *composition) bool { return c.addEntries(f) }
	}
	return map[string]way{
		"toYaml":    {entries(form{writer: inYAML}), func(v *config.Values) (string, error) { return yamltext.ToYAML(v.Data()) }},
		"stringify": {entries(form{writer: inStringified}), func(v *config.Values) (string, error) { return yamltext.Stringify(v.Data()) }},
		"indent": {entries(form{writer: inYAML, indent: 3}), func(v *config.Values) (string, error) {
			text, err := yamltext.ToYAML(v.Data())
			return indentLines(text, 3), err
		}},
		"ConfigMap": {composeConfigMap, func(v *config.Values) (string, error) { return reference.ConfigMap(namespace, v) }},
		"env file":  {entries(form{writer: inEnvFile}), func(v *config.Values) (string, error) { return reference.EnvFile(namespace, v) }},
	}
}

// requireEntries checks that entries written one by one make the text that is written at once, of those of some configs
// that are chosen. It returns in how many forms they were.
func requireEntries(t *testing.T, configs []map[string]string, chosen ...int) (composed int) {
	t.Helper()
	configurator := rendertest.Configured(configs...)
	values := configurator.Combine(chosen)
	composer := &Composer{bounds: template.Bounds{}.OrDefault(), orders: newKeyOrders(configurator.Keys())}
	const namespace = "dev-edge-web"
	for name, way := range entryForms(namespace) {
		for _, yaml := range []bool{true, false} {
			c := composition{Composer: composer, Subject: &reference.Subject{Values: values, Facts: reference.Data{Namespace: namespace}}, yaml: yaml}
			if !way.compose(&c) {
				continue
			}
			composed++
			want, err := way.whole(values)
			require.NoError(t, err, name)
			require.Equal(t, want, c.String(), name)
			require.Equal(t, want, c.fill(newFrame(&c.builder)).String(), name)
			if yaml && name != "env file" {
				requireEntriesApart(t, &c)
			}
		}
	}
	return composed
}

// requireEntriesApart checks that a segment that is marked as one entry is exactly one.
func requireEntriesApart(t *testing.T, c *composition) {
	t.Helper()
	for _, p := range c.pieces {
		if p.kind == entryPiece {
			pad := strings.Repeat(" ", p.segment.Indent)
			before, after := pad+"a before: x\n", "\n"+pad+"z after: |\n"+pad+"  x\n"
			roots, flaw := verify.AllDocuments(before + p.segment.Lines() + after)
			require.Nil(t, flaw, "%q", p.text)
			require.Len(t, roots, 1)
			require.Len(t, roots[0].Content, 6, "%q", p.text)
			assert.Equal(t, p.segment.Key, roots[0].Content[2].Value)
			assert.Equal(t, "x\n", roots[0].Content[5].Value)
		}
	}
}

// hardKeys are names that YAML libraries order or write in special ways.
func hardKeys() []string {
	keys := []string{
		"a", "A", "b", "a1", "a2", "a10", "a01", "a1b", "a10b", "a2b", "a22", "a_b", "a-b", "a.b", "ab", "_a", ".a", "-a", "1", "10", "2", "1a", "true", "null", "y", "No",
		"<<", "~", "1e3", "0x1f", "1:30", "2024-01-01", "a b", "a: b", "a:b", "#a", "é", "日本", "*", "&a", "!a", "'", `"`, "a\nb", "|", "zzzzzzzz", "!", "S3BUCKET", "S30", "S4",
	}
	for _, length := range []int{80, 127, 128, 129, 150, 253, 254, 400, 1100} {
		keys = append(keys, strings.Repeat("k", length), strings.Repeat("k9-", length/3))
	}
	return keys
}

// hardValues are values that YAML libraries write in special ways.
func hardValues() []string {
	values := slices.Concat(rendertest.HostileTexts(), rendertest.HardTexts(), []string{
		"one\ntwo\n", "one\ntwo", "one\n\n", "\n", "\n\n", "  one\n two\n", "one \ntwo", "\tone", "one\t", "a\tb\n", "one\n\ttwo", "a\n---\nb", "a\n...\nb", "# a\nb", "a\r\nb",
		strings.Repeat("word ", 40), strings.Repeat("word ", 16) + "\n" + strings.Repeat("word ", 30), strings.Repeat("x", 200), strings.Repeat("é ", 80),
		strings.Repeat("a: ", 60), "'" + strings.Repeat("word ", 30) + "'", "a\u0085b", "a\u2028b", "a\ufeffb", "\x7f", "a\u0080b", "\ufffe", "é\n日本\n", "日本 " + strings.Repeat("日本 ", 40),
		"{a: b}", "{a: {b: [1, two, {c: d}]}, e: 'f g'}", "[a, [b, c], {d: e, f: [g]}]", "{1: a, b: c}", "{}", "[]", "[1]", "[\"x\\n\\n\"]", "[\"x\\n\\n\", [' y', \"z \\n\"]]", "{a: }", "{a: .inf}", "{a: 1e3}", "[1.5, 1e21, 0.1]",
		"{a: \"x\\n\\n\"}", "{" + strings.Repeat("k", 150) + ": v}", "{a10: x, a9: y, B: z}", "{k: !!binary aGVsbG8=}", "{k: 2024-01-01}", "{k: 0777}", "{k: 12345678901234567890}",
	})
	return values
}

// Entries written one by one make the text that is written at once, whatever the keys and values, and
// however many other keys the fleet has.
func TestEntriesAreTheMap(t *testing.T) {
	t.Parallel()
	if rendertest.RaceDetector {
		t.Skip("nothing here is done at once")
	}
	random := rand.New(rand.NewPCG(3, 3))
	keys, texts := hardKeys(), hardValues()
	composed := 0
	rounds := share(130, 400)
	for range rounds {
		configs := make([]map[string]string, 3)
		for i := range configs {
			configs[i] = map[string]string{}
			for range 1 + random.IntN(6) {
				configs[i][keys[random.IntN(len(keys))]] = texts[random.IntN(len(texts))]
			}
		}
		composed += requireEntries(t, configs, 0) + requireEntries(t, configs, 0, 2)
	}
	assert.Greater(t, composed, rounds*5/4, "most is not written one by one")
}

// Every hard key and value is written in all forms, so that it is known which are.
func TestHardEntries(t *testing.T) {
	t.Parallel()
	for i, text := range hardValues() {
		requireEntries(t, []map[string]string{{"KEY": text, "a": "b", "z": "x\n"}}, 0)
		requireEntries(t, []map[string]string{{hardKeys()[i%len(hardKeys())]: text}}, 0)
	}
	for _, text := range []string{"a\u0085b", "a\uffffb", "<&>\u2028\n\ufeff"} {
		assert.Positive(t, requireEntries(t, []map[string]string{{"A": text}}, 0), "%q", text)
	}
	requireEntries(t, []map[string]string{{"!": "one\n\n"}}, 0)
	for _, key := range hardKeys() {
		requireEntries(t, []map[string]string{{key: "value", "B": "{" + "c: d}"}}, 0)
	}
}

// The order of keys does not depend on the other keys, or it is unknown.
func TestKeyOrderIsThatOfAnySelection(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(4, 4))
	alphabet := []string{"0", "1", "2", "9", "a", "B", "_", "-", ".", "0", "9", "99999999999999999999", "3333333333333", "٣"}
	known := 0
	rounds := share(100, 300)
	for range rounds {
		config, selection := map[string]string{}, map[string]string{}
		for i := range 3 + random.IntN(8) {
			var key strings.Builder
			for range 1 + random.IntN(4) {
				key.WriteString(alphabet[random.IntN(len(alphabet)-random.IntN(2)*3)])
			}
			config[key.String()] = fmt.Sprintf("v%d", i)
			if random.IntN(2) == 0 {
				selection[key.String()] = fmt.Sprintf("v%d", i)
			}
		}
		if len(selection) > 0 && requireEntries(t, []map[string]string{config, selection}, 1) > 6 {
			known++
		}
	}
	assert.Greater(t, known, rounds/6, "the order is hardly ever known")
}

// FuzzEntries: the same, for any keys and values.
func FuzzEntries(f *testing.F) {
	texts, keys := hardValues(), hardKeys()
	for i, text := range texts {
		f.Add(keys[i%len(keys)], text, keys[(i*7)%len(keys)], texts[(i*5)%len(texts)], text)
	}
	f.Fuzz(func(t *testing.T, key, text, otherKey, otherText, over string) {
		if s := key + text + otherKey + otherText + over; strings.ToValidUTF8(s, "") != s {
			return // nothing like it can be read
		}
		configs := []map[string]string{{key: text, "KEY": "v"}, {otherKey: otherText}, {key: over}}
		for _, chosen := range [][]int{{0}, {1}, {0, 1}, {0, 1, 2}} {
			requireEntries(t, configs, chosen...)
		}
	})
}
