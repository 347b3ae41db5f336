package results

import (
	"encoding"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Schema returns the JSON Schema of what encoding/json writes for a type: fields without omitempty or omitzero are
// required, further fields are allowed. No type may contain itself.
func Schema(typ reflect.Type) map[string]any {
	switch {
	case typ == reflect.TypeFor[diag.Place](): // as its MarshalJSON
		file := Schema(reflect.TypeFor[diag.File]())
		properties, _ := file["properties"].(map[string]any)
		properties["line"], properties["column"] = Schema(reflect.TypeFor[int]()), Schema(reflect.TypeFor[int]())
		file["type"] = []any{"object", "null"}
		return file
	case typ.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return map[string]any{"type": "string"}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return Schema(typ.Elem())
	case reflect.Struct:
		properties, required := map[string]any{}, map[string]bool{}
		addFields(typ, properties, required)
		return map[string]any{"type": "object", "properties": properties, "required": slices.Sorted(maps.Keys(required))}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": Schema(typ.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": Schema(typ.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	default:
		return map[string]any{}
	}
}

// addFields adds the fields of a struct; those of embedded structs first, which its own replace.
func addFields(typ reflect.Type, properties map[string]any, required map[string]bool) {
	for _, embedded := range []bool{true, false} {
		for i := range typ.NumField() {
			field := typ.Field(i)
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case field.Anonymous && name == "":
				if embedded {
					addFields(field.Type, properties, required)
				}
			case !embedded && field.IsExported() && name != "" && name != "-":
				properties[name] = Schema(field.Type)
				delete(required, name)
				if !strings.Contains(options, "omit") {
					required[name] = true
				}
			}
		}
	}
}
