package main

import (
	"maps"
	"slices"
	"strings"
)

// dropped are the keys of OpenAPI's schemas that only people read, or that JSON Schema does not have.
var dropped = []string{
	"default", "deprecated", "description", "discriminator", "example", "examples", "externalDocs", "nullable", "readOnly", "title",
}

// schema converts a schema of OpenAPI 3.0 to JSON Schema. That of an answer changes: fields may be missing, because the
// stand-in does not have everything that GitHub has, but none may be there that GitHub does not have.
func (d *description) schema(part any, answer bool) (any, error) {
	fields, ok := part.(object)
	if !ok {
		return part, nil
	}
	if reference, ok := fields["$ref"].(string); ok {
		return d.reference(reference)
	}
	converted := object{}
	for key, value := range fields {
		if slices.Contains(dropped, key) || strings.HasPrefix(key, "x-") || key == "format" && value != "date-time" || key == "required" && answer {
			continue
		}
		var err error
		if converted[key], err = d.keyword(key, value, answer); err != nil {
			return nil, err
		}
	}
	if answer {
		if one, ok := converted["oneOf"]; ok { // without required fields, more than one may fit
			delete(converted, "oneOf")
			converted["anyOf"] = one
		}
		d.close(converted)
	}
	if fields["nullable"] == true {
		return orNull(converted), nil
	}
	return converted, nil
}

// keyword converts the value of a keyword, with the schemas in it.
func (d *description) keyword(key string, value any, answer bool) (any, error) {
	switch value := value.(type) {
	case object:
		if key != "properties" {
			return d.schema(value, answer)
		}
		properties := object{}
		for name, property := range value {
			var err error
			if properties[name], err = d.schema(property, answer); err != nil {
				return nil, err
			}
		}
		return properties, nil
	case []any:
		if key == "enum" || key == "required" {
			return value, nil
		}
		schemas := make([]any, len(value))
		for i, one := range value {
			var err error
			if schemas[i], err = d.schema(one, answer); err != nil {
				return nil, err
			}
		}
		return schemas, nil
	}
	return value, nil
}

// reference converts the component that a reference is to, once, as it is in answers.
func (d *description) reference(reference string) (any, error) {
	name := reference[strings.LastIndex(reference, "/")+1:]
	if _, known := d.defs[name]; !known {
		component, err := d.resolve(object{"$ref": reference})
		if err != nil {
			return nil, err
		}
		d.defs[name] = true // it may refer to itself
		if d.defs[name], err = d.schema(component, true); err != nil {
			return nil, err
		}
	}
	return object{"$ref": "#/$defs/" + name}, nil
}

// close refuses fields that are not described. Of schemas that all hold it makes one: each would refuse the fields of
// the others.
func (d *description) close(schema object) {
	if all, ok := schema["allOf"].([]any); ok {
		properties := object{}
		for _, one := range all {
			part := one.(object)
			if reference, ok := part["$ref"].(string); ok {
				part, _ = d.defs[strings.TrimPrefix(reference, "#/$defs/")].(object)
			}
			more, _ := part["properties"].(object)
			maps.Copy(properties, more)
		}
		delete(schema, "allOf")
		schema["properties"] = properties
	}
	if properties, _ := schema["properties"].(object); len(properties) > 0 && schema["additionalProperties"] == nil {
		schema["additionalProperties"] = false
	}
}

// orNull returns a schema that null fits too.
func orNull(schema object) object {
	null := object{"type": "null"}
	if schema["type"] == nil {
		return object{"anyOf": []any{schema, null}}
	}
	schema["type"] = []any{schema["type"], "null"}
	if values, ok := schema["enum"].([]any); ok {
		schema["enum"] = append(slices.Clone(values), nil)
	}
	return schema
}
