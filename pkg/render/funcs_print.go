package render

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"text/template"
	"unicode/utf8"
)

// printFunctions are text/template's own ways to make text of values; here they are counted.
func printFunctions() []function {
	return []function{
		{name: "print", implementation: fmt.Sprint},
		{name: "println", implementation: fmt.Sprintln},
		{name: "printf", implementation: formatted, makes: formattedSize},
		{name: "html", implementation: template.HTMLEscaper},
		{name: "js", implementation: template.JSEscaper},
		{name: "urlquery", implementation: template.URLQueryEscaper},
	}
}

// formatted is fmt.Sprintf without what prints addresses.
func formatted(format string, values ...any) (string, error) {
	for _, verb := range verbsOf(format) {
		if verb.letter == 'p' {
			return "", &ExecError{
				Rule:    ruleForbiddenFunction,
				Message: `the verb "%p" of printf is not allowed: it prints an address, which differs from run to run`,
			}
		}
	}
	for i, value := range values {
		if _, hasText := value.(fmt.Stringer); !hasText && isAddress(reflect.ValueOf(value)) {
			return "", fmt.Errorf("argument %d is a %T, which has no text", i+1, value)
		}
	}
	return fmt.Sprintf(format, values...), nil
}

// verb is one directive of a format.
type verb struct {
	letter rune
	// padding is the width and precision together, starred ones not included.
	padding int
	// stars is how many of the two come from the arguments.
	stars int
}

// verbsOf reads the directives of a format as package fmt does. What fmt would call a bad format may
// come out differently here, but with no less padding.
func verbsOf(format string) []verb {
	var verbs []verb
	for {
		start := strings.IndexByte(format, '%')
		if start < 0 {
			return verbs
		}
		format = format[start+1:]
		end := strings.IndexFunc(format, func(r rune) bool { return !strings.ContainsRune("+-# 0123456789.*[]", r) })
		if end < 0 {
			return append(verbs, readVerb(format, 0))
		}
		letter, size := utf8.DecodeRuneInString(format[end:])
		verbs = append(verbs, readVerb(format[:end], letter))
		format = format[end+size:]
	}
}

func readVerb(flags string, letter rune) verb {
	v := verb{letter: letter, stars: strings.Count(flags, "*")}
	for _, digits := range strings.FieldsFunc(flags, func(r rune) bool { return r < '0' || r > '9' }) {
		n, err := strconv.Atoi(digits)
		if err != nil || n > maxPadding {
			// fmt refuses to pad so much and prints an error instead.
			continue
		}
		v.padding += n
	}
	return v
}

// maxPadding is the largest width and precision that package fmt obeys.
const maxPadding = 1_000_000

// formattedSize bounds what printf makes. Padding applies to every value inside of a list, and an
// explicit index lets a format print an argument as often as it has verbs.
func formattedSize(a arguments) int {
	format := a.text(0)
	values, star := 0, 0
	for i := 1; i < len(a.values); i++ {
		values = plus(values, a.weights[i])
		if n := a.number(i); n <= maxPadding && n >= -maxPadding {
			star = max(star, n, -n)
		}
	}
	verbs := verbsOf(format)
	size := len(format)
	for _, verb := range verbs {
		padding := plus(verb.padding, times(verb.stars, star))
		size = plus(size, times(padding, 1+values/nodeWeight))
	}
	if strings.Contains(format, "[") {
		return plus(size, times(len(verbs), values))
	}
	return plus(size, values)
}
