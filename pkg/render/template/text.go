package template

import (
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
