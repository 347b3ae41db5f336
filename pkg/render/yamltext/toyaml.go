package yamltext

import (
	"reflect"
	"strings"
)

// ToYAML is the template function toYaml: YAML four spaces deep, as go-yaml v3 writes it, without
// the last newline.
func ToYAML(v any) (string, error) {
	if text, ok := appendPlainYAML(nil, v); ok {
		return string(text), nil
	}
	text, err := yamlV3.marshal(v)
	return strings.TrimSuffix(text, "\n"), err
}

// Stringify is the template function stringify: like toYaml, but every map or list below the
// top becomes the YAML text of it, because a ConfigMap holds nothing but texts.
func Stringify(v any) (string, error) {
	switch value := v.(type) {
	case map[string]any:
		return stringifiedMap(value)
	case map[any]any:
		return stringifiedMap(value)
	case []any:
		texts := make([]any, len(value))
		for i, item := range value {
			text, err := nestedText(item)
			if err != nil {
				return "", err
			}
			texts[i] = text
		}
		return ToYAML(texts)
	default:
		return ToYAML(v)
	}
}

func stringifiedMap[K comparable](m map[K]any) (string, error) {
	texts := make(map[K]any, len(m))
	for key, value := range m {
		text, err := nestedText(value)
		if err != nil {
			return "", err
		}
		texts[key] = text
	}
	return ToYAML(texts)
}

// nestedText returns the YAML text of a map or list, and any other value unchanged. The text of a list ends
// with a line break, as in the operator, which does not convert maps.
func nestedText(v any) (any, error) {
	switch reflect.ValueOf(v).Kind() {
	case reflect.Map:
		return ToYAML(v)
	case reflect.Slice, reflect.Array:
		text, err := ToYAML(v)
		return text + "\n", err
	default:
		return v, nil
	}
}
