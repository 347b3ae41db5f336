package yamldoc

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Resolve returns what a scalar means under YAML 1.1 as Kubernetes reads it: nil, bool, int, int64,
// uint64, float64 or string. sigs.k8s.io/yaml decides by go.yaml.in/yaml/v2, so that library is
// asked for every scalar that could be a number. ok is false for a tag that has no meaning in a
// Kubernetes object.
func Resolve(n *yaml.Node) (value any, ok bool) {
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return n.Value, n.Style&yaml.TaggedStyle == 0 || n.ShortTag() == "!!str"
	}
	if n.Style&yaml.TaggedStyle != 0 {
		return resolveTagged(n)
	}
	return resolvePlain(n.Value), true
}

func resolveTagged(n *yaml.Node) (any, bool) {
	plain := resolvePlain(n.Value)
	switch n.ShortTag() {
	case "!!str":
		return n.Value, true
	case "!!int":
		switch plain.(type) {
		case int, int64, uint64:
			return plain, true
		}
	case "!!float":
		switch v := plain.(type) {
		case float64:
			return v, true
		case int:
			return float64(v), true
		}
	case "!!bool":
		_, isBool := plain.(bool)
		return plain, isBool
	case "!!null":
		return nil, plain == nil
	}
	return nil, false
}

// resolvePlain resolves a scalar without quotes and tag.
func resolvePlain(text string) any {
	if value, ok := word(text); ok {
		return value
	}
	if !mayBeNumber(text) {
		return text
	}
	var value any
	if err := yamlv2.Unmarshal([]byte(text), &value); err != nil {
		return text
	}
	switch value := value.(type) {
	case int, int64, uint64, float64:
		return value
	default:
		return text
	}
}

// word returns what a word that means something in YAML 1.1 stands for. The library knows them too,
// but nearly all scalars are words, and asking it about each would take most of the time.
func word(text string) (value any, ok bool) {
	switch text {
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false, true
	case "", "~", "null", "Null", "NULL":
		return nil, true
	}
	return nil, false
}

// mayBeNumber tells cheaply whether YAML 1.1 could read a plain scalar as a number: it begins like
// one and holds nothing else. Others must not be given to the library, which might take a scalar
// with blanks in it for two values.
func mayBeNumber(text string) bool {
	const first, all = "+-.0123456789", "+-.0123456789_abcdefABCDEFxXoOiInN" // decimal, hexadecimal, .inf, .nan
	return strings.IndexByte(first, text[0]) >= 0 && strings.Trim(text, all) == ""
}

// IsMerge reports whether a key of a mapping is the merge key (<<).
func IsMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Tag == "" || key.ShortTag() == "!!merge")
}

// KeyText returns the text that a mapping key becomes in JSON, as sigs.k8s.io/yaml writes it.
func KeyText(key *yaml.Node) (string, bool) {
	value, ok := Resolve(key)
	if !ok {
		return key.Value, false
	}
	switch value := value.(type) {
	case string:
		return value, true
	case int:
		return strconv.Itoa(value), true
	case int64:
		return strconv.FormatInt(value, 10), true
	case uint64:
		return strconv.FormatUint(value, 10), true
	case bool:
		return strconv.FormatBool(value), true
	case float64:
		return floatKey(value), true
	default:
		return "null", false
	}
}

// floatKey writes a number as sigs.k8s.io/yaml does, which takes it for a 32-bit one.
func floatKey(value float64) string {
	switch s := strconv.FormatFloat(value, 'g', -1, 32); s {
	case "+Inf":
		return ".inf"
	case "-Inf":
		return "-.inf"
	case "NaN":
		return ".nan"
	default:
		return s
	}
}

// Deref follows an alias to the value that it stands for.
func Deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// Quote returns a text in quotes for a message, shortened.
func Quote(s string) string { return fmt.Sprintf("%q", diag.Shorten(s, 43)) }

// position is a place in a file; lines and columns count from 1.
type position struct{ line, column int }

func (p position) compare(other position) int {
	return cmp.Or(cmp.Compare(p.line, other.line), cmp.Compare(p.column, other.column))
}

// nonSpecificTag matches the tag "!", which makes a scalar a string, with an anchor before it.
var nonSpecificTag = regexp.MustCompile(`(?:&\S+[ \t]+)?!(?:\s|$)`)

// tagStrings sets the tag !!str on the scalars with the tag "!", which begin at some of the positions. The library drops
// that tag, so it must be read from the text where the node begins. No unquoted scalar begins with "!" or "&".
func tagStrings(n *yaml.Node, nonSpecific []position) {
	if len(nonSpecific) == 0 {
		return
	}
	if n.Kind == yaml.ScalarNode && n.Style == 0 {
		if _, tagged := slices.BinarySearchFunc(nonSpecific, position{n.Line, n.Column}, position.compare); tagged {
			n.Tag, n.Style = "!!str", yaml.TaggedStyle
		}
	}
	for _, child := range n.Content {
		tagStrings(child, nonSpecific)
	}
}

// nonSpecificTags returns the positions where nodes with the tag "!" may begin, in order.
func nonSpecificTags(text string) []position {
	if !strings.Contains(text, "!") {
		return nil
	}
	var found []position
	at, offset, searched := position{1, 1}, 0, 0
	for {
		match := nonSpecificTag.FindStringIndex(text[searched:])
		if match == nil {
			return found
		}
		before := text[offset : searched+match[0]]
		if lines := strings.Count(before, "\n"); lines > 0 {
			at = position{at.line + lines, 1}
			before = before[strings.LastIndexByte(before, '\n')+1:]
		}
		at.column += utf8.RuneCountInString(before)
		found = append(found, at)
		offset, searched = searched+match[0], searched+match[1]
	}
}
