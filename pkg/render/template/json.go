package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// jsonFunctions are sprig's functions on JSON. sprig's toJson gives "" for what it cannot write, such
// as the maps with keys of any type that YAML makes; here these are written, and the rest is an error.
func jsonFunctions() map[string]any {
	plain := func(v any) (string, error) { return jsonText(v, true, "") }
	pretty := func(v any) (string, error) { return jsonText(v, true, "  ") }
	raw := func(v any) (string, error) { return jsonText(v, false, "") }
	return map[string]any{
		"toJson": plain, "mustToJson": plain,
		"toPrettyJson": pretty, "mustToPrettyJson": pretty,
		"toRawJson": raw, "mustToRawJson": raw,
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

// withTextKeys returns the value with all its maps keyed by text, as JSON wants them.
func withTextKeys(v any) (any, error) {
	value := reflect.ValueOf(v)
	switch kind := value.Kind(); {
	case kind == reflect.Map && !value.IsNil():
		copied := make(map[string]any, value.Len())
		for entry := value.MapRange(); entry.Next(); {
			name := fmt.Sprint(entry.Key().Interface())
			if _, twice := copied[name]; twice {
				return nil, fmt.Errorf("the key %q is there twice, as a text and as a number or bool", name)
			}
			member, err := withTextKeys(entry.Value().Interface())
			if err != nil {
				return nil, err
			}
			copied[name] = member
		}
		return copied, nil
	case kind == reflect.Slice && !value.IsNil():
		copied := make([]any, value.Len())
		for i := range copied {
			item, err := withTextKeys(value.Index(i).Interface())
			if err != nil {
				return nil, err
			}
			copied[i] = item
		}
		return copied, nil
	default:
		return v, nil
	}
}
