package jsonschema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Limits of one schema text, so that no tenant's schema can exhaust the compiler. They are far above the needs of a
// schema for configuration values.
const (
	maxBytes   = 1 << 20
	maxValues  = 20_000 // nested ones included
	maxNesting = 64
	// maxPointer limits the total length of the keys in the path of a value: the library keeps the path of each subschema.
	maxPointer = 4096
	// maxNumber limits the digits and the exponent of a number. The library computes with exact fractions: 1e999999 takes
	// half a megabyte.
	maxNumber = 400
)

// Rules of the diagnostics.
const (
	ruleInvalid  = "invalid-schema"
	ruleOutside  = "schema-ref-outside"
	ruleTooLarge = "schema-too-large"
)

// problems collects the problems of one schema text.
type problems struct {
	at   diag.Place
	text string
	list diag.List
}

// add reports a problem with the schema as a whole.
func (p *problems) add(rule, message string, options ...diag.Option) {
	p.list.Error(rule, p.at, message, options...)
}

// addAt reports a problem at a byte offset of the text.
func (p *problems) addAt(offset int, rule, message string, options ...diag.Option) {
	p.add(rule, fmt.Sprintf("%s (%s of the schema)", message, p.position(offset)), options...)
}

// position returns the line and column of a byte offset as editors count: from 1, columns in characters.
func (p *problems) position(offset int) string {
	before := p.text[:min(offset, len(p.text))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

// node is a JSON value of a schema text together with its place in the text.
type node struct {
	// offset is where the value starts, in bytes.
	offset int
	// value is the same value in the form of the library.
	value any
	// keys are the names of the members in the order of the text.
	keys    []string
	members map[string]*node
	items   []*node
}

// text returns a member, "" if it is absent or not a string.
func (n *node) text(key string) string {
	if member := n.members[key]; member != nil {
		text, _ := member.value.(string)
		return text
	}
	return ""
}

// at returns the node at a path of keys and indexes, or the last existing one on the path and false.
func (n *node) at(path []string) (*node, bool) {
	for _, token := range path {
		next := n.members[token]
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(n.items) {
			next = n.items[i]
		}
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

// parse parses the text within the limits. It reports problems, and returns nil if there are any.
func parse(p *problems) *node {
	switch {
	case len(p.text) > maxBytes:
		p.add(ruleTooLarge, fmt.Sprintf("schema has %d bytes, more than %d", len(p.text), maxBytes))
		return nil
	case strings.TrimSpace(p.text) == "":
		p.add(ruleInvalid, "schema is empty", diag.Hint(`write a JSON Schema, for example {"type": "object"}`))
		return nil
	case !utf8.ValidString(p.text):
		p.add(ruleInvalid, "schema is not UTF-8 text")
		return nil
	}
	if err := json.Unmarshal([]byte(p.text), new(json.RawMessage)); err != nil {
		p.addSyntax(err)
		return nil
	}
	r := reader{problems: p, decoder: json.NewDecoder(strings.NewReader(p.text))}
	r.decoder.UseNumber()
	return r.value(0, 0)
}

// addSyntax reports why the text is not JSON.
func (p *problems) addSyntax(err error) {
	at, found := len(p.text), "it ends too early"
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && !strings.HasPrefix(err.Error(), "unexpected end") {
		at = int(syntax.Offset) - 1 // the offset counts the offending byte
		char, _ := utf8.DecodeRuneInString(p.text[at:])
		found = "unexpected " + strconv.QuoteRune(char)
	}
	if strings.HasSuffix(err.Error(), "after top-level value") {
		found += " after its end"
	}
	var hint []diag.Option
	if line, _, _ := strings.Cut(strings.TrimSpace(p.text), "\n"); line[0] != '{' && strings.Contains(line, ":") || line == "---" {
		hint = append(hint, diag.Hint("a schema is JSON text; this looks like YAML"))
	}
	p.addAt(at, ruleInvalid, "schema is not valid JSON: "+found, hint...)
}

// reader builds nodes from valid JSON.
type reader struct {
	*problems
	decoder *json.Decoder
	values  int
}

// next returns the offset of the next token.
func (r *reader) next() int {
	rest := strings.TrimLeft(r.text[r.decoder.InputOffset():], " \t\r\n,:")
	return len(r.text) - len(rest)
}

// value reads a value at a nesting depth, below keys with a total length in bytes. It returns nil if a limit is exceeded.
func (r *reader) value(depth, pointer int) *node {
	n := &node{offset: r.next()}
	token, err := r.decoder.Token()
	r.values++
	number, _ := token.(json.Number)
	delimiter, isContainer := token.(json.Delim)
	switch {
	case err != nil:
		return r.refuse(n.offset, ruleInvalid, "schema is not valid JSON")
	case r.values > maxValues:
		return r.refuse(n.offset, ruleTooLarge, fmt.Sprintf("schema has more than %d values", maxValues))
	case isContainer && depth >= maxNesting:
		return r.refuse(n.offset, ruleTooLarge, fmt.Sprintf("schema nests deeper than %d levels", maxNesting))
	case pointer > maxPointer:
		return r.refuse(n.offset, ruleTooLarge, fmt.Sprintf("the path of a value has more than %d bytes", maxPointer))
	case !numberFits(number.String()):
		return r.refuse(n.offset, ruleTooLarge, fmt.Sprintf("number %s has more than %d digits", quote(number.String()), maxNumber))
	case delimiter == '{':
		return r.object(n, depth+1, pointer)
	case delimiter == '[':
		return r.list(n, depth+1, pointer)
	}
	n.value = token
	return n
}

func (r *reader) object(n *node, depth, pointer int) *node {
	members := map[string]any{}
	n.value, n.members = members, map[string]*node{}
	for r.decoder.More() {
		offset := r.next()
		token, _ := r.decoder.Token()
		key, _ := token.(string)
		if first := n.members[key]; first != nil {
			return r.refuse(offset, ruleInvalid, fmt.Sprintf("key %s is duplicated, first at %s", quote(key), r.position(first.offset)))
		}
		member := r.value(depth, pointer+len(key)+1)
		if member == nil {
			return nil
		}
		n.keys = append(n.keys, key)
		n.members[key], members[key] = member, member.value
	}
	_, _ = r.decoder.Token()
	return n
}

func (r *reader) list(n *node, depth, pointer int) *node {
	values := []any{}
	for r.decoder.More() {
		item := r.value(depth, pointer+1)
		if item == nil {
			return nil
		}
		n.items, values = append(n.items, item), append(values, item.value)
	}
	n.value = values
	_, _ = r.decoder.Token()
	return n
}

func (r *reader) refuse(offset int, rule, message string) *node {
	r.addAt(offset, rule, message)
	return nil
}

// numberFits reports whether a JSON number is small enough for exact arithmetic.
func numberFits(number string) bool {
	digits, exponent, hasExponent := strings.Cut(strings.ToLower(number), "e")
	e, err := strconv.Atoi(exponent)
	return len(digits) <= maxNumber && (!hasExponent || err == nil && e <= maxNumber && e >= -maxNumber)
}

const (
	// shownLength is the maximum length of a value in a message: values may be secrets or very long.
	shownLength = 61
	// shownChoices is the maximum number of allowed values in a message.
	shownChoices = 10
)

// typeNames formats types of JSON Schema for messages.
func typeNames(types []string) string {
	named := strings.NewReplacer("array", "a list", "integer", "an integer", "object", "an object", "number", "a number",
		"string", "a string", "boolean", "a boolean").Replace(strings.Join(types, ", "))
	if last := strings.LastIndex(named, ", "); last >= 0 {
		return named[:last] + " or " + named[last+2:]
	}
	return named
}

// quote quotes and shortens the text, so that it fits on one line.
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

// show formats a value for a message, shortened.
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

// choices lists the allowed values.
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

// texts returns the strings among the values.
func texts(values []any) []string {
	var list []string
	for _, value := range values {
		if text, isString := value.(string); isString {
			list = append(list, text)
		}
	}
	return list
}

// decimal formats a fraction exactly, as a decimal number if possible.
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

// pointerOf returns the JSON Pointer in the fragment of a location of the library.
func pointerOf(location string) string {
	_, fragment, _ := strings.Cut(location, "#")
	if pointer, err := url.PathUnescape(fragment); err == nil {
		return pointer
	}
	return fragment
}

// pointerTo returns a path as a JSON Pointer.
func pointerTo(path []string) string {
	var b strings.Builder
	for _, key := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
	}
	return b.String()
}

// splitPointer returns the keys in a JSON Pointer.
func splitPointer(pointer string) []string {
	path := strings.Split(pointer, "/")[1:]
	for i, token := range path {
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	}
	return path
}
