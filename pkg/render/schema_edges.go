package render

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// weigh estimates the work that a subschema does itself, in steps.
func weigh(s *jsonschema.Schema) int {
	entries := len(s.Required) + len(s.Dependencies) + len(s.DependentRequired) + len(s.DependentSchemas)
	if s.Enum != nil {
		entries += len(s.Enum.Values)
	}
	for _, names := range s.DependentRequired {
		entries += len(names)
	}
	for _, dependency := range s.Dependencies {
		if names, isList := dependency.([]string); isList {
			entries += len(names)
		}
	}
	return 1 + entries/16
}

// sameValue lists the subschemas that look at the value that the schema itself looks at.
func sameValue(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		list = append(list, s.DynamicRef.Ref)
	}
	list = append(list, s.AllOf...)
	list = append(list, s.AnyOf...)
	list = append(list, s.OneOf...)
	for _, name := range keysInOrder(s.Dependencies) {
		if dependency, isSchema := s.Dependencies[name].(*jsonschema.Schema); isSchema {
			list = append(list, dependency)
		}
	}
	for _, name := range keysInOrder(s.DependentSchemas) {
		list = append(list, s.DependentSchemas[name])
	}
	return slices.DeleteFunc(list, noSchema)
}

// positions lists the subschemas for the list items of a fixed position.
func positions(s *jsonschema.Schema) []*jsonschema.Schema {
	if items, isTuple := s.Items.([]*jsonschema.Schema); isTuple {
		return items
	}
	return s.PrefixItems
}

// everyChild lists the subschemas that may look at any member, member name or item.
func everyChild(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems}
	for _, either := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		if schema, isSchema := either.(*jsonschema.Schema); isSchema {
			list = append(list, schema)
		}
	}
	byPattern := map[string]*jsonschema.Schema{}
	for re, schema := range s.PatternProperties {
		byPattern[re.String()] = schema
	}
	for _, expression := range keysInOrder(byPattern) {
		list = append(list, byPattern[expression])
	}
	return slices.DeleteFunc(list, noSchema)
}

func noSchema(s *jsonschema.Schema) bool { return s == nil }

func keysInOrder[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func hintDynamicRef() diag.Option {
	return diag.Hint("use $dynamicRef of draft 2020-12, or refer to the subschema with $recursiveAnchor itself")
}
