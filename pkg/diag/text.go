package diag

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Style formats the parts of a diagnostic. The zero Style leaves them plain.
type Style struct {
	Error, Warning, Notice, Place, Hint func(string) string
}

func (s Style) severity(severity Severity) string {
	styles := map[Severity]func(string) string{Error: s.Error, Warning: s.Warning, Notice: s.Notice}
	return apply(styles[severity], severity.String())
}

// place returns the beginning of a line about a place; empty for the zero Place.
func (s Style) place(at Place) string {
	if at.IsZero() {
		return ""
	}
	return apply(s.Place, Safe(at.String())) + ": "
}

func apply(style func(string) string, text string) string {
	if style == nil {
		return text
	}
	return style(text)
}

// Format returns a diagnostic as text: a line that begins with the place, as those of compilers, and
// indented lines for related places and the hint. It ends in a newline and has no control characters
// except those of the style.
func Format(d Diagnostic, style Style) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s: %s [%s]\n", style.place(d.At), style.severity(d.Severity), Safe(d.Message), d.Rule)
	for _, related := range d.Related {
		fmt.Fprintf(&b, "    %s%s\n", style.place(related.At), Safe(related.Message))
	}
	if d.Hint != "" {
		fmt.Fprintf(&b, "    %s %s\n", apply(style.Hint, "hint:"), Safe(d.Hint))
	}
	return b.String()
}

// Safe escapes control characters and those that change the order in which text is read.
func Safe(text string) string {
	if !strings.ContainsFunc(text, unsafeRune) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unsafeRune(r) {
			quoted := fmt.Sprintf("%+q", r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// unsafeRune reports control characters, line breaks and format characters (Cf), which change the order of text or are
// invisible. An invalid byte is the replacement character.
func unsafeRune(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar
}

// Shorten returns at most limit bytes of a text, with an ellipsis in place of the rest. It does not split characters.
func Shorten(text string, limit int) string {
	const ellipsis = "…"
	if len(text) <= limit {
		return text
	}
	if limit < len(ellipsis) {
		return ""
	}
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// ShortenCharacters is Shorten for a limit in characters.
func ShortenCharacters(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}

// Summary counts the errors and warnings of a list: "2 errors, 1 warning". It is empty if there are
// neither.
func (l List) Summary() string {
	var parts []string
	for _, severity := range []Severity{Error, Warning} {
		if n := l.Count(severity); n > 0 {
			parts = append(parts, Plural(n, severity.String()))
		}
	}
	return strings.Join(parts, ", ")
}

// Plural writes a number with its noun: "1 file", "2 files".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
