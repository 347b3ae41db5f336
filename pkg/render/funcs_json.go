package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// jsonFunctions are sprig's functions on JSON. sprig's toJson gives "" for what it cannot write, such
// as the maps with keys of any type that YAML makes; here these are written, and the rest is an error.
func jsonFunctions() []function {
	plain := func(v any) (string, error) { return jsonText(v, true, "") }
	pretty := func(v any) (string, error) { return jsonText(v, true, "  ") }
	raw := func(v any) (string, error) { return jsonText(v, false, "") }
	return []function{
		{name: "toJson", implementation: plain},
		{name: "mustToJson", implementation: plain},
		{name: "toPrettyJson", implementation: pretty},
		{name: "mustToPrettyJson", implementation: pretty},
		{name: "toRawJson", implementation: raw},
		{name: "mustToRawJson", implementation: raw},
		{name: "fromJson"},
		{name: "mustFromJson"},
	}
}

func jsonText(v any, escapeHTML bool, indent string) (string, error) {
	v, err := withTextKeys(v)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// withTextKeys returns the value with all its maps keyed by text, as JSON wants them. What needs no
// change is not copied.
func withTextKeys(v any) (any, error) {
	switch v := v.(type) {
	case map[any]any:
		return mapWithTextKeys(v)
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, value := range v {
			changed, err := withTextKeys(value)
			if err != nil {
				return nil, err
			}
			copied[key] = changed
		}
		return copied, nil
	case []any:
		if v == nil {
			return v, nil
		}
		copied := make([]any, len(v))
		for i, item := range v {
			changed, err := withTextKeys(item)
			if err != nil {
				return nil, err
			}
			copied[i] = changed
		}
		return copied, nil
	default:
		return v, nil
	}
}

func mapWithTextKeys(m map[any]any) (any, error) {
	copied := make(map[string]any, len(m))
	for key, value := range m {
		changed, err := withTextKeys(value)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprint(key)
		if _, twice := copied[name]; twice {
			return nil, fmt.Errorf("the key %q is there twice, as a text and as a number or bool", name)
		}
		copied[name] = changed
	}
	return copied, nil
}
