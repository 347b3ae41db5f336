package markdown

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

// htmlOf renders Markdown as GitHub does, with all extensions of GitHub.
func htmlOf(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(renderhtml.WithUnsafe()))
	require.NoError(t, md.Convert([]byte(text), &out))
	return out.String()
}

func TestCode(t *testing.T) {
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
		assert.Equal(t, want, Code(text), "%q", text)
	}
	assert.Equal(t, "<code>a&#124;b&#96; www&#46;x</code>", Cell("a|b` www.x"))
}

func TestS13MarkdownIsSanitized(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain words":                "plain words",
		"![x](https://evil)":         `\!\[x\]\(https\:\/\/evil\)`,
		"<img src=x>":                `\<img src\=x\>`,
		"@acme/all":                  "@\u200bacme\\/all",
		"a|b":                        "a&#124;b",
		`\|`:                         "&#92;&#124;",
		"`a`":                        "\\`a\\`",
		"a\n# b":                     "a&#92;n\\#\u200b b",
		"&lt;":                       `\&lt\;`,
		"zürich 店\u202e":             `zürich 店&#92;u202e`,
		"www.evil.example":           `www\.evil\.example`,
		"closes #1, **b** _c_ ~~d~~": "closes \\#\u200b1\\, \\*\\*b\\*\\* \\_c\\_ \\~\\~d\\~\\~",
	} {
		assert.Equal(t, want, Text(text))
		assert.Equal(t, "<code>"+want+"</code>", TextCode(text))
	}
}

// FuzzMarkdown: whatever a text is, it is one code span, one cell of a table, one summary.
func FuzzMarkdown(f *testing.F) {
	for _, text := range []string{"a|b`c``d\n\n# e <!-- kalypso -->\x1b[31m\u202e</details><img src=x> @acme/team fixes #1 [x](https://evil.example) \\| ~~~\n```\n| - |", "`", "``", "` `", " ", "a|b", `\|`, `\`, "|", "`|`", "www.evil.example|", "<!--", "https://x.example|", "*a*|_b_", "&amp;|", "~~x~~|"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" {
			return
		}
		shown := "<code>" + html.EscapeString(Sanitize(text)) + "</code>"
		normal := func(rendered string) string {
			return strings.ReplaceAll(strings.ReplaceAll(rendered, "&#34;", "&quot;"), "&#39;", "'")
		}
		shown = normal(shown)
		assert.Equal(t, "<p>x "+shown+" y</p>\n", normal(htmlOf(t, "x "+Code(text)+" y\n")))

		row := "| a | b |\n| --- | --- |\n| " + Cell(text) + " | y |\n"
		assert.NotContains(t, strings.TrimSuffix(Cell(text), "\n"), "\n")
		rendered := htmlOf(t, row)
		assert.Equal(t, 2, strings.Count(rendered, "<td>"), rendered)
		cells := strings.Split(rendered, "<td>")
		cell, _, _ := strings.Cut(cells[1], "</td>")
		assert.Equal(t, html.UnescapeString(shown), html.UnescapeString(cell))
		assert.Equal(t, 1, strings.Count(cell, "<"+"code>"))
		assert.NotContains(t, cell, "<a")
		assert.NotContains(t, cell, "<em")
		assert.NotContains(t, cell, "<del")

		folded := htmlOf(t, Details(HTMLCode(text), "inside\n")+"\nafter\n")
		assert.Equal(t, 1, strings.Count(folded, "<details>"))
		assert.Contains(t, folded, "</details>\n<p>after</p>")
		assert.NotContains(t, folded, "<!--")

		fence := htmlOf(t, Fenced("", SanitizeLines(text, 240))+"\nafter\n")
		assert.True(t, strings.HasSuffix(fence, "</code></pre>\n<p>after</p>\n"), fence)
		assert.Equal(t, 1, strings.Count(fence, "<pre>"))
	})
}
