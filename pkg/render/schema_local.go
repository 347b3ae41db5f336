package render

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// localKeys returns the keys of the configuration that a schema looks at. Values that are alike in
// these need to be checked only once. ok is false if the schema may look at any key.
//
// closed says that no other keys may be there at all.
func localKeys(root *jsonschema.Schema) (keys []string, closed, ok bool) {
	names := map[string]bool{}
	seen := map[*jsonschema.Schema]bool{}
	all := []*jsonschema.Schema{root}
	for len(all) > 0 {
		schema := all[len(all)-1]
		all = all[:len(all)-1]
		if seen[schema] {
			continue
		}
		seen[schema] = true
		if additional, isBool := schema.AdditionalProperties.(bool); schema == root && isBool {
			closed = !additional
		} else if schema.AdditionalProperties != nil {
			return nil, false, false
		}
		if looksAtAll(schema) {
			return nil, false, false
		}
		addNames(names, schema)
		all = append(all, sameValue(schema)...)
	}
	if closed {
		names = map[string]bool{}
		for name := range root.Properties {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), closed, true
}

// looksAtAll reports whether a schema has keywords that concern members whatever they are called.
func looksAtAll(s *jsonschema.Schema) bool {
	return s.Bool != nil || s.Enum != nil || s.Const != nil || s.MinProperties != nil || s.MaxProperties != nil ||
		s.PropertyNames != nil || len(s.PatternProperties) > 0 || s.UnevaluatedProperties != nil ||
		s.DynamicRef != nil || s.RecursiveRef != nil || len(s.Extensions) > 0
}

func addNames(names map[string]bool, s *jsonschema.Schema) {
	for name := range s.Properties {
		names[name] = true
	}
	for _, name := range s.Required {
		names[name] = true
	}
	for name, needed := range s.DependentRequired {
		names[name] = true
		for _, other := range needed {
			names[other] = true
		}
	}
	for name, needed := range s.Dependencies {
		names[name] = true
		others, _ := needed.([]string)
		for _, other := range others {
			names[other] = true
		}
	}
	for name := range s.DependentSchemas {
		names[name] = true
	}
}
