package gitops

import (
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Whatever is not a word of ours stands in code, never in text: GitHub looks for mentions, references
// to issues, emoji and links in the text that Markdown makes, so that no escape of Markdown stops it,
// but not in code.

// inert makes a text fit for code: one line, nothing invisible, and no start of a comment, as hidden
// markers are comments.
func inert(text string) string {
	return strings.ReplaceAll(diag.Safe(text), "<!--", `<\u0021--`)
}

// codeSpan returns a code span that shows a text.
func codeSpan(text string) string {
	text = inert(text)
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

// tableCell returns a code span for a cell of a table, where a pipe would end the cell even in code.
func tableCell(text string) string {
	if strings.Contains(text, "|") {
		return htmlCode(text)
	}
	return codeSpan(text)
}

// htmlCode is code for where Markdown is not read, such as a <summary>. In a line of Markdown it is safe as
// well.
func htmlCode(text string) string {
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range inert(text) {
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
