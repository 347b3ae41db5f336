package markdown

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Sanitize returns a text for a line of code: without invisible characters and without the start of an HTML comment,
// because kalypso's markers are comments.
func Sanitize(text string) string {
	return strings.ReplaceAll(diag.Safe(text), "<!--", `<\u0021--`)
}

// SanitizeLines sanitizes each line of a text for a code block, and shortens it to limit bytes.
func SanitizeLines(text string, limit int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		pieces := strings.Split(strings.TrimSuffix(line, "\n"), "\t") // tabs are harmless
		for i, piece := range pieces {
			pieces[i] = Sanitize(piece)
		}
		b.WriteString(diag.Shorten(strings.Join(pieces, "\t"), limit) + "\n")
	}
	return b.String()
}

// Code returns a code span that shows a text. It is not for tables.
func Code(text string) string {
	text = Sanitize(text)
	if text == "" {
		return ""
	}
	fence := strings.Repeat("`", longestRun(text)+1)
	first, last := text[0], text[len(text)-1]
	if first == '`' || last == '`' || first == ' ' && last == ' ' && strings.Trim(text, " ") != "" {
		text = " " + text + " " // Markdown removes these two
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

// HTMLCode returns code for HTML elements without Markdown, such as a <summary>. It is also safe in Markdown.
func HTMLCode(text string) string {
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range Sanitize(text) {
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

// Text returns a text as prose, also for a table.
func Text(text string) string {
	var b strings.Builder
	for _, c := range diag.Safe(text) {
		switch {
		case c == '@':
			b.WriteString("@\u200b") // invisible, and ends the mention
		case c == '#': // would refer to an issue: GitHub looks for references in the rendered Markdown
			b.WriteString("\\#\u200b")
		case c == '|' || c == '\\':
			fmt.Fprintf(&b, "&#%d;", c) // a backslash does not escape these in tables
		case c < utf8.RuneSelf && unicode.In(c, unicode.Punct, unicode.Symbol):
			b.WriteString(`\` + string(c))
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// TextCode is Text in a monospaced font. It may be part of a link or a table.
func TextCode(text string) string { return "<code>" + Text(text) + "</code>" }

// Plain returns a text for places without Markdown, such as titles. It replaces characters with a meaning on GitHub by
// question marks.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if isWord(r) || strings.ContainsRune(" ._+()/-", r) {
			return r
		}
		return '?'
	}, text)
}

// Details returns collapsed Markdown with a summary, which is HTML.
func Details(summary, content string) string {
	return "<details><summary>" + summary + "</summary>\n\n" + content + "\n</details>\n"
}

// Fenced returns a code block with sanitized lines.
func Fenced(language, lines string) string {
	fence := strings.Repeat("`", max(3, longestRun(lines)+1))
	return fence + language + "\n" + lines + fence + "\n"
}
