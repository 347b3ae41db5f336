package config

import (
	"math"
	"slices"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
)

// parseConfigValue returns what the text of a config value means: the text inside single quotes, a
// map or list if YAML 1.1 reads it as one, else the text as it is. duplicateKey reports that a map
// in it has a key twice, of which the last counts.
func parseConfigValue(text string) (value any, duplicateKey bool) {
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "'") && strings.HasSuffix(trimmed, "'") {
		return strings.Trim(trimmed, "'"), false
	}
	if !strings.ContainsAny(text, ":-[{?") {
		return text, false // neither a map nor a list can be written without one of these
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

// unmarshalConfig keeps a panic of the YAML library from ending the run: the value is text then, as
// is everything else that is not YAML.
func unmarshalConfig(unmarshal func([]byte, any) error, text string, into *any) (err error) {
	defer func() {
		if recover() != nil {
			err = errNotYAML
		}
	}()
	return unmarshal([]byte(text), into)
}

const errNotYAML = configError("not YAML")

type configError string

func (e configError) Error() string { return string(e) }

// objectOr returns a map or list in its normal form, and text for anything else. A map with NaN for
// a key cannot be looked up, nor written the same way twice, so it stays text.
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

// normal gives maps whose keys are all strings the type map[string]any, which template functions
// understand. Others keep their keys.
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
