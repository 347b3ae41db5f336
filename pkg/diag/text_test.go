package diag

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	at := Place{&File{"https://github.com/acme/shop", "dev", "a.yaml"}, 3, 5}
	bold := func(s string) string { return "<" + s + ">" }
	for _, c := range []struct {
		name       string
		diagnostic Diagnostic
		style      Style
		want       string
	}{
		{"only a message", Diagnostic{Rule: "r", Message: "m"}, Style{}, "notice: m [r]\n"},
		{"a place", Diagnostic{Severity: Warning, Rule: "r", At: at, Message: "m"}, Style{}, "github.com/acme/shop@dev:a.yaml:3:5: warning: m [r]\n"},
		{
			"all",
			Diagnostic{Severity: Error, Rule: "r", At: at, Message: "m", Hint: "h", Related: []Related{{at, "first"}, {Place{}, "of the run"}}},
			Style{},
			"github.com/acme/shop@dev:a.yaml:3:5: error: m [r]\n" +
				"    github.com/acme/shop@dev:a.yaml:3:5: first\n" +
				"    of the run\n" +
				"    hint: h\n",
		},
		{
			"styles",
			Diagnostic{Severity: Error, Rule: "r", At: at, Message: "m", Hint: "h", Related: []Related{{at, "first"}}},
			Style{Error: bold, Place: bold, Hint: bold},
			"<github.com/acme/shop@dev:a.yaml:3:5>: <error>: m [r]\n    <github.com/acme/shop@dev:a.yaml:3:5>: first\n    <hint:> h\n",
		},
		{
			"hostile text",
			Diagnostic{Severity: Error, Rule: "r", At: Place{File: &File{Path: "a\x1b[2J\n.yaml"}}, Message: "m\n::error::x", Hint: "h\r", Related: []Related{{at, "\u202e"}}},
			Style{},
			`a\x1b[2J\n.yaml: error: m\n::error::x [r]` + "\n    github.com/acme/shop@dev:a.yaml:3:5: \\u202e\n    hint: h\\r\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, Format(c.diagnostic, c.style))
		})
	}
}

func TestSafe(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                            "",
		"plain":                       "plain",
		`quotes ' " and \`:            `quotes ' " and \`,
		"Zürich 東京 🎉":                 "Zürich 東京 🎉",
		"tab\tbell\a":                 `tab\tbell\a`,
		"lines\r\n":                   `lines\r\n`,
		"\x00\x1b[31m\x7f":            `\x00\x1b[31m\x7f`,
		"next\u0085line":              `next\u0085line`,
		"\u2028\u2029":                `\u2028\u2029`,
		"\u202eabc\u2066":             `\u202eabc\u2066`,
		"zero\u200bwidth\u200d\u2060": `zero\u200bwidth\u200d\u2060`,
		"soft\u00adhyphen":            `soft\u00adhyphen`,
		"\ufeffmark":                  `\ufeffmark`,
		"tag\U000e0041":               `tag\U000e0041`,
		"not \xff UTF-8":              `not \ufffd UTF-8`,
	} {
		assert.Equal(t, want, Safe(in), "%q", in)
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text              string
		limit             int
		bytes, characters string
	}{
		{"short", 5, "short", "short"},
		{"longer", 5, "lo…", "long…"},
		{"grüße an", 6, "gr…", "grüße…"}, // no character is torn
		{"any", 2, "", "a…"},
		{"\x80\x80\x80\x80\x80", 4, "…", "\ufffd\ufffd\ufffd…"},
	} {
		assert.Equal(t, test.bytes, Shorten(test.text, test.limit))
		assert.Equal(t, test.characters, ShortenCharacters(test.text, test.limit))
	}
	assert.Empty(t, Shorten("any", -1))
}

// SECURITY S13: whatever a file holds, nothing of it moves the cursor, starts a line or hides.
func FuzzSafe(f *testing.F) {
	for _, seed := range []string{"", "a", "\x1b]0;x\a", "::error::", "\r\n", "\u202e\u2066\u200b\ufeff\U000e0041", "\xff\xc0\x80", "'\"\\"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		safe := Safe(text)
		require.True(t, utf8.ValidString(safe))
		for _, r := range safe {
			require.False(t, unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp), "%q holds %q", safe, r)
		}
		require.Equal(t, safe, Safe(safe), "what is safe stays as it is")

		file := &File{Repo: text, Branch: text, Path: text}
		shown := Format(Diagnostic{Severity: Error, Rule: "rule", At: Place{file, 1, 1}, Message: text, Hint: "h" + text, Related: []Related{{Place{File: file}, text}}}, Style{})
		require.Equal(t, 3, strings.Count(shown, "\n"), "%q", shown)
		require.True(t, utf8.ValidString(shown))
	})
}
