package jsonschema

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

func compileForTest(t *testing.T, text string) *Schema {
	t.Helper()
	schema, problems := Compile(text, diag.Place{})
	require.Empty(t, problems)
	return schema
}

// violationLines formats violations as "path: message [keyword]".
func violationLines(violations []Violation) []string {
	lines := []string{}
	for _, v := range violations {
		lines = append(lines, strings.Join(v.Path, ".")+": "+v.Message+" ["+v.Keyword+"]")
	}
	return lines
}

func TestSchemaViolations(t *testing.T) {
	t.Parallel()
	const regions = `{"properties":{"REGION":{"enum":["east-us","west-us","north-eu"]}},"required":["REGION"],"additionalProperties":false}`
	tests := []struct {
		name, schema string
		values       map[string]any
		want         []string
	}{
		{"valid", regions, map[string]any{"REGION": "east-us"}, []string{}},
		{"missing", regions, nil, []string{`: required key "REGION" is missing [/required]`}},
		{
			"misspelt", regions,
			map[string]any{"REGOIN": "east-us"},
			[]string{
				`: required key "REGION" is missing [/required]`,
				`REGOIN: key "REGOIN" is not allowed; did you mean "REGION"? [/additionalProperties]`,
			},
		},
		{
			"enum", regions,
			map[string]any{"REGION": "est-us"},
			[]string{`REGION: must be one of "east-us", "west-us", "north-eu", but is "est-us"; did you mean "east-us"? [/properties/REGION/enum]`},
		},
		{
			"const", `{"properties":{"A":{"const":"a"}}}`,
			map[string]any{"A": "b"},
			[]string{`A: must be "a", but is "b" [/properties/A/const]`},
		},
		{
			"type", `{"properties":{"A":{"type":["object","null"]}}}`,
			map[string]any{"A": "x\ny"},
			[]string{`A: must be null or an object, but is the string "x\ny" [/properties/A/type]`},
		},
		{
			"text that reads as a number", `{"properties":{"A":{"type":"string"}}}`,
			map[string]any{"A": "8080"},
			[]string{`A: must be a string, but "8080" is a number [/properties/A/type]`},
		},
		{
			"boolean text", `{"properties":{"A":{"type":"boolean"}}}`,
			map[string]any{"A": "true"},
			[]string{`A: must be a boolean, but is the string "true" [/properties/A/type]`},
		},
		{
			"nested", `{"properties":{"DB":{"properties":{"port":{"type":"integer","maximum":65535}}}}}`,
			map[string]any{"DB": map[any]any{"port": 70000}},
			[]string{`DB.port: must be at most 65535, but is 70000 [/properties/DB/properties/port/maximum]`},
		},
		{
			"nested text stays text", `{"properties":{"DB":{"properties":{"port":{"type":"integer"}}}}}`,
			map[string]any{"DB": map[string]any{"port": "70000"}},
			[]string{`DB.port: must be an integer, but is the string "70000" [/properties/DB/properties/port/type]`},
		},
		{
			"reference", `{"definitions":{"port":{"minimum":1}},"properties":{"A":{"$ref":"#/definitions/port"}}}`,
			map[string]any{"A": "0"},
			[]string{`A: must be at least 1, but is 0 [/definitions/port/minimum]`},
		},
		{
			"key with a slash", `{"properties":{"a/b%":{"minimum":1.5}}}`,
			map[string]any{"a/b%": "1.25"},
			[]string{`a/b%: must be at least 1.5, but is 1.25 [/properties/a~1b%/minimum]`},
		},
		{
			"exclusive limits", `{"properties":{"A":{"exclusiveMinimum":1},"B":{"exclusiveMaximum":0.1}}}`,
			map[string]any{"A": "1", "B": "1e3"},
			[]string{
				`A: must be more than 1, but is 1 [/properties/A/exclusiveMinimum]`,
				`B: must be less than 0.1, but is 1e3 [/properties/B/exclusiveMaximum]`,
			},
		},
		{
			"multiple", `{"properties":{"A":{"multipleOf":0.1}}}`,
			map[string]any{"A": "0.25"},
			[]string{`A: must be a multiple of 0.1, but is 0.25 [/properties/A/multipleOf]`},
		},
		{
			"lengths", `{"properties":{"A":{"minLength":2},"B":{"maxLength":1}}}`,
			map[string]any{"A": "ü", "B": "äö"},
			[]string{
				`A: must have at least 2 characters, but has 1 [/properties/A/minLength]`,
				`B: must have at most 1 character, but has 2 [/properties/B/maxLength]`,
			},
		},
		{
			"counts", `{"properties":{"A":{"minItems":1},"B":{"maxItems":1},"C":{"minProperties":1},"D":{"maxProperties":1}}}`,
			map[string]any{
				"A": []any{}, "B": []any{1, 2}, "C": map[string]any{},
				"D": map[string]any{"x": 1, "y": 2},
			},
			[]string{
				`A: must have at least 1 item, but has 0 [/properties/A/minItems]`,
				`B: must have at most 1 item, but has 2 [/properties/B/maxItems]`,
				`C: must have at least 1 key, but has 0 [/properties/C/minProperties]`,
				`D: must have at most 1 key, but has 2 [/properties/D/maxProperties]`,
			},
		},
		{
			"list contents",
			`{"properties":{"A":{"uniqueItems":true},"B":{"contains":{"const":1}},"C":{"items":[{}],"additionalItems":false}}}`,
			map[string]any{"A": []any{"x", "y", "x"}, "B": []any{2}, "C": []any{1, 2, 3}},
			[]string{
				`A: items at 0 and 2 are equal [/properties/A/uniqueItems]`,
				`B: no items match contains schema [/properties/B/contains]`,
				`C: last 2 additionalItem(s) not allowed [/properties/C/additionalItems]`,
			},
		},
		{
			"contains counted",
			`{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"A":{"contains":{"const":1},"minContains":2},"B":{"contains":{"const":1},"maxContains":1}}}`,
			map[string]any{"A": []any{1, 3}, "B": []any{1, 1}},
			[]string{
				`A: min 2 items required to match contains schema, but matched 1 items at 0 [/properties/A/minContains]`,
				`B: max 1 items required to match contains schema, but matched 2 items at 0 1 [/properties/B/maxContains]`,
			},
		},
		{
			"pattern", `{"properties":{"A":{"pattern":"^[a-z]+$"}}}`,
			map[string]any{"A": "ABC"},
			[]string{`A: must match the pattern "^[a-z]+$", but is "ABC" [/properties/A/pattern]`},
		},
		{
			"secret is cut", `{"properties":{"A":{"maxLength":3,"pattern":"^x"}}}`,
			map[string]any{"A": strings.Repeat("s", 100)},
			[]string{
				`A: must have at most 3 characters, but has 100 [/properties/A/maxLength]`,
				`A: must match the pattern "^x", but is "` + strings.Repeat("s", 60) + `…" [/properties/A/pattern]`,
			},
		},
		{
			"dependencies", `{"dependencies":{"A":["B","C"]}}`,
			map[string]any{"A": "x"},
			[]string{
				`: properties 'B', 'C' required, if 'A' exists [/dependencies/A]`,
			},
		},
		{
			"dependent required", `{"$schema":"https://json-schema.org/draft/2019-09/schema","dependentRequired":{"A":["B"]}}`,
			map[string]any{"A": "x"},
			[]string{`: properties 'B' required, if 'A' exists [/dependentRequired/A]`},
		},
		{
			"names of keys", `{"properties":{"A":{"propertyNames":{"pattern":"^[a-z]+$"}},"B":{}}}`,
			map[string]any{"A": map[string]any{"x": 1, "X1": 2}, "B": map[string]any{"q": 1}},
			[]string{`A.X1: the key itself must match the pattern "^[a-z]+$", but is "X1" [/properties/A/propertyNames/pattern]`},
		},
		{
			"false", `{"properties":{"A":false,"B":{"items":false}}}`,
			map[string]any{"A": "x", "B": []any{1}},
			[]string{`A: is not allowed [/properties/A]`, `B.0: is not allowed [/properties/B/items]`},
		},
		{"false at the top", `false`, nil, []string{`: is not allowed []`}},
		{
			"not", `{"properties":{"A":{"not":{"enum":["x","y"]}}}}`,
			map[string]any{"A": "x"},
			[]string{`A: must not match the schema under "not" [/properties/A/not]`},
		},
		{
			"condition", `{"if":{"properties":{"A":{"const":"x"}}},"then":{"required":["B"]},"else":{"required":["C"]}}`,
			map[string]any{"A": "x"},
			[]string{`: required key "B" is missing [/then/required]`},
		},
		{
			"unevaluated", `{"$schema":"https://json-schema.org/draft/2020-12/schema","allOf":[{"properties":{"NAME":{"type":"string"}}}],"unevaluatedProperties":false}`,
			map[string]any{"NAME": "x", "NAMES": "y"},
			[]string{`NAMES: is not allowed [/unevaluatedProperties]`},
		},
		{
			"unevaluated as a consequence", `{"$schema":"https://json-schema.org/draft/2020-12/schema","allOf":[{"properties":{"NAME":{"type":"string"}}}],"unevaluatedProperties":false}`,
			map[string]any{"NAME": "5", "OTHER": "y"},
			[]string{
				`NAME: must be a string, but "5" is a number [/allOf/0/properties/NAME/type]`,
				`OTHER: is not allowed [/unevaluatedProperties]`,
			},
		},
		{
			"the same thing said twice", `{"allOf":[{"required":["A"]},{"required":["A"]}]}`, nil,
			[]string{`: required key "A" is missing [/allOf/0/required]`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, violationLines(compileForTest(t, test.schema).Check(test.values)))
		})
	}
}

func TestSchemaAlternatives(t *testing.T) {
	t.Parallel()
	const kinds = `{"definitions":{
		"disk":{"properties":{"kind":{"const":"disk"},"size":{"minimum":1}},"required":["size"]},
		"net":{"properties":{"kind":{"const":"net"},"speed":{"minimum":1}},"required":["speed"]}},
		"properties":{"A":{"oneOf":[{"$ref":"#/definitions/disk"},{"$ref":"#/definitions/net"}]}}}`
	tests := []struct {
		name, schema string
		value        any
		want         []string
	}{
		{
			"types", `{"properties":{"A":{"anyOf":[{"type":"null"},{"type":"object"},{"type":["array","null"]}]}}}`, "x",
			[]string{`A: matches none of the 3 alternatives: must be null, but is the string "x"; must be an object, but is the string "x"; must be null or a list, but is the string "x" [/properties/A/anyOf]`},
		},
		{
			"constants", `{"properties":{"A":{"oneOf":[{"const":"small"},{"const":"large"}]}}}`, "lage",
			[]string{`A: matches none of the 2 alternatives: must be "small", but is "lage"; must be "large", but is "lage" [/properties/A/oneOf]`},
		},
		{
			"the one of the right type", `{"properties":{"A":{"anyOf":[{"type":"null"},{"type":"string","minLength":3}]}}}`, "x",
			[]string{`A: must have at least 3 characters, but has 1 [/properties/A/anyOf/1/minLength]`},
		},
		{
			"the one of the right kind", kinds,
			map[string]any{"kind": "net", "speed": 0},
			[]string{`A: matches none of the 2 alternatives: required key "size" is missing; speed must be at least 1, but is 0 [/properties/A/oneOf]`},
		},
		{
			"no kind fits", kinds,
			map[string]any{"kind": "nut", "speed": 0},
			[]string{`A: matches none of the 2 alternatives: required key "size" is missing; kind must be "net", but is "nut" [/properties/A/oneOf]`},
		},
		{
			"different reasons", `{"properties":{"A":{"anyOf":[{"required":["x"]},{"required":["y"]},{"minProperties":2},{"required":["z"]}]}}}`,
			map[string]any{},
			[]string{`A: matches none of the 4 alternatives: required key "x" is missing; required key "y" is missing; must have at least 2 keys, but has 0; … [/properties/A/anyOf]`},
		},
		{
			"two of one", `{"properties":{"A":{"oneOf":[{"minimum":1},{"type":"string"},{"minimum":2}]}}}`, "3",
			[]string{`A: 'oneOf' failed, subschemas 0, 2 matched [/properties/A/oneOf]`},
		},
		{
			"a single one", `{"properties":{"A":{"anyOf":[{"minimum":5}]}}}`, "3",
			[]string{`A: must be at least 5, but is 3 [/properties/A/anyOf/0/minimum]`},
		},
		{
			"nested", `{"properties":{"A":{"anyOf":[{"type":"null"},{"anyOf":[{"type":"object"},{"type":"array"}]}]}}}`, "3",
			[]string{`A: matches none of the 2 alternatives: must be an object, but "3" is a number; must be a list, but "3" is a number [/properties/A/anyOf/1/anyOf]`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, violationLines(compileForTest(t, test.schema).Check(map[string]any{"A": test.value})))
		})
	}
}
