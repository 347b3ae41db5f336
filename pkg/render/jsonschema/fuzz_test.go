package jsonschema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// FuzzSchema: no schema text and no values crash the compiler, take long, or have a different result the second time.
func FuzzSchema(f *testing.F) {
	for _, test := range expensive() {
		if len(test.schema) < 4096 {
			f.Add(test.schema, `{"A":"x"}`)
		}
	}
	seeds := []string{
		``, `true`, `null`, "type: object\n", `{"type":"object","required":["REGION"],"properties":{"REGION":{"enum":["a","b"]}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","id":"#x","properties":{"A":{"minimum":1,"exclusiveMinimum":true}}}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicAnchor":"n","prefixItems":[{"$dynamicRef":"#n"}],"unevaluatedItems":false}`,
		`{"oneOf":[{"const":1},{"format":"regex"}],"propertyNames":{"pattern":"^A"},"dependencies":{"A":["B"],"B":{"not":{}}}}`,
		`{"$ref":"file:///etc/passwd"}`, `{"$id":"http://[::1","$ref":"%zz"}`, `{"items":[{}],"additionalItems":false,"uniqueItems":true}`,
		`{"definitions":{"a":{"$ref":"#/definitions/a"}}}`, `{"multipleOf":1e-400,"maximum":1e400}`,
	}
	for _, seed := range seeds {
		f.Add(seed, `{"A":"1e300","B":{"a":[1,2.5,null,true,{"b":[]}]},"":""}`)
	}
	place := diag.Place{File: &diag.File{Path: "schema.yaml"}, Line: 1}
	f.Fuzz(func(t *testing.T, text, valuesText string) {
		var values map[string]any
		if len(valuesText) > 1<<16 || json.Unmarshal([]byte(valuesText), &values) != nil {
			values = map[string]any{"A": valuesText, "B": map[any]any{1: valuesText, true: []any{valuesText, nil}}}
		}
		schema, problems := Compile(text, place)
		_, again := Compile(text, place)
		assert.Equal(t, problems, again)
		assert.Equal(t, schema == nil, problems.HasErrors())
		for _, d := range problems {
			assertOneLine(t, d.Message)
			assert.Equal(t, place, d.At)
		}
		if schema != nil {
			found := schema.Check(values)
			assert.Equal(t, found, schema.Check(values))
			for _, v := range found {
				assertOneLine(t, v.Message)
			}
		}
	})
}

func assertOneLine(t *testing.T, message string) {
	t.Helper()
	assert.NotEmpty(t, message)
	assert.NotContains(t, message, "\n")
	assert.LessOrEqual(t, len(message), 4096)
}
