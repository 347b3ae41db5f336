package render

import (
	"slices"
	"strings"

	"github.com/Masterminds/semver"
)

// textFunctions are sprig's functions on text.
func textFunctions() []function {
	return slices.Concat(
		named(
			"abbrev", "abbrevboth", "adler32sum", "b32dec", "b32enc", "b64dec", "b64enc", "base", "camelcase",
			"cat", "clean", "contains", "dir", "ext", "hasPrefix", "hasSuffix", "initials", "isAbs", "kebabcase",
			"lower", "nospace", "quote", "sha1sum", "sha256sum", "sha512sum",
			"snakecase", "squote", "substr", "swapcase", "title", "toString", "toStrings", "trim", "trimAll",
			"trimPrefix", "trimSuffix", "trimall", "trunc", "untitle", "upper", "urlJoin", "urlParse",
		),
		[]function{
			{name: "hello", free: true},
			{name: "plural", free: true},
			{name: "fail", implementation: failWith},
			{name: "semver", implementation: semver.NewVersion, works: readingVersions},
			{name: "semverCompare", implementation: versionMatches, works: readingVersions},
			{name: "indent", makes: indentedSize},
			{name: "nindent", makes: indentedSize},
			{name: "join", makes: joinedSize},
			{name: "repeat", makes: func(a arguments) int { return times(a.number(0), len(a.text(1))) }},
			{name: "replace", makes: replacedSize},
			{name: "split", makes: splitSize},
			{name: "splitList", makes: splitSize},
			{name: "splitn", makes: splitSize},
			{name: "wrap", makes: func(a arguments) int { return wrappedSize(a.text(1), "\n", a.number(0)) }},
			{name: "wrapWith", makes: func(a arguments) int { return wrappedSize(a.text(2), a.text(1), a.number(0)) }},
		},
	)
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

// readingVersions is the work of the regular expressions that the library reads versions with.
func readingVersions(a arguments) int { return plus(16*bytesPerStep, timesOver(30)(a)) }

// unquote trims blanks, then double quotes, then single quotes, from both ends.
func unquote(text string) string {
	return strings.Trim(strings.Trim(strings.TrimSpace(text), `"`), `'`)
}

// failWith stops the rendering with a message of the template's author.
func failWith(message string) (string, error) {
	return "", &ExecError{Rule: ruleFailed, Message: excerpt(message)}
}

func indentedSize(a arguments) int {
	text := a.text(1)
	return plus(1+len(text), times(a.number(0), 1+strings.Count(text, "\n")))
}

func joinedSize(a arguments) int {
	return plus(a.weights[1], times(len(a.text(0)), a.length(1)))
}

func replacedSize(a arguments) int {
	old, replacement, text := a.text(0), a.text(1), a.text(2)
	return plus(len(text), times(strings.Count(text, old), len(replacement)-len(old)))
}

// splitSize counts what the pieces take beside their text, which they share.
func splitSize(a arguments) int {
	last := len(a.values) - 1
	pieces := 1 + strings.Count(a.text(last), a.text(0))
	if last == 2 && a.number(1) >= 0 {
		pieces = min(pieces, a.number(1))
	}
	return plus(len(a.text(last)), times(pieces, nodeWeight))
}

// wrappedSize bounds the lines that wrapping makes: a line that is full takes width bytes, and one
// that ends early ends at a blank.
func wrappedSize(text, separator string, width int) int {
	lines := 1 + strings.Count(text, " ") + len(text)/max(width, 1)
	return plus(len(text), times(lines, max(len(separator), 1)))
}
