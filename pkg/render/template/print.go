package template

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// printFunctions are text/template's own ways to make text of values; here they are counted.
func printFunctions() map[string]any {
	return map[string]any{
		"print":    fmt.Sprint,
		"println":  fmt.Sprintln,
		"printf":   formatted,
		"html":     template.HTMLEscaper,
		"js":       template.JSEscaper,
		"urlquery": template.URLQueryEscaper,
	}
}

// directive is a flag, width, precision and verb of a format. What fmt would call a bad format may come
// out differently here, but with no less padding.
var directive = regexp.MustCompile(`(?s)%([-+# 0-9.*\[\]]*)(.?)`)

// formatted is fmt.Sprintf without what prints addresses.
func formatted(format string, values ...any) (string, error) {
	for _, match := range directive.FindAllStringSubmatch(format, -1) {
		if match[2] == "p" {
			return "", &Error{
				Rule:    ruleForbiddenFunction,
				Message: `the verb "%p" of printf is not allowed: it prints an address, which differs in every run`,
			}
		}
	}
	for i, value := range values {
		if _, hasText := value.(fmt.Stringer); !hasText && isAddress(reflect.ValueOf(value)) {
			return "", fmt.Errorf("argument %d is a %T, which cannot be printed", i+1, value)
		}
	}
	return fmt.Sprintf(format, values...), nil
}

// maxPadding is the largest width and precision that package fmt obeys. For a larger one it prints an
// error instead.
const maxPadding = 1_000_000

// formattedSize bounds what printf makes. Padding applies to every value inside of a list, and an
// explicit index lets a format print an argument as often as it has verbs.
func formattedSize(a arguments) float64 {
	format := a[0].text()
	var nodes, bytes, star float64
	for _, value := range a[1:] {
		nodes += value.nodes
		bytes += value.bytes
		if n := math.Abs(value.number()); n <= maxPadding {
			star = max(star, n)
		}
	}
	directives := directive.FindAllStringSubmatch(format, -1)
	padding := 0.0
	for _, match := range directives {
		padding += star * float64(strings.Count(match[1], "*"))
		for _, digits := range strings.FieldsFunc(match[1], func(r rune) bool { return r < '0' || r > '9' }) {
			if n, err := strconv.Atoi(digits); err == nil && n <= maxPadding {
				padding += float64(n)
			}
		}
	}
	if strings.Contains(format, "[") {
		bytes *= float64(len(directives))
	}
	return float64(len(format)) + bytes + padding*(1+nodes)
}
