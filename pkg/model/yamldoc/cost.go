package yamldoc

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// checkCost refuses text that would take the YAML library much longer than other text of its size. It counts
// single characters, also those in strings, so the limit must be higher than the number of values.
func (r *documentReader) checkCost(c chunk) bool {
	if at := TagDirective(c.text); at >= 0 {
		line := c.lineOffset + strings.Count(c.text[:at], "\n") + 1
		r.diags.Error("invalid-yaml", diag.Place{File: r.file, Line: line}, "invalid YAML: %TAG directives are not read",
			diag.Hint("remove the line, and write tags in full"))
		return false
	}
	if most := r.limits.Nodes; most > 0 && structure(c.text) > most {
		r.diags.Error("too-large", diag.Place{File: r.file, Line: c.lineOffset + 1, Column: 1},
			fmt.Sprintf("the document has more than %d commas, colons, brackets and other value separators", most),
			diag.Hint("split it into several documents"))
		return false
	}
	return true
}

// TagDirective finds a YAML directive that makes tags from prefixes, or returns -1. The library looks
// through all of them for each one, and writes the prefix, be it a megabyte, into each value that uses
// it.
func TagDirective(text string) int {
	const directive = "%TAG"
	for start := 0; ; start += len(directive) {
		i := strings.Index(text[start:], directive)
		if i < 0 {
			return -1
		}
		start += i
		if before, _ := utf8.DecodeLastRuneInString(text[:start]); start == 0 || strings.ContainsRune("\n\ufeff"+unusualBreaks, before) {
			return start
		}
	}
}

// structure estimates how many values and comments a text holds if it is YAML. There can be twice as
// many in a flow mapping of keys alone, and hardly more.
func structure(text string) int {
	n := strings.Count(text, ",") + strings.Count(text, "[") + strings.Count(text, "{") + 2*strings.Count(text, ":")
	for i := range len(text) {
		switch text[i] {
		case '-', '?':
			if i+1 == len(text) || isBlank(text[i+1]) {
				n++
			}
		case '#':
			if i == 0 || isBlank(text[i-1]) {
				n++
			}
		}
	}
	return n
}

// isBlank reports blanks and the first and last bytes of line breaks.
func isBlank(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', "\u0085"[0], "\u0085"[1], "\u2028"[0], "\u2028"[2], "\u2029"[2]:
		return true
	}
	return false
}

// Limits bound what one file may hold, so that no text can exhaust the machine. The zero value of a number means no limit.
type Limits struct {
	Documents int  // YAML documents in one file
	Nesting   int  // depth of maps and lists within each other
	Nodes     int  // YAML nodes of one document after its aliases are expanded
	Aliases   bool // whether YAML aliases are allowed at all
}
