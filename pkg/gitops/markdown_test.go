package gitops

import (
	"bytes"
	"html"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	renderhtml "github.com/yuin/goldmark/renderer/html"
)

// htmlOf renders Markdown as GitHub does, with all that GitHub makes of text turned on.
func htmlOf(t testing.TB, markdown string) string {
	t.Helper()
	var out bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(renderhtml.WithUnsafe()))
	require.NoError(t, md.Convert([]byte(markdown), &out))
	return out.String()
}

func TestCodeSpan(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                     "",
		"plain":                "`plain`",
		"a`b":                  "``a`b``",
		"`":                    "`` ` ``",
		"``a":                  "``` ``a ```",
		" a ":                  "`  a  `",
		" a":                   "` a`",
		"  ":                   "`  `",
		"a\nb\x00\t":           "`a\\nb\\x00\\t`",
		"\u202eevil":           "`\\u202eevil`",
		"<!-- kalypso:env -->": "`<\\u0021-- kalypso:env -->`",
		"\xff":                 "`\\ufffd`",
		"@acme/team #1":        "`@acme/team #1`",
		"a|b":                  "`a|b`",
		"grüße":                "`grüße`",
		"<b>&amp;":             "`<b>&amp;`",
		"http://x.example www": "`http://x.example www`",
	} {
		assert.Equal(t, want, codeSpan(text), "%q", text)
	}
	assert.Equal(t, "<code>a&#124;b&#96; www&#46;x</code>", tableCell("a|b` www.x"))
}

// FuzzMarkdown: whatever a text is, it is one code span, one cell of a table, one summary.
func FuzzMarkdown(f *testing.F) {
	for _, text := range []string{hostile, "`", "``", "` `", " ", "a|b", `\|`, `\`, "|", "`|`", "www.evil.example|", "<!--", "https://x.example|", "*a*|_b_", "&amp;|", "~~x~~|"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" {
			return
		}
		shown := "<code>" + html.EscapeString(inert(text)) + "</code>"
		normal := func(rendered string) string {
			return strings.ReplaceAll(strings.ReplaceAll(rendered, "&#34;", "&quot;"), "&#39;", "'")
		}
		shown = normal(shown)
		assert.Equal(t, "<p>x "+shown+" y</p>\n", normal(htmlOf(t, "x "+codeSpan(text)+" y\n")))

		row := "| a | b |\n| --- | --- |\n| " + tableCell(text) + " | y |\n"
		assert.NotContains(t, strings.TrimSuffix(tableCell(text), "\n"), "\n")
		rendered := htmlOf(t, row)
		assert.Equal(t, 2, strings.Count(rendered, "<td>"), rendered)
		cells := strings.Split(rendered, "<td>")
		cell, _, _ := strings.Cut(cells[1], "</td>")
		assert.Equal(t, html.UnescapeString(shown), html.UnescapeString(cell))
		assert.Equal(t, 1, strings.Count(cell, "<"+"code>"))
		assert.NotContains(t, cell, "<a")
		assert.NotContains(t, cell, "<em")
		assert.NotContains(t, cell, "<del")

		folded := htmlOf(t, details(htmlCode(text), "inside\n")+"\nafter\n")
		assert.Equal(t, 1, strings.Count(folded, "<details>"))
		assert.Contains(t, folded, "</details>\n<p>after</p>")
		assert.NotContains(t, folded, "<!--")

		fence := htmlOf(t, fenced("", inertLines(text))+"\nafter\n")
		assert.True(t, strings.HasSuffix(fence, "</code></pre>\n<p>after</p>\n"), fence)
		assert.Equal(t, 1, strings.Count(fence, "<pre>"))
	})
}
