package yamltext

import "strings"

// The classes of characters.
const (
	// inertFirst may begin an inert text, inertInside may follow.
	inertFirst = 1 << iota
	inertInside
	// printable is ASCII that means nothing between double quotes.
	printable
)

// characters holds the classes of each.
var characters = func() (table [256]byte) {
	for c := range table {
		letterOrDigit := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if letterOrDigit || c == '_' || c == '/' {
			table[c] |= inertFirst
		}
		if letterOrDigit || strings.IndexByte("._/@+=-", byte(c)) >= 0 {
			table[c] |= inertInside
		}
		if ' ' <= c && c <= '~' && c != '"' && c != '\\' {
			table[c] |= printable
		}
	}
	return table
}()

// IsInert reports whether a string is one plain scalar wherever a template prints it, quoted or not: it
// has no character with a meaning in YAML, and does not begin like a document marker. A path may begin
// with "./" or "../", or be "." or "..".
func IsInert(text string) bool {
	if text == "" {
		return false
	}
	if characters[text[0]]&inertFirst != 0 {
		return isInertTail(text[1:])
	}
	after, isPath := strings.CutPrefix(text, ".")
	after = strings.TrimPrefix(after, ".")
	return isPath && (after == "" || after[0] == '/' && isInertTail(after[1:]))
}

// isInertTail reports whether a text may follow the first character of an inert one: a colon must
// have something behind it, or it would make a key.
func isInertTail(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] == ':' {
			i++
			if i == len(text) {
				return false
			}
		}
		if characters[text[i]]&inertInside == 0 {
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
