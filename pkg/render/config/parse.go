package config

import (
	"errors"
	"math"
	"slices"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
)

// parseConfigValue parses the text of a config value: the text inside single quotes, a map or list if YAML 1.1 reads it
// as one, else the unchanged text. duplicateKey reports that a map has a key twice; the last value is used.
func parseConfigValue(text string) (value any, duplicateKey bool) {
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "'") && strings.HasSuffix(trimmed, "'") {
		return strings.Trim(trimmed, "'"), false
	}
	if !strings.ContainsAny(text, ":-[{?") {
		return text, false // every map and list has one of these
	}
	var strict, lenient any
	if err := unmarshalConfig(yamlv2.UnmarshalStrict, text, &strict); err == nil {
		return objectOr(strict, text), false
	}
	if err := unmarshalConfig(yamlv2.Unmarshal, text, &lenient); err != nil {
		return text, false
	}
	value = objectOr(lenient, text)
	_, isText := value.(string)
	return value, !isText
}

// unmarshalConfig returns a panic of the YAML library as an error, so that the value is treated as text.
func unmarshalConfig(unmarshal func([]byte, any) error, text string, into *any) (err error) {
	defer func() {
		if recover() != nil {
			err = errNotYAML
		}
	}()
	return unmarshal([]byte(text), into)
}

var errNotYAML = errors.New("not YAML")

// objectOr returns a map or list in its normal form, and text for anything else. A map with NaN as a key stays text,
// because that key cannot be looked up and its order is random.
func objectOr(value any, text string) any {
	switch value.(type) {
	case map[any]any, []any:
		if hasNaNKey(value) {
			return text
		}
		return normal(value)
	default:
		return text
	}
}

func hasNaNKey(value any) bool {
	switch value := value.(type) {
	case []any:
		return slices.ContainsFunc(value, hasNaNKey)
	case map[any]any:
		for key, item := range value {
			if number, ok := key.(float64); ok && math.IsNaN(number) || hasNaNKey(item) {
				return true
			}
		}
	}
	return false
}

// normal converts maps whose keys are all strings to map[string]any, which template functions require.
func normal(value any) any {
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			value[i] = normal(item)
		}
		return value
	case map[any]any:
		named := make(map[string]any, len(value))
		for key, item := range value {
			item = normal(item)
			value[key] = item
			if name, ok := key.(string); ok {
				named[name] = item
			}
		}
		if len(named) == len(value) {
			return named
		}
		return value
	default:
		return value
	}
}
