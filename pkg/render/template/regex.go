package template

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// matching is the work of a regular expression (RE2, so a match takes no more than the length of the text
// times the size of the expression), and of going on from each match, of which a text may have as many as
// bytes. An expression that cannot be read costs nothing: the function says so.
func matching(a arguments) float64 {
	parsed, err := syntax.Parse(a[0].text(), syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	text := float64(len(a[1].text()))
	return float64(len(program.Inst))*(bytesPerStep+text) + text*bytesPerStep/8
}

// replacedMatches bounds a text in which each match was replaced: every $ of the replacement can name the match.
func replacedMatches(a arguments) float64 {
	text, replacement := a[1].text(), a[2].text()
	expression, err := regexp.Compile(a[0].text())
	if err != nil {
		return 0
	}
	size := float64(len(text))
	names := float64(strings.Count(replacement, "$"))
	for _, match := range expression.FindAllStringIndex(text, -1) {
		size += float64(len(replacement)) + names*float64(match[1]-match[0])
	}
	return size
}
