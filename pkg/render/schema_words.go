package render

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

const (
	// shownLength is how much of a value a message shows: values may be secrets or very long.
	shownLength = 60
	// shownChoices is how many alternatives a message lists.
	shownChoices = 10
	// nearestChoices is how many names are searched at most for one that may be meant.
	nearestChoices = 500
)

// shorten cuts text to so many characters and marks the cut.
func shorten(text string, characters int) string {
	if len(text) <= characters {
		return text
	}
	n := 0
	for i := range text {
		if n == characters {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// quoteShort quotes the text, shortened, so that it fits into one line.
func quoteShort(text string) string { return strconv.Quote(shorten(text, shownLength)) }

// oneLine replaces line breaks and control characters by blanks.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// showValue writes a value as briefly as a message needs it.
func showValue(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return quoteShort(value)
	case map[string]any:
		return showWhole(value, "an object with "+diag.Plural(len(value), "key"))
	case []any:
		return showWhole(value, "a list of "+diag.Plural(len(value), "item"))
	default:
		return shorten(fmt.Sprint(value), shownLength)
	}
}

// showWhole writes a small value out and summarises a large one.
func showWhole(value any, summary string) string {
	if countValues(value, shownChoices) >= shownChoices {
		return summary
	}
	text, err := json.Marshal(value)
	if err != nil || len(text) > shownLength {
		return summary
	}
	return string(text)
}

// countValues counts the values in a value, up to the limit.
func countValues(value any, limit int) int {
	n := 1
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			if n >= limit {
				return n
			}
			n += countValues(member, limit-n)
		}
	case []any:
		for _, item := range value {
			if n >= limit {
				return n
			}
			n += countValues(item, limit-n)
		}
	case string:
		n += len(value) / (shownLength / 2)
	}
	return n
}

// describeValue writes a value together with its type.
func describeValue(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return "the string " + quoteShort(value)
	case bool:
		return "the boolean " + strconv.FormatBool(value)
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	default:
		return "the number " + showValue(value)
	}
}

// describeType writes a type of JSON Schema as people say it.
func describeType(name string) string {
	switch name {
	case "array":
		return "a list"
	case "integer", "object":
		return "an " + name
	case "null":
		return name
	default:
		return "a " + name
	}
}

// joinOr joins texts as in "a, b or c".
func joinOr(texts []string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " or " + texts[len(texts)-1]
}

// showChoices lists what a value may be.
func showChoices(values []any) string {
	var shown []string
	for _, value := range values[:min(len(values), shownChoices)] {
		shown = append(shown, showValue(value))
	}
	list := strings.Join(shown, ", ")
	if len(values) > shownChoices {
		list += fmt.Sprintf(" … (%d in all)", len(values))
	}
	return list
}

// mustBeOneOf says which values are allowed.
func mustBeOneOf(values []any) string {
	if len(values) == 1 {
		return "must be " + showValue(values[0])
	}
	return "must be one of " + showChoices(values)
}

// nearestName returns the candidate that is probably meant, or "". Long lists and names are not
// searched.
func nearestName(name string, candidates []string) string {
	if len(name) > 2*shownLength || len(candidates) > nearestChoices {
		return ""
	}
	return diag.Nearest(name, candidates)
}

// didYouMean ends a message with the candidate that is probably meant, if there is one.
func didYouMean(name string, candidates []string) string {
	if near := nearestName(name, candidates); near != "" {
		return fmt.Sprintf("; did you mean %s?", quoteShort(near))
	}
	return ""
}

// showNumber writes a fraction exactly, as a decimal number where there is one.
func showNumber(n *big.Rat) string {
	if n == nil {
		return "?"
	}
	if n.IsInt() {
		return shorten(n.Num().String(), shownLength)
	}
	digits, exact := n.FloatPrec()
	if !exact {
		return shorten(n.RatString(), shownLength)
	}
	return shorten(n.FloatString(digits), shownLength)
}

// formatText describes the strings of a format.
func formatText(format string) string {
	texts := map[string]string{
		"date-time":             "a date and time such as 2024-01-31T12:00:00Z",
		"date":                  "a date such as 2024-01-31",
		"time":                  "a time such as 12:00:00Z",
		"duration":              "a duration such as P1DT2H",
		"email":                 "an email address",
		"idn-email":             "an email address",
		"hostname":              "a host name",
		"ipv4":                  "an IPv4 address",
		"ipv6":                  "an IPv6 address",
		"uri":                   "an absolute URI",
		"iri":                   "an absolute IRI",
		"uri-reference":         "a URI reference",
		"iri-reference":         "an IRI reference",
		"uri-template":          "a URI template",
		"uuid":                  "a UUID",
		"regex":                 "a regular expression",
		"json-pointer":          "a JSON Pointer",
		"relative-json-pointer": "a relative JSON Pointer",
		"semver":                "a semantic version such as 1.2.3",
	}
	if text, found := texts[format]; found {
		return text
	}
	return "of the format " + quoteShort(format)
}
