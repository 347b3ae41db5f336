package jsonschema

import (
	"cmp"
	"fmt"
	"math/big"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

const (
	// shownLength is how much of a value a message shows: values may be secrets or very long.
	shownLength = 61
	// shownChoices is how many allowed values a message lists.
	shownChoices = 10
)

// typeNames lists types of JSON Schema as people say them.
func typeNames(types []string) string {
	named := strings.NewReplacer("array", "a list", "integer", "an integer", "object", "an object", "number", "a number",
		"string", "a string", "boolean", "a boolean").Replace(strings.Join(types, ", "))
	if last := strings.LastIndex(named, ", "); last >= 0 {
		return named[:last] + " or " + named[last+2:]
	}
	return named
}

// quote quotes the text, shortened, so that it fits into one line.
func quote(text string) string { return strconv.Quote(diag.ShortenCharacters(text, shownLength)) }

// oneLine replaces line breaks and control characters by blanks.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// show writes a value as briefly as a message needs it.
func show(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return quote(value)
	case map[string]any:
		return "an object with " + diag.Plural(len(value), "key")
	case []any:
		return "a list of " + diag.Plural(len(value), "item")
	default:
		return diag.ShortenCharacters(fmt.Sprint(value), shownLength)
	}
}

// choices lists the values that are allowed.
func choices(values []any) string {
	if len(values) == 1 {
		return show(values[0])
	}
	var shown []string
	for _, value := range values[:min(len(values), shownChoices)] {
		shown = append(shown, show(value))
	}
	list := "one of " + strings.Join(shown, ", ")
	if len(values) > shownChoices {
		list += fmt.Sprintf(" … (%d in all)", len(values))
	}
	return list
}

// texts returns those of the values that are strings.
func texts(values []any) []string {
	var list []string
	for _, value := range values {
		if text, isString := value.(string); isString {
			list = append(list, text)
		}
	}
	return list
}

// decimal writes a fraction exactly, as a decimal number where there is one.
func decimal(n *big.Rat) string {
	if digits, exact := n.FloatPrec(); exact {
		return diag.ShortenCharacters(n.FloatString(digits), shownLength)
	}
	return diag.ShortenCharacters(n.RatString(), shownLength)
}

// format describes the strings of a format.
func format(name string) string {
	known := map[string]string{
		"date-time": "a date and time such as 2024-01-31T12:00:00Z",
		"date":      "a date such as 2024-01-31",
		"time":      "a time such as 12:00:00Z",
		"duration":  "a duration such as P1DT2H",
		"email":     "an email address",
		"idn-email": "an email address",
		"hostname":  "a host name",
		"ipv4":      "an IPv4 address",
		"ipv6":      "an IPv6 address",
		"uuid":      "a UUID",
		"regex":     "a regular expression",
		"uri":       "an absolute URI",
		"semver":    "a semantic version such as 1.2.3",
	}
	return cmp.Or(known[name], "of the format "+quote(name))
}

// pointerOf returns the JSON Pointer in the fragment of a location that the library gives.
func pointerOf(location string) string {
	_, fragment, _ := strings.Cut(location, "#")
	if pointer, err := url.PathUnescape(fragment); err == nil {
		return pointer
	}
	return fragment
}

// pointerTo writes a path as a JSON Pointer.
func pointerTo(path []string) string {
	var b strings.Builder
	for _, key := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
	}
	return b.String()
}

// splitPointer returns the keys that a JSON Pointer leads through.
func splitPointer(pointer string) []string {
	path := strings.Split(pointer, "/")[1:]
	for i, token := range path {
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	}
	return path
}
