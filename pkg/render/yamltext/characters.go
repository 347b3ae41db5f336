package yamltext

import "strings"

// The classes of characters.
const (
	// plainFirst may begin a text that IsPlainAnywhere accepts, plainInside may follow.
	plainFirst = 1 << iota
	plainInside
	// printable is ASCII without a special meaning between double quotes.
	printable
)

// characters holds the classes of each.
var characters = func() (table [256]byte) {
	for c := range table {
		letterOrDigit := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if letterOrDigit || c == '_' || c == '/' {
			table[c] |= plainFirst
		}
		if letterOrDigit || strings.IndexByte("._/@+=-", byte(c)) >= 0 {
			table[c] |= plainInside
		}
		if ' ' <= c && c <= '~' && c != '"' && c != '\\' {
			table[c] |= printable
		}
	}
	return table
}()

// IsPlainAnywhere reports whether a string is one plain scalar wherever a template prints it, quoted or not: it
// has no character with a meaning in YAML, and does not begin like a document marker. A path may begin
// with "./" or "../", or be "." or "..".
func IsPlainAnywhere(text string) bool {
	if text == "" {
		return false
	}
	if characters[text[0]]&plainFirst != 0 {
		return isPlainTail(text[1:])
	}
	after, isPath := strings.CutPrefix(text, ".")
	after = strings.TrimPrefix(after, ".")
	return isPath && (after == "" || after[0] == '/' && isPlainTail(after[1:]))
}

// isPlainTail reports whether a text may follow the first character of a text that IsPlainAnywhere accepts: a colon must
// not be the last character, or it would make a key.
func isPlainTail(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] == ':' {
			i++
			if i == len(text) {
				return false
			}
		}
		if characters[text[i]]&plainInside == 0 {
			return false
		}
	}
	return true
}

// IsVisible reports whether a text is ASCII without control characters.
func IsVisible(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// IsPrintable reports whether a text is such that double quotes around it make it one scalar.
func IsPrintable(text string) bool {
	for i := range len(text) {
		if characters[text[i]]&printable == 0 {
			return false
		}
	}
	return true
}
