package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// problemLines formats problems as "rule: message [hint]".
func problemLines(problems diag.List) []string {
	var lines []string
	for _, d := range problems {
		line := d.Rule + ": " + d.Message
		if d.Hint != "" {
			line += " [" + d.Hint + "]"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestCompileSchemaProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"empty", " \n", []string{`invalid-schema: schema is empty [write a JSON Schema, for example {"type": "object"}]`}},
		{
			"YAML", "type: object\nproperties: {}\n",
			[]string{`invalid-schema: schema is not valid JSON: unexpected 'y' (line 1, column 2 of the schema) [a schema is JSON text; this looks like YAML]`},
		},
		{"cut off", `{"type":`, []string{`invalid-schema: schema is not valid JSON: it ends too early (line 1, column 9 of the schema)`}},
		{
			"comma", "{\n  \"type\": \"object\",\n}",
			[]string{`invalid-schema: schema is not valid JSON: unexpected '}' (line 3, column 1 of the schema)`},
		},
		{
			"comment", "{\n  // ports\n}",
			[]string{`invalid-schema: schema is not valid JSON: unexpected '/' (line 2, column 3 of the schema)`},
		},
		{
			"quotes", `{'type': "object"}`,
			[]string{`invalid-schema: schema is not valid JSON: unexpected '\'' (line 1, column 2 of the schema)`},
		},
		{"more text", "{} {}", []string{`invalid-schema: schema is not valid JSON: unexpected '{' after its end (line 1, column 4 of the schema)`}},
		{"NUL", "{\x00}", []string{`invalid-schema: schema is not valid JSON: unexpected '\x00' (line 1, column 2 of the schema)`}},
		{"not UTF-8", "{\"ü\xff\":1}", []string{`invalid-schema: schema is not UTF-8 text`}},
		{
			"key twice", "{\"type\":\"object\",\n\"type\":\"array\"}",
			[]string{`invalid-schema: key "type" is duplicated, first at line 1, column 9 (line 2, column 1 of the schema)`},
		},
		{"no schema", `5`, []string{`invalid-schema: schema must be a boolean or an object, but is the number 5 (line 1, column 1 of the schema)`}},
		{
			"wrong keyword values", `{"type":"strng","required":"A","properties":{"p":{"minimum":"1"}}}`,
			[]string{
				`invalid-schema: schema at /properties/p/minimum must be a number, but is the string "1" (line 1, column 61 of the schema)`,
				`invalid-schema: schema at /required must be a list, but is the string "A" (line 1, column 28 of the schema)`,
				`invalid-schema: schema at /type must be one of "array", "boolean", "integer", "null", "number", "object", "string", but is "strng"; did you mean "string"? (line 1, column 9 of the schema)`,
			},
		},
		{
			"unknown draft", `{"$schema":"http://json-schema.org/draft-08/schema#"}`,
			[]string{`invalid-schema: unknown $schema "http://json-schema.org/draft-08/schema#" (line 1, column 12 of the schema) ` +
				`[one of http://json-schema.org/draft-04/schema#, http://json-schema.org/draft-06/schema#, http://json-schema.org/draft-07/schema#, ` +
				`https://json-schema.org/draft/2019-09/schema, https://json-schema.org/draft/2020-12/schema]`},
		},
		{
			"references out", `{"properties":{"a":{"$ref":"http://example.com/s.json"},"b":{"$ref":"other.json#/x"}}}`,
			[]string{
				`schema-ref-outside: $ref "http://example.com/s.json" refers to another document (line 1, column 28 of the schema) [copy the referenced schema into "definitions" and write {"$ref": "#/definitions/NAME"}]`,
				`schema-ref-outside: $ref "other.json#/x" refers to another document (line 1, column 69 of the schema) [copy the referenced schema into "definitions" and write {"$ref": "#/definitions/NAME"}]`,
			},
		},
		{
			"references nowhere", `{"definitions":{"port":{}},"properties":{"a":{"$ref":"#/definitions/prot"},"b":{"$ref":"#port"}}}`,
			[]string{
				`invalid-schema: $ref "#/definitions/prot" does not exist in the schema (line 1, column 54 of the schema)`,
				`invalid-schema: $ref "#port" does not exist in the schema (line 1, column 88 of the schema)`,
			},
		},
		{
			"names twice", `{"definitions":{"a":{"$id":"x"},"b":{"$id":"x"},"c":{"$id":"#n"},"d":{"$id":"#n"}}}`,
			[]string{
				`invalid-schema: $id "n" is duplicated (line 1, column 77 of the schema)`,
				`invalid-schema: $id "x" is duplicated (line 1, column 44 of the schema)`,
			},
		},
		{
			"patterns", `{"properties":{"a":{"pattern":"^(?=x)"},"b":{"pattern":"(a)\\1"},"c":{"pattern":"("}},"patternProperties":{"*":{}}}`,
			[]string{
				`invalid-schema: pattern "(" cannot be used: missing closing ) at "(" (line 1, column 81 of the schema)`,
				`invalid-schema: pattern "(a)\\1" cannot be used: invalid escape sequence at "\\1" (line 1, column 56 of the schema)`,
				`invalid-schema: pattern "*" cannot be used: missing argument to repetition operator at "*" (line 1, column 112 of the schema)`,
				`invalid-schema: pattern "^(?=x)" cannot be used: invalid or unsupported Perl syntax at "(?=" (line 1, column 31 of the schema)`,
			},
		},
		{"cycle", `{"$ref":"#"}`, []string{`invalid-schema: schema refers to itself in a cycle: # → #`}},
		{
			"cycle of two", `{"$ref":"#/definitions/a","definitions":{"a":{"allOf":[{"$ref":"#/definitions/b"}]},"b":{"anyOf":[{"$ref":"#/definitions/a"}]}}}`,
			[]string{`invalid-schema: schema refers to itself in a cycle: #/definitions/a → #/definitions/a/allOf/0 → #/definitions/b → #/definitions/b/anyOf/0 → #/definitions/a`},
		},
		{
			"cycle in a condition", `{"if":{"required":["A"]},"then":{"$ref":"#"}}`,
			[]string{`invalid-schema: schema refers to itself in a cycle: # → #/then → #`},
		},
	}
	place := diag.Place{File: &diag.File{Repo: "https://example.com/cp", Path: "s.yaml"}, Line: 7, Column: 3}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			schema, problems := Compile(test.text, place)
			assert.Nil(t, schema)
			assert.Equal(t, test.want, problemLines(problems))
			for _, d := range problems {
				assert.Equal(t, diag.Error, d.Severity)
				assert.Equal(t, place, d.At)
			}
		})
	}
}

func TestSchemaReferencesInside(t *testing.T) {
	t.Parallel()
	const draft2019 = `"$schema":"https://json-schema.org/draft/2019-09/schema",`
	tests := map[string]string{
		"pointer":               `{"definitions":{"a~/b %":{"minimum":5}},"properties":{"A":{"$ref":"#/definitions/a~0~1b%20%25"}}}`,
		"pointer elsewhere":     `{"x-parts":[{"minimum":5}],"properties":{"A":{"$ref":"#/x-parts/0"}}}`,
		"chain":                 `{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"minimum":5}},"properties":{"A":{"$ref":"#/definitions/a"}}}`,
		"$id of the whole":      `{"$id":"https://example.com/s.json","definitions":{"a":{"minimum":5}},"properties":{"A":{"$ref":"https://example.com/s.json#/definitions/a"}}}`,
		"$id of a part":         `{"$id":"https://example.com/s.json","definitions":{"a":{"$id":"part.json","minimum":5}},"properties":{"A":{"$ref":"part.json"}}}`,
		"$id without a base":    `{"definitions":{"a":{"$id":"part.json","minimum":5}},"properties":{"A":{"$ref":"part.json"}}}`,
		"$id as a URN":          `{"$id":"urn:example:s","definitions":{"a":{"minimum":5}},"properties":{"A":{"$ref":"urn:example:s#/definitions/a"}}}`,
		"$id as an anchor":      `{"definitions":{"a":{"$id":"#low","minimum":5}},"properties":{"A":{"$ref":"#low"}}}`,
		"id of draft-04":        `{"$schema":"http://json-schema.org/draft-04/schema#","definitions":{"a":{"id":"part.json","minimum":5}},"properties":{"A":{"$ref":"part.json#"}}}`,
		"id anchor of draft-04": `{"$schema":"http://json-schema.org/draft-04/schema#","definitions":{"a":{"id":"#low","minimum":5}},"properties":{"A":{"$ref":"#low"}}}`,
		"$anchor":               `{` + draft2019 + `"$defs":{"a":{"$anchor":"low","minimum":5}},"properties":{"A":{"$ref":"#low"}}}`,
		"recursion":             `{"properties":{"A":{"$ref":"#"}},"minimum":5}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := compileForTest(t, text)
			assert.Empty(t, schema.Check(map[string]any{"A": "5"}))
			found := schema.Check(map[string]any{"A": "4"})
			require.Len(t, found, 1)
			assert.Equal(t, "must be at least 5, but is 4", found[0].Message)
		})
	}
}

func TestSchemaDrafts(t *testing.T) {
	t.Parallel()
	drafts := append([]string{""}, drafts[:]...)
	for _, draft := range drafts {
		t.Run(draft, func(t *testing.T) {
			t.Parallel()
			head := ""
			if draft != "" {
				head = fmt.Sprintf(`"$schema":%q,`, draft)
			}
			schema := compileForTest(t, `{`+head+`"type":"object","required":["A"],
				"properties":{"A":{"type":"integer"},"B":{"format":"email"}},"additionalProperties":false}`)
			assert.Empty(t, schema.Check(map[string]any{"A": "5.0", "B": "a@example.com"}))
			assert.Equal(t, []string{
				`A: must be an integer, but "5.5" is a number [/properties/A/type]`,
				`B: must be an email address, but is "x" [/properties/B/format]`,
				`C: key "C" is not allowed [/additionalProperties]`,
			}, violationLines(schema.Check(map[string]any{"A": "5.5", "B": "x", "C": "c"})))
		})
	}
}

// Keywords have the meaning of the schema's draft, draft-07 by default.
func TestSchemaDraftKeywords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		valid      bool
	}{
		{"draft-04 has no const", `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"A":{"const":"x"}}}`, true},
		{"draft-06 has no if", `{"$schema":"http://json-schema.org/draft-06/schema#","if":{},"then":false}`, true},
		{"draft-07 by default", `{"if":{},"then":false}`, false},
		{"draft-07 has no dependentRequired", `{"dependentRequired":{"A":["B"]}}`, true},
		{"draft-07 ignores what is beside $ref", `{"properties":{"A":{"$ref":"#/definitions/x","const":"x"}},"definitions":{"x":{}}}`, true},
		{"2019-09 does not", `{"$schema":"https://json-schema.org/draft/2019-09/schema","properties":{"A":{"$ref":"#/$defs/x","const":"x"}},"$defs":{"x":{}}}`, false},
		{"draft-04 exclusiveMinimum is a switch", `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"N":{"minimum":1,"exclusiveMinimum":true}}}`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found := compileForTest(t, test.text).Check(map[string]any{"A": "a", "N": "1"})
			assert.Equal(t, test.valid, len(found) == 0, "%v", found)
		})
	}
}

func TestSchemaFormats(t *testing.T) {
	t.Parallel()
	tests := []struct{ format, good, bad, want string }{
		{"date-time", "2024-02-29T12:00:00Z", "2024-02-29", "a date and time such as 2024-01-31T12:00:00Z"},
		{"date", "2024-02-29", "2023-02-29", "a date such as 2024-01-31"},
		{"time", "23:59:60Z", "12:00", "a time such as 12:00:00Z"},
		{"email", "a@example.com", "a", "an email address"},
		{"idn-email", "ä@bücher.example", "a", "an email address"},
		{"hostname", "db.example.com", "-db", "a host name"},
		{"ipv4", "10.0.0.1", "10.0.0.256", "an IPv4 address"},
		{"ipv6", "::1", "1::2::3", "an IPv6 address"},
		{"uri", "https://example.com", "example", "an absolute URI"},
		{"uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8", "a UUID"},
		{"regex", "^a$", "^(?=a)", "a regular expression"},
		{"json-pointer", "/a/b", "a", `of the format "json-pointer"`},
	}
	for _, draft := range drafts[:] {
		for _, test := range tests {
			t.Run(draft+" "+test.format, func(t *testing.T) {
				t.Parallel()
				schema := compileForTest(t, fmt.Sprintf(`{"$schema":%q,"properties":{"A":{"format":%q}}}`, draft, test.format))
				assert.Empty(t, schema.Check(map[string]any{"A": test.good}))
				found := schema.Check(map[string]any{"A": test.bad})
				require.Len(t, found, 1)
				assert.Equal(t, fmt.Sprintf("must be %s, but is %q", test.want, test.bad), found[0].Message)
			})
		}
	}
}

// Fact 21 of the operator: what Go's Atoi or ParseFloat accepts counts as a number at the top,
// but not infinities.
func TestTopLevelNumbers(t *testing.T) {
	t.Parallel()
	schema := compileForTest(t, `{"additionalProperties":{"type":"number"}}`)
	numbers := []string{
		"5", "-5", "+5", "007", "5.0", ".5", "5.", "1e3", "1E-3", "0x1p-2", "0x1_0p0",
		"1_000", "9223372036854775808", "-123456789012345678901234567890",
	}
	for _, text := range numbers {
		assert.Empty(t, schema.Check(map[string]any{"A": text}), text)
	}
	texts := []string{
		"", " 5", "5 ", "0x10", "1__0", "1e999", "inf", "-Inf", "+infinity", "nan", "NaN", "e5", "-", "+-5",
		"five", "5m", "true", "1.2.3",
	}
	for _, text := range texts {
		assert.Len(t, schema.Check(map[string]any{"A": text}), 1, text)
	}
}

func TestSchemaNumbersAreExact(t *testing.T) {
	t.Parallel()
	schema := compileForTest(t, `{"properties":{
		"A":{"maximum":9007199254740993},"B":{"const":18446744073709551616},"C":{"multipleOf":0.01},"D":{"maximum":1e300}}}`)
	assert.Empty(t, schema.Check(map[string]any{
		"A": "9007199254740993", "B": "+0018446744073709551616", "C": "19.99", "D": "1e300",
	}))
	assert.Equal(t, []string{
		`A: must be at most 9007199254740993, but is 9007199254740994 [/properties/A/maximum]`,
		`B: must be 18446744073709551616, but is 18446744073709551617 [/properties/B/const]`,
		`C: must be a multiple of 0.01, but is 19.995 [/properties/C/multipleOf]`,
	}, violationLines(schema.Check(map[string]any{
		"A": "9007199254740994", "B": "18446744073709551617", "C": "19.995",
	})))
}

func TestSchemaValueTypes(t *testing.T) {
	t.Parallel()
	schema := compileForTest(t, `{"properties":{"A":{"properties":{
		"true":{"type":"integer"},"1":{"type":"string"},"1.5":{"type":"null"},"u":{"type":"integer"},"f":{"type":"integer"},
		"b":{"type":"boolean"},"l":{"items":{"required":["x"]}}},"additionalProperties":false}}}`)
	values := map[string]any{"A": map[any]any{
		true: int64(1), 1: "x", 1.5: nil, "u": uint64(math.MaxUint64), "f": 2.0, "b": false,
		"l": []any{map[any]any{"x": 1}, map[string]any{"x": []any{map[any]any{1: 2}}}},
	}}
	assert.Empty(t, schema.Check(values))
	assert.Equal(t, map[any]any{"x": 1}, values["A"].(map[any]any)["l"].([]any)[0], "the values are left as they are")
}

func TestSchemaKeysThatCollide(t *testing.T) {
	t.Parallel()
	schema := compileForTest(t, `{"properties":{"A":{"properties":{"1":{"const":"string"}}},"B":{"properties":{"1":{"const":"float64"}}}}}`)
	for range 20 {
		assert.Empty(t, schema.Check(map[string]any{
			"A": map[any]any{1: "int", "1": "string", 1.0: "float64"},
			"B": map[any]any{1: "int", 1.0: "float64", uint64(1): "uint64"},
		}))
	}
}

func TestSchemaValuesThatJSONDoesNotKnow(t *testing.T) {
	t.Parallel()
	schema := compileForTest(t, `true`)
	deep := any("x")
	for range 300 {
		deep = []any{deep}
	}
	got := schema.Check(map[string]any{
		"A": map[string]any{"x": math.Inf(1), "y": []any{1, math.NaN()}}, "B": struct{}{},
	})
	assert.Equal(t, []string{
		`A.x: must be a finite number, but is +Inf []`,
		`A.y.1: must be a finite number, but is NaN []`,
		`B: has the type struct {}, which JSON does not support []`,
	}, violationLines(got))
	got = schema.Check(map[string]any{"A": deep})
	require.Len(t, got, 1)
	assert.Equal(t, "nests deeper than 200 levels", got[0].Message)
}

func TestSchemaCheckLeavesValuesAlone(t *testing.T) {
	t.Parallel()
	values := map[string]any{"A": "5", "B": map[string]any{"x": map[any]any{1: 2}, "y": []any{"z"}}}
	before := maps.Clone(values)
	compileForTest(t, `{"properties":{"A":{"type":"object"},"B":{"type":"string"}}}`).Check(values)
	assert.Equal(t, before, values)
	assert.Equal(t, map[any]any{1: 2}, values["B"].(map[string]any)["x"])
}

func TestSchemaConcurrentAndDeterministic(t *testing.T) {
	t.Parallel()
	text := `{"definitions":{"node":{"properties":{"next":{"$ref":"#/definitions/node"},"v":{"type":"integer","format":"regex"}},
		"propertyNames":{"pattern":"^[a-z]+$"},"additionalProperties":false}},
		"additionalProperties":{"anyOf":[{"$ref":"#/definitions/node"},{"type":"number"},{"pattern":"^x"}]},"required":["z","y","x"]}`
	schema := compileForTest(t, text)
	values := map[string]any{}
	for i := range 30 {
		values[fmt.Sprintf("K%d", i)] = map[any]any{"v": "x", "X": 1, "next": map[string]any{"v": 1.5, "w": nil}}
	}
	want := schema.Check(values)
	require.NotEmpty(t, want)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				assert.Equal(t, want, schema.Check(values))
			}
		})
	}
	group.Wait()
	for range 20 {
		assert.Equal(t, want, compileForTest(t, text).Check(values))
	}
}

// The messages do not depend on the order in which the library iterates over maps.
func TestCompileSchemaDeterministic(t *testing.T) {
	t.Parallel()
	var properties []string
	for i := range 40 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":%d,"minimum":"x","anyOf":[],"properties":{"q":5}}`, i, i))
	}
	text := `{"properties":{` + strings.Join(properties, ",") + `}}`
	_, want := Compile(text, diag.Place{})
	require.NotEmpty(t, want)
	for range 10 {
		_, got := Compile(text, diag.Place{})
		assert.Equal(t, want, got)
	}
}

func BenchmarkSchemaCheck(b *testing.B) {
	properties := map[string]any{}
	values := map[string]any{}
	for i := range 40 {
		key := fmt.Sprintf("KEY_%d", i)
		properties[key] = map[string]any{"type": []string{"string", "number"}, "maxLength": 100}
		values[key] = "some value"
	}
	properties["DB"] = map[string]any{"type": "object", "required": []string{"host"}, "properties": map[string]any{"port": map[string]any{"type": "integer", "minimum": 1}}}
	values["DB"] = map[any]any{"host": "db", "port": 5432}
	text, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "additionalProperties": false})
	require.NoError(b, err)
	schema, problems := Compile(string(text), diag.Place{})
	require.Empty(b, problems)
	b.ReportAllocs()
	for b.Loop() {
		schema.Check(values)
	}
}
