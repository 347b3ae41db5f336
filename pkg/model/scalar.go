package model

import (
	"math"
	"strconv"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
)

// resolve returns what a scalar means under YAML 1.1 as Kubernetes reads it: nil, bool, int, int64,
// uint64, float64 or string. sigs.k8s.io/yaml decides by go.yaml.in/yaml/v2, so that library is
// asked for every scalar that could be something other than a string. ok is false for a tag that
// has no meaning in a Kubernetes object.
func resolve(n *yaml.Node) (value any, ok bool) {
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
	if text == "" {
		return nil
	}
	if !mayNotBeString(text) {
		return text
	}
	var value any
	if err := yamlv2.Unmarshal([]byte(text), &value); err != nil {
		return text
	}
	switch value := value.(type) {
	case nil, bool, int, int64, uint64, float64:
		return value
	default:
		return text
	}
}

// mayNotBeString tells cheaply whether YAML 1.1 could read a plain scalar as a number, a boolean or
// null. Such scalars are short words or begin like a number, and hold no blanks: those that do are
// not given to the library, which might take them for more than one value.
func mayNotBeString(text string) bool {
	const longestWord = len("false")
	isWord := strings.IndexByte("yYnNtTfFoO~", text[0]) >= 0
	if isWord && len(text) > longestWord || !isWord && strings.IndexByte("+-.0123456789", text[0]) < 0 {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Tag == "" || key.ShortTag() == "!!merge")
}

// keyText returns the text that a mapping key becomes in JSON, as sigs.k8s.io/yaml writes it.
func keyText(key *yaml.Node) (string, bool) {
	value, ok := resolve(key)
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

func floatKey(value float64) string {
	switch s := strconv.FormatFloat(value, 'g', -1, 32); {
	case math.IsInf(value, 1):
		return ".inf"
	case math.IsInf(value, -1):
		return "-.inf"
	case math.IsNaN(value):
		return ".nan"
	default:
		return s
	}
}
