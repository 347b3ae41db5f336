package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// maxNumberSize bounds the digits and the exponent of a number in a schema. The library computes
// with exact fractions, in which 1e999999 takes half a megabyte.
const maxNumberSize = 400

// jsonNode is a JSON value of a schema text together with its place in the text.
type jsonNode struct {
	// offset is where the value starts, in bytes.
	offset int
	// value is the same value in the form that the library reads.
	value any
	// keys are the members' names in the order of the text.
	keys    []string
	members map[string]*jsonNode
	items   []*jsonNode
}

// text returns the member's string, or false if it is absent or no string.
func (n *jsonNode) text(key string) (string, bool) {
	member, found := n.members[key]
	if !found {
		return "", false
	}
	s, isString := member.value.(string)
	return s, isString
}

// at returns the node that a path of keys and indexes leads to, or the last one on the way.
func (n *jsonNode) at(path []string) *jsonNode {
	for _, token := range path {
		next := n.child(token)
		if next == nil {
			break
		}
		n = next
	}
	return n
}

// child returns the member or item that a JSON Pointer token names, or nil.
func (n *jsonNode) child(token string) *jsonNode {
	if member, found := n.members[token]; found {
		return member
	}
	if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(n.items) {
		return n.items[i]
	}
	return nil
}

// parseSchemaJSON reads the text within the limits; it reports what is wrong and returns nil then.
func parseSchemaJSON(text string, problems *schemaProblems) *jsonNode {
	switch {
	case len(text) > MaxSchemaBytes:
		problems.add(ruleSchemaTooLarge, fmt.Sprintf("schema has %d bytes, more than %d", len(text), MaxSchemaBytes))
		return nil
	case strings.TrimSpace(text) == "":
		problems.add(ruleInvalidSchema, "schema is empty", diag.Hint(`write a JSON Schema, for example {"type": "object"}`))
		return nil
	case !utf8.ValidString(text):
		problems.addAt(invalidUTF8(text), ruleInvalidSchema, "schema is not UTF-8 text")
		return nil
	}
	if !checkJSONSyntax(text, problems) {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	reader := jsonReader{text: text, decoder: decoder, problems: problems}
	node, err := reader.value(0)
	if err != nil {
		if !problems.list.HasErrors() {
			problems.add(ruleInvalidSchema, "schema is not valid JSON")
		}
		return nil
	}
	return node
}

func invalidUTF8(text string) int {
	for i, r := range text {
		if r != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
			return i
		}
	}
	return len(text)
}

// checkJSONSyntax reports the first syntax error. What it lets pass is one JSON value.
func checkJSONSyntax(text string, problems *schemaProblems) bool {
	decoder := json.NewDecoder(strings.NewReader(text))
	err := decoder.Decode(new(json.RawMessage))
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		problems.addAt(len(text), ruleInvalidSchema, "schema is not valid JSON: it ends too early", jsonHint(text, len(text))...)
	case errors.As(err, &syntax):
		// The offset counts the bytes read, the offending one included.
		at := int(syntax.Offset) - 1
		problems.addAt(at, ruleInvalidSchema, "schema is not valid JSON: unexpected "+characterAt(text, at), jsonHint(text, at)...)
	case err != nil:
		problems.add(ruleInvalidSchema, "schema is not valid JSON", jsonHint(text, 0)...)
	default:
		return checkJSONEnd(text, int(decoder.InputOffset()), problems)
	}
	return false
}

func checkJSONEnd(text string, end int, problems *schemaProblems) bool {
	rest := strings.TrimLeft(text[end:], " \t\r\n")
	if rest == "" {
		return true
	}
	at := len(text) - len(rest)
	problems.addAt(at, ruleInvalidSchema, "schema is not valid JSON: unexpected "+characterAt(text, at)+" after its end",
		jsonHint(text, at)...)
	return false
}

func characterAt(text string, offset int) string {
	if offset < 0 || offset >= len(text) {
		return "end"
	}
	r, _ := utf8.DecodeRuneInString(text[offset:])
	return strconv.QuoteRune(r)
}

// jsonHint guesses what the writer of broken JSON meant.
func jsonHint(text string, offset int) []diag.Option {
	trimmed := strings.TrimSpace(text)
	first, _, _ := strings.Cut(trimmed, "\n")
	if !strings.HasPrefix(trimmed, "{") && strings.Contains(first, ":") || strings.HasPrefix(trimmed, "---") {
		return []diag.Option{diag.Hint("a schema is JSON text; this looks like YAML")}
	}
	if offset < 0 || offset >= len(text) {
		return nil
	}
	hints := map[byte]string{
		'}':  "JSON allows no comma before } or ]",
		']':  "JSON allows no comma before } or ]",
		'\'': "JSON puts strings in double quotes",
		'/':  `JSON has no comments; use "$comment"`,
		'#':  `JSON has no comments; use "$comment"`,
	}
	before := strings.TrimRight(text[:offset], " \t\r\n")
	if hint, found := hints[text[offset]]; found && (text[offset] != '}' && text[offset] != ']' || strings.HasSuffix(before, ",")) {
		return []diag.Option{diag.Hint(hint)}
	}
	return nil
}

// errSchemaJSON says that a problem has been reported.
var errSchemaJSON = errors.New("invalid schema")

// jsonReader builds nodes from text that is known to be valid JSON.
type jsonReader struct {
	text     string
	decoder  *json.Decoder
	problems *schemaProblems
	values   int
}

// nextOffset returns where the next token starts.
func (r *jsonReader) nextOffset() int {
	offset := int(r.decoder.InputOffset())
	rest := strings.TrimLeft(r.text[offset:], " \t\r\n,:")
	return len(r.text) - len(rest)
}

func (r *jsonReader) value(depth int) (*jsonNode, error) {
	node := &jsonNode{offset: r.nextOffset()}
	r.values++
	if r.values > MaxSchemaValues {
		return nil, r.refuse(node.offset, ruleSchemaTooLarge, fmt.Sprintf("schema holds more than %d values", MaxSchemaValues))
	}
	token, err := r.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		if depth >= MaxSchemaNesting {
			return nil, r.refuse(node.offset, ruleSchemaTooLarge, fmt.Sprintf("schema nests deeper than %d levels", MaxSchemaNesting))
		}
		if token == '{' {
			return node, r.object(node, depth+1)
		}
		return node, r.list(node, depth+1)
	case json.Number:
		if !numberFits(token.String()) {
			return nil, r.refuse(node.offset, ruleSchemaTooLarge,
				fmt.Sprintf("number %s has more than %d digits", quoteShort(token.String()), maxNumberSize))
		}
		node.value = token
	default:
		node.value = token
	}
	return node, nil
}

func (r *jsonReader) object(node *jsonNode, depth int) error {
	members := map[string]any{}
	node.value, node.members = members, map[string]*jsonNode{}
	for r.decoder.More() {
		offset := r.nextOffset()
		token, err := r.decoder.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if first, found := node.members[key]; found {
			return r.refuse(offset, ruleInvalidSchema,
				fmt.Sprintf("key %s is there twice, first at %s", quoteShort(key), textPosition(r.text, first.offset)))
		}
		member, err := r.value(depth)
		if err != nil {
			return err
		}
		node.keys = append(node.keys, key)
		node.members[key] = member
		members[key] = member.value
	}
	_, err := r.decoder.Token()
	return err
}

func (r *jsonReader) list(node *jsonNode, depth int) error {
	values := []any{}
	for r.decoder.More() {
		item, err := r.value(depth)
		if err != nil {
			return err
		}
		node.items = append(node.items, item)
		values = append(values, item.value)
	}
	node.value = values
	_, err := r.decoder.Token()
	return err
}

func (r *jsonReader) refuse(offset int, rule, message string) error {
	r.problems.addAt(offset, rule, message)
	return errSchemaJSON
}

// numberFits reports whether a JSON number is small enough to be computed with exactly.
func numberFits(number string) bool {
	digits, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	if len(digits) > maxNumberSize {
		return false
	}
	if exponent == "" {
		return true
	}
	e, err := strconv.Atoi(exponent)
	return err == nil && e <= maxNumberSize && e >= -maxNumberSize
}
