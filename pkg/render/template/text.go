package template

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/Masterminds/semver"
)

// textFunctions are our functions on text, and those that do something else than sprig's.
func textFunctions() map[string]any {
	return map[string]any{
		"unquote": unquote,
		"fail":    failWith,
		// Versions are those of semver 1, which sprig 2.22 and so the in-cluster operator has.
		"semver":        semver.NewVersion,
		"semverCompare": versionMatches,
	}
}

// versionMatches reports whether a version is in a range. The ranges mean what they mean in semver 1,
// which sprig 2.22 and so the in-cluster operator has; semver 3 reads "<2" and "^0.2.3" differently.
func versionMatches(constraint, version string) (bool, error) {
	c, err := semver.NewConstraint(constraint)
	if err != nil {
		return false, err
	}
	v, err := semver.NewVersion(version)
	if err != nil {
		return false, err
	}
	return c.Check(v), nil
}

// unquote trims blanks, then double quotes, then single quotes, from both ends.
func unquote(text string) string {
	return strings.Trim(strings.Trim(strings.TrimSpace(text), `"`), `'`)
}

// failWith stops the rendering with a message of the template's author.
func failWith(message string) (string, error) {
	return "", &Error{Rule: ruleFailed, Message: excerpt(message)}
}

func indentedSize(a arguments) float64 {
	text := a[1].text()
	return 1 + float64(len(text)) + a[0].number()*float64(1+strings.Count(text, "\n"))
}

func joinedSize(a arguments) float64 {
	return a[1].bytes + float64(len(a[0].text()))*float64(a[1].length())
}

func repeatedSize(a arguments) float64 { return a[0].number() * float64(len(a[1].text())) }

func replacedSize(a arguments) float64 {
	old, replacement, text := a[0].text(), a[1].text(), a[2].text()
	return float64(len(text)) + float64(strings.Count(text, old))*float64(len(replacement)-len(old))
}

// splitSize counts what the pieces take beside their text, which they share.
func splitSize(a arguments) float64 {
	text := a[len(a)-1].text()
	return float64(len(text)) + nodeWeight*float64(1+strings.Count(text, a[0].text()))
}

// wrappedSize bounds the lines that wrapping makes: a line that is full takes width bytes, and one
// that ends early ends at a blank.
func wrappedSize(a arguments) float64 {
	text, separator := a[len(a)-1].text(), "\n"
	if len(a) == len([]string{"width", "separator", "text"}) {
		separator = a[1].text()
	}
	lines := float64(1+strings.Count(text, " ")) + float64(len(text))/max(a[0].number(), 1)
	return float64(len(text)) + lines*float64(len(separator))
}

// matching is the work of a regular expression (RE2, so a match takes no more than the length of the text
// times the size of the expression), and of going on from each match, of which a text may have as many as
// bytes. An expression that cannot be read costs nothing: the function reports the error.
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
