package markdown

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Inert makes a text fit for a line of code: nothing invisible, and no start of a comment, because hidden markers are
// comments.
func Inert(text string) string {
	return strings.ReplaceAll(diag.Safe(text), "<!--", `<\u0021--`)
}

// InertLines makes each line of a text fit for a block of code, and at most limit bytes long.
func InertLines(text string, limit int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		pieces := strings.Split(strings.TrimSuffix(line, "\n"), "\t") // tabs are harmless
		for i, piece := range pieces {
			pieces[i] = Inert(piece)
		}
		b.WriteString(diag.Shorten(strings.Join(pieces, "\t"), limit) + "\n")
	}
	return b.String()
}

// Code returns a code span that shows a text. It is not for tables.
func Code(text string) string {
	text = Inert(text)
	if text == "" {
		return ""
	}
	fence := strings.Repeat("`", longestRun(text)+1)
	first, last := text[0], text[len(text)-1]
	if first == '`' || last == '`' || first == ' ' && last == ' ' && strings.Trim(text, " ") != "" {
		text = " " + text + " " // Markdown takes these two off
	}
	return fence + text + fence
}

// longestRun returns the length of the longest run of backticks.
func longestRun(text string) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// Cell returns a code span for a cell of a table, where a pipe would end the cell even in code.
func Cell(text string) string {
	if strings.Contains(text, "|") {
		return HTMLCode(text)
	}
	return Code(text)
}

// HTMLCode is code for where Markdown is not read, such as a <summary>. In a line of Markdown it is safe as well.
func HTMLCode(text string) string {
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range Inert(text) {
		if r > '~' || isWord(r) || strings.ContainsRune(" -/,;=", r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "&#%d;", r)
	}
	b.WriteString("</code>")
	return b.String()
}

func isWord(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' }

// Text shows a text as prose, in a table too.
func Text(text string) string {
	var b strings.Builder
	for _, c := range diag.Safe(text) {
		switch {
		case c == '@':
			b.WriteString("@\u200b") // it is not seen, and ends the mention
		case c == '#': // in an issue it would refer to another one: GitHub looks for that in what Markdown has made
			b.WriteString("\\#\u200b")
		case c == '|' || c == '\\':
			fmt.Fprintf(&b, "&#%d;", c) // tables have rules of their own for these two
		case c < utf8.RuneSelf && unicode.In(c, unicode.Punct, unicode.Symbol):
			b.WriteString(`\` + string(c))
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// TextCode is Text in the type of code. It may stand within a link and in a table.
func TextCode(text string) string { return "<code>" + Text(text) + "</code>" }

// Plain leaves nothing in a text that GitHub reads as anything but text where there is no Markdown, as in titles.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if isWord(r) || strings.ContainsRune(" ._+()/-", r) {
			return r
		}
		return '?'
	}, text)
}

// Details folds Markdown away behind a summary, which is HTML.
func Details(summary, content string) string {
	return "<details><summary>" + summary + "</summary>\n\n" + content + "\n</details>\n"
}

// Fenced puts lines that are inert into a block of code.
func Fenced(language, lines string) string {
	fence := strings.Repeat("`", max(3, longestRun(lines)+1))
	return fence + language + "\n" + lines + fence + "\n"
}
