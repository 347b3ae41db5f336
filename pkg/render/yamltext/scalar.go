package yamltext

import (
	"regexp"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
)

// IsText reports whether every reader takes a scalar for a string.
func IsText(n *yaml.Node) bool {
	return !IsPlainScalar(n) || ExplicitTag(n) == "!!str" && !EndsLikeKey(n.Value) || ReadsAsText(n.Value)
}

// IsPlainScalar reports whether a scalar is neither in quotes nor a block.
func IsPlainScalar(n *yaml.Node) bool {
	const others = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Style&others == 0
}

// ExplicitTag returns the tag that is written at the node; empty if there is none.
func ExplicitTag(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle != 0 {
		return n.ShortTag()
	}
	return ""
}

// ReadsAsText reports whether every reader reads a plain scalar as a string: go-yaml v2 (Kubernetes), go-yaml
// v3 (kustomize) and readers of YAML 1.1.
func ReadsAsText(text string) bool {
	switch {
	case text == "" || EndsLikeKey(text):
		return false
	case IsLetter(text[0]):
		if len(text) > len("false") || !strings.ContainsRune("yYnNtTfFoO", rune(text[0])) {
			return true // no word with a special meaning has this first letter or length
		}
	case strings.ContainsAny(text, "/@ghjklmpqrsuvwGHJKLMPQRSUVW"):
		return true // neither numbers nor dates contain any of these
	}
	if yaml11.MatchString(text) || (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).ShortTag() != "!!str" {
		return false
	}
	var value any
	if err := yamlv2.Unmarshal([]byte(text), &value); err != nil {
		return true
	}
	_, isString := value.(string)
	return isString
}

// yaml11 matches plain scalars that are not strings according to https://yaml.org/type/ and the readers that
// follow it. It includes scalars that go-yaml reads as strings: numbers to the base 60 or too large for it,
// invalid dates and dates without a time zone, and "=". Floats are those of PyYAML and of YAML 1.2: no reader
// follows YAML 1.1 in reading 1.2.3 as a number.
var yaml11 = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?`,
	`[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::?[0-9]{2})?))?)?`,
	`[-+]?0b[01_]+`, `[-+]?0o?[0-7_]+`, `[-+]?0x[0-9a-fA-F_]+`, `=`,
	`[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9_]+)(?:[eE][-+]?[0-9]+)?`, `[-+]?\.(?:inf|Inf|INF)`, `\.(?:nan|NaN|NAN)`,
}, "|") + `)$`)

// EndsLikeKey reports whether a plain scalar is a key without a value to some reader: between brackets,
// go-yaml has the colon as part of the scalar, where PyYAML does not.
func EndsLikeKey(text string) bool { return strings.HasSuffix(text, ":") }

// IsLetter reports whether c is a letter of ASCII.
func IsLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
