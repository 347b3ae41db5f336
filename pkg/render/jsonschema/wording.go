package jsonschema

import (
	"cmp"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

const (
	// shownLength is how much of a value a message shows: values may be secrets or very long.
	shownLength = 60
	// shownChoices is how many allowed values a message lists.
	shownChoices = 10
)

// leaf explains a failure that has no parts: what people meet every day in words of its own, the rest in those of the
// library.
func (e *explainer) leaf(failure *jsonschema.ValidationError) finding {
	f := failed(failure)
	value, written := e.value(f.Path)
	shown := show(value)
	if written != "" {
		shown = shorten(oneLine(written), shownLength)
	}
	switch k := failure.ErrorKind.(type) {
	case *kind.Type:
		f.wrongType = true
		f.Message = "must be " + typeNames(k.Want) + ", but is "
		switch {
		case written != "":
			f.Message = fmt.Sprintf("must be %s, but %s counts as a number", typeNames(k.Want), quote(written))
		case k.Got == "string" || k.Got == "number" || k.Got == "boolean":
			f.Message += "the " + k.Got + " " + shown
		default:
			f.Message += shown
		}
	case *kind.Enum:
		f.Message = "must be " + choices(k.Want) + ", but is " + shown
		if f.name, _ = value.(string); f.name != "" && len(k.Want) > 1 {
			f.candidates = texts(k.Want)
		}
	case *kind.Pattern:
		f.Message = fmt.Sprintf("must match the pattern %s, but is %s", quote(k.Want), shown)
	case *kind.Not:
		f.Message = `must not match the schema under "not"`
	case *kind.FalseSchema:
		f.Message, f.unevaluated = "is not allowed", strings.Contains(f.Keyword, "/unevaluated")
	default:
		if requirement := bound(k); requirement != "" {
			f.Message = "must be " + requirement + ", but is " + shown
		} else {
			f.Message = size(k)
		}
	}
	return f
}

// bound explains failures about what a text or a number must be; it returns "" for all others.
func bound(failure jsonschema.ErrorKind) string {
	switch k := failure.(type) {
	case *kind.Const:
		return show(k.Want)
	case *kind.Format:
		return format(k.Want)
	case *kind.Minimum:
		return "at least " + decimal(k.Want)
	case *kind.Maximum:
		return "at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "a multiple of " + decimal(k.Want)
	}
	return ""
}

// size explains failures about counts, and in the words of the library all others.
func size(failure jsonschema.ErrorKind) string {
	limit := func(bound string, want int, noun string, got int) string {
		return fmt.Sprintf("must have at %s %s, but has %d", bound, diag.Plural(want, noun), got)
	}
	switch k := failure.(type) {
	case *kind.MinLength:
		return limit("least", k.Want, "character", k.Got)
	case *kind.MaxLength:
		return limit("most", k.Want, "character", k.Got)
	case *kind.MinItems:
		return limit("least", k.Want, "item", k.Got)
	case *kind.MaxItems:
		return limit("most", k.Want, "item", k.Got)
	case *kind.MinProperties:
		return limit("least", k.Want, "key", k.Got)
	case *kind.MaxProperties:
		return limit("most", k.Want, "key", k.Got)
	}
	return shorten(oneLine(failure.LocalizedString(message.NewPrinter(language.English))), 200)
}

// typeNames lists types of JSON Schema as people say them.
func typeNames(types []string) string {
	named := strings.NewReplacer("array", "a list", "integer", "an integer", "object", "an object", "number", "a number",
		"string", "a string", "boolean", "a boolean").Replace(strings.Join(types, ", "))
	if last := strings.LastIndex(named, ", "); last >= 0 {
		return named[:last] + " or " + named[last+2:]
	}
	return named
}

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

// quote quotes the text, shortened, so that it fits into one line.
func quote(text string) string { return strconv.Quote(shorten(text, shownLength)) }

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
		return shorten(fmt.Sprint(value), shownLength)
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
		return shorten(n.FloatString(digits), shownLength)
	}
	return shorten(n.RatString(), shownLength)
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
