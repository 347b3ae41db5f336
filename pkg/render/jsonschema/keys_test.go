package jsonschema

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

func TestKeysThatSchemasLookAt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, schema  string
		keys          []string
		local, closed bool
	}{
		{"anything", `{}`, nil, false, false},
		{"properties and more", `{"properties": {"A": {}}, "required": ["B"], "dependencies": {"C": ["D"], "E": {"required": ["F"]}}}`, []string{"A", "B", "C", "D", "E", "F"}, true, false},
		{"in parts", `{"allOf": [{"required": ["A"]}], "if": {"required": ["B"]}, "then": {"not": {"required": ["C"]}}}`, []string{"A", "B", "C"}, true, false},
		{"by reference", `{"$ref": "#/definitions/d", "definitions": {"d": {"required": ["A"]}}}`, []string{"A"}, true, false},
		{"below a key", `{"properties": {"A": {"required": ["B"], "minProperties": 1, "patternProperties": {"x": {}}}}}`, []string{"A"}, true, false},
		{"no other", `{"properties": {"A": {}}, "additionalProperties": false, "required": ["B"]}`, []string{"A"}, true, true},
		{"any other", `{"properties": {"A": {}}, "additionalProperties": true}`, []string{"A"}, true, false},
		{"others of a kind", `{"additionalProperties": {"type": "string"}}`, nil, false, false},
		{"no other in a part", `{"allOf": [{"additionalProperties": false}]}`, nil, false, false},
		{"names", `{"propertyNames": {"maxLength": 5}}`, nil, false, false},
		{"patterns", `{"patternProperties": {"^A": {}}, "additionalProperties": false}`, nil, false, false},
		{"how many", `{"minProperties": 1}`, nil, false, false},
		{"one of some", `{"enum": [{}]}`, nil, false, false},
	} {
		schema, problems := Compile(test.schema, diag.Place{})
		require.Empty(t, problems, test.name)
		keys, closed, local := schema.Keys()
		assert.Equal(t, test.local, local, test.name)
		if test.local {
			assert.Equal(t, test.closed, closed, test.name)
			assert.True(t, slices.Equal(test.keys, keys), "%s: %v", test.name, keys)
		}
	}
}
