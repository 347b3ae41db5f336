package jsonschema

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// S9: a tenant's schema must not make the compiler read other documents or crash.
func TestS9(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = w.Write([]byte(`{"type":"string"}`))
	}))
	t.Cleanup(server.Close)
	const canary = "canary-4711"
	secret := filepath.Join(t.TempDir(), "secret.json")
	require.NoError(t, os.WriteFile(secret, []byte(`{"type":"`+canary+`"}`), 0o600))
	secretText := filepath.Join(t.TempDir(), "secret.txt")
	require.NoError(t, os.WriteFile(secretText, []byte(canary), 0o600))

	outside := []string{
		server.URL + "/latest/meta-data", server.URL + "/s.json#/definitions/x",
		"file://" + secret, "file://" + secretText, secret, "//" + strings.TrimPrefix(server.URL, "http://") + "/s.json",
		"secret.json", "../../../../../../../../" + secret, "ftp://example.com/s.json",
		"http://json-schema.org/draft-07/schema#", "kalypso:///other",
	}
	// Each text has one %q for the address.
	shapes := map[string]string{
		"ref":                `{"$ref":%q}`,
		"ref below":          `{"properties":{"A":{"items":[{"not":{"$ref":%q}}]}}}`,
		"ref of 2020-12":     `{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"A":{"$ref":%q}}}`,
		"dynamic":            `{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicRef":%q}`,
		"recursive":          `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":%q}`,
		"draft":              `{"$schema":%q,"type":"object"}`,
		"draft of a part":    `{"definitions":{"a":{"$id":"a","$schema":%q}}}`,
		"by its base":        `{"$id":%q,"properties":{"A":{"$ref":"more.json"}}}`,
		"unknown keyword":    `{"x-parts":{"a":{"$ref":%q}},"properties":{"A":{"$ref":"#/x-parts/a"}}}`,
		"draft out of reach": `{"x-parts":{"a":{"$id":"a","$schema":%q}},"properties":{"A":{"$ref":"#/x-parts/a"}}}`,
	}
	for name, shape := range shapes {
		for _, address := range outside {
			if strings.HasPrefix(name, "draft") && strings.HasPrefix(address, "http://json-schema.org") {
				continue // a known draft, which is built in
			}
			text := fmt.Sprintf(shape, address)
			schema, problems := Compile(text, diag.Place{})
			assert.Nil(t, schema, text)
			require.NotEmpty(t, problems, text)
			for _, d := range problems {
				assert.NotContains(t, d.Message+d.Hint, canary)
				assert.Contains(t, []string{ruleOutside, ruleInvalid}, d.Rule, text)
				assert.LessOrEqual(t, len(d.Message), 400)
			}
		}
	}
	for _, cycle := range []string{`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}},"$ref":"#/definitions/a"}`} {
		_, problems := Compile(cycle, diag.Place{})
		require.NotEmpty(t, problems, cycle)
		assert.Contains(t, problems[0].Message, "schema refers to itself in a cycle")
	}
	assert.Zero(t, requests.Load(), "a schema made the compiler call a server")
}

// repeated joins n texts of a function.
func repeated(n int, separator string, text func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = text(i)
	}
	return strings.Join(parts, separator)
}

// doubling returns n subschemas that each refer twice to the next.
func doubling(n int, keyword string) string {
	return repeated(n, ",", func(i int) string {
		return fmt.Sprintf(`"d%d":{%q:[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]}`, i, keyword, i+1, i+1)
	}) + fmt.Sprintf(`,"d%d":{}`, n)
}

// nestedValue returns nested maps with the member "a", that many levels deep.
func nestedValue(depth int) any {
	value := any("x")
	for range depth {
		value = map[any]any{"a": value}
	}
	return value
}

// expensive are schemas and values at the limits or beyond.
// Want is a part of the message; empty if any result is accepted.
func expensive() []struct {
	name, schema string
	values       map[string]any
	want         string
} {
	const draft2020 = `"$schema":"https://json-schema.org/draft/2020-12/schema",`
	const draft2019 = `"$schema":"https://json-schema.org/draft/2019-09/schema",`
	places := share(900, 1400) // each costs as much as there are others
	long := map[string]any{"A": strings.Repeat("a", 1<<20)}
	manyKeys := map[string]any{}
	for i := range 5000 {
		manyKeys[fmt.Sprintf("KEY_%d", i)] = "value"
	}
	return []struct {
		name, schema string
		values       map[string]any
		want         string
	}{
		{"text too long", `{"description":"` + strings.Repeat("x", maxBytes) + `"}`, nil, "bytes, more than 1048576"},
		{"brackets", strings.Repeat("[", 10_000), nil, "not valid JSON"},
		{"100,000 brackets", strings.Repeat("[", 100_000), nil, "not valid JSON"},
		{"closed brackets", strings.Repeat("[", 5000) + strings.Repeat("]", 5000), nil, "nests deeper than 64 levels (line 1, column 65"},
		{"deep not", strings.Repeat(`{"not":`, 1000) + "true" + strings.Repeat("}", 1000), nil, "nests deeper than 64"},
		{"many values", `{"enum":[` + repeated(maxValues, ",", func(int) string { return "1" }) + `]}`, nil, "has more than 20000 values"},
		{"huge exponent", `{"maximum":1e999999}`, map[string]any{"A": "1"}, "more than 400 digits"},
		{"huge number", `{"enum":[` + strings.Repeat("9", 100_000) + `]}`, nil, "more than 400 digits"},
		{"many large numbers", `{"properties":{"A":{"enum":[` + repeated(10_000, ",", func(int) string { return "1e400" }) + `]}}}`, map[string]any{"A": "1"}, ""},
		{"many properties", `{"properties":{` + repeated(maxSubschemas-1, ",", func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}`, manyKeys, ""},
		{"too many properties", `{"properties":{` + repeated(maxSubschemas, ",", func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}`, manyKeys, "schema has 3001 subschemas, more than 3000"},
		{"many properties of 2020-12", `{` + draft2020 + `"properties":{` + repeated(maxSubschemas-1, ",", func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}`, manyKeys, ""},
		{"many parts", `{"allOf":[` + repeated(maxSubschemas-1, ",", func(int) string { return "{}" }) + `]}`, manyKeys, ""},
		{"many $id", `{"definitions":{` + repeated(maxSubschemas-1, ",", func(i int) string { return fmt.Sprintf(`"p%d":{"$id":"i%d"}`, i, i) }) + `}}`, nil, ""},
		{"many $anchor", `{` + draft2020 + `"$defs":{` + repeated(maxSubschemas-1, ",", func(i int) string { return fmt.Sprintf(`"p%d":{"$dynamicAnchor":"i%d"}`, i, i) }) + `}}`, nil, ""},
		{
			"many refs to places without a keyword", `{"x":[` + repeated(places, ",", func(int) string { return "{}" }) + `],"allOf":[` +
				repeated(places, ",", func(i int) string { return fmt.Sprintf(`{"$ref":"#/x/%d"}`, i) }) + `]}`, nil, "",
		},
		{
			"many such places with $id", `{"x":[` + repeated(places, ",", func(i int) string { return fmt.Sprintf(`{"$id":"i%d"}`, i) }) + `],"allOf":[` +
				repeated(places, ",", func(i int) string { return fmt.Sprintf(`{"$ref":"#/x/%d"}`, i) }) + `]}`, nil, "",
		},
		{
			"as many as allowed", `{"$defs":{` + repeated(150, ",", func(i int) string { return fmt.Sprintf(`"d%d":{}`, i) }) + `},"allOf":[` +
				repeated(2600, ",", func(i int) string { return fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i%150) }) + `]}`, nil, "",
		},
		{
			"long chain", `{"definitions":{` + repeated(1000, ",", func(i int) string { return fmt.Sprintf(`"c%d":{"$ref":"#/definitions/c%d"}`, i, i+1) }) +
				`,"c1000":{}},"$ref":"#/definitions/c0"}`, nil, "chains more than 200 subschemas",
		},
		{"doubling", `{"$ref":"#/definitions/d0","definitions":{` + doubling(60, "allOf") + `}}`, map[string]any{"A": "x"}, "too much to check"},
		{"doubling with not", `{"not":{"$ref":"#/definitions/d0"},"definitions":{` + doubling(60, "oneOf") + `}}`, map[string]any{"A": "x"}, "too much to check"},
		{
			"doubling per level", `{"definitions":{"n":{"allOf":[{"properties":{"a":{"$ref":"#/definitions/n"}}},{"properties":{"a":{"$ref":"#/definitions/n"}}}]}},
				"properties":{"A":{"$ref":"#/definitions/n"}}}`, map[string]any{"A": nestedValue(150)}, "too much to check",
		},
		{
			"doubling by $dynamicRef", `{` + draft2020 + `"$dynamicAnchor":"n","properties":{"a":{"anyOf":[{"$dynamicRef":"#n"},{"$dynamicRef":"#n"}]}},
				"patternProperties":{"^a":{"$dynamicRef":"#n"}},"additionalProperties":false}`,
			map[string]any{"a": nestedValue(150)},
			"$dynamicRef and $recursiveRef are not supported, at #/",
		},
		{
			"doubling by $recursiveRef", `{` + draft2019 + `"$recursiveAnchor":true,"properties":{"a":{"oneOf":[{"$recursiveRef":"#"},{"$recursiveRef":"#"}]}}}`,
			map[string]any{"a": nestedValue(150)},
			"$dynamicRef and $recursiveRef are not supported, at #/",
		},
		{
			"$recursiveRef from the side", `{` + draft2019 + `"properties":{"A":{"$ref":"tree#/$defs/x"}},"$defs":{"tree":{"$id":"tree","$recursiveAnchor":true,
				"$defs":{"x":{"properties":{"a":{"allOf":[{"$recursiveRef":"#"},{"$recursiveRef":"#"}]}}}}}}}`,
			map[string]any{"A": nestedValue(150)},
			"$dynamicRef and $recursiveRef are not supported, at #/",
		},
		{"deep but honest", `{"properties":{"A":{"$ref":"#/definitions/n"}},"definitions":{"n":{"properties":{"a":{"$ref":"#/definitions/n"}},"type":"object"}}}`, map[string]any{"A": nestedValue(150)}, "must be an object"},
		{
			"deep chains", `{"definitions":{` + repeated(190, ",", func(i int) string { return fmt.Sprintf(`"c%d":{"$ref":"#/definitions/c%d"}`, i, i+1) }) +
				`,"c190":{"properties":{"a":{"$ref":"#/definitions/c0"}},"type":"object"}},"properties":{"A":{"$ref":"#/definitions/c0"}}}`,
			map[string]any{"A": nestedValue(190)},
			"must be an object",
		},
		{
			"deep chains with $dynamicRef", `{` + draft2020 + `"$defs":{"leaf":{"$dynamicAnchor":"leaf"},"m":{"allOf":[` + repeated(1000, ",", func(int) string { return `{"$dynamicRef":"#leaf"}` }) + `]},` +
				repeated(100, ",", func(i int) string { return fmt.Sprintf(`"c%d":{"$ref":"#/$defs/c%d"}`, i, i+1) }) +
				`,"c100":{"$ref":"#/$defs/m","properties":{"a":{"$ref":"#/$defs/c0"}}}},"properties":{"A":{"$ref":"#/$defs/c0"}}}`,
			map[string]any{"A": nestedValue(190)},
			"$dynamicRef and $recursiveRef are not supported, at #/",
		},
		{"ref to data", `{"$ref":"#/default","default":{"allOf":[` + repeated(maxSubschemas, ",", func(int) string { return "{}" }) + `]}}`, nil, "subschemas, more than 3000"},
		{"ref to a list of definitions", `{"$ref":"#/$defs/0","$defs":[{"allOf":[` + repeated(maxSubschemas, ",", func(int) string { return "{}" }) + `]}]}`, nil, "subschemas, more than 3000"},
		{"many definitions that are none", `{"$defs":{` + repeated(maxSubschemas-1, ",", func(i int) string { return fmt.Sprintf(`"p%d":{"$id":"i%d"}`, i, i) }) + `}}`, nil, ""},
		{"long keys", `{"properties":{"` + strings.Repeat("x", 100_000) + `":{"properties":{` +
			repeated(maxSubschemas-3, ",", func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}}}}`, nil, "has more than 4096 bytes"},
		{"many required", `{"items":{},"additionalProperties":{"required":[` + repeated(19_000, ",", func(i int) string { return fmt.Sprintf(`"r%d"`, i) }) + `]}}`, map[string]any{"A": map[string]any{"x": 1}, "B": map[string]any{"x": 1}}, ""},
		{"many choices", `{"additionalProperties":{"enum":[` + repeated(19_000, ",", func(i int) string { return fmt.Sprintf(`"e%d"`, i) }) + `]}}`, manyKeys, "too much to check"},
		{"long pattern", `{"pattern":"` + strings.Repeat("a", 5000) + `"}`, nil, "longer than 4096 bytes"},
		{"pattern that repeats", `{"pattern":"` + strings.Repeat("a{1000}", 500) + `"}`, nil, "multiply to more than 10000 steps"},
		{"pattern that nests repetitions", `{"pattern":"((a{30}){30}){30}"}`, nil, "invalid repeat count"},
		{"pattern that repeats too often", `{"pattern":"a{1001}"}`, nil, "invalid repeat count"},
		{"pattern of many groups", `{"pattern":"` + strings.Repeat("(", 2000) + strings.Repeat(")", 2000) + `"}`, nil, "expression nests too deeply"},
		{"many patterns", `{"allOf":[` + repeated(2000, ",", func(i int) string { return fmt.Sprintf(`{"pattern":"a{900}%d"}`, i) }) + `]}`, nil, "all patterns together"},
		{"pattern on long text", `{"properties":{"A":{"pattern":"^(.?){900}$"}}}`, long, "too much to check"},
		{"format on long text", `{"properties":{"A":{"allOf":[{"format":"uri"},{"format":"regex"},{"format":"email"},{"format":"idn-email"},{"format":"hostname"},{"format":"ipv6"},{"format":"uri-template"}]}}}`, long, "must be"},
		{"long number", `{"properties":{"A":{"maximum":5,"multipleOf":3}}}`, map[string]any{"A": "1." + strings.Repeat("0", 1<<20)}, "multiple of 3"},
		{"everything unknown", `{"properties":{"KEY":{}},"additionalProperties":false}`, manyKeys, "is not allowed"},
		{
			"suggestions", `{"properties":{` + repeated(400, ",", func(i int) string { return fmt.Sprintf(`"KEI_%d":{}`, i) }) +
				`},"additionalProperties":false,"required":[` + repeated(5000, ",", func(i int) string { return fmt.Sprintf(`"KEZ_%d"`, i) }) + `]}`,
			manyKeys, `required key "KEZ_0" is missing`,
		},
		{"everything missing", `{"required":[` + repeated(10_000, ",", func(i int) string { return fmt.Sprintf(`"KEYS_%d"`, i) }) + `]}`, manyKeys, "is missing"},
	}
}

// Not parallel: it measures memory.
func TestSchemaNeverFallsOver(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in the program, whatever GOGC says
	for _, test := range expensive() {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			var messages []string
			schema, problems := Compile(test.schema, diag.Place{})
			for _, d := range problems {
				messages = append(messages, d.Message)
			}
			compiled := time.Since(start)
			if schema != nil {
				for _, v := range schema.Check(test.values) {
					messages = append(messages, v.Message)
				}
			}
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			// There is no time limit, which would depend on the machine: the timeout of the tests ends a check that hangs.
			t.Logf("%v to compile, %v in all, %d MB", compiled, took, (after.TotalAlloc-before.TotalAlloc)>>20)
			assert.Less(t, after.HeapSys-min(before.HeapSys, after.HeapSys), uint64(200<<20))
			if test.want != "" {
				require.NotEmpty(t, messages)
				assert.Contains(t, messages[0], test.want)
			}
		})
	}
}
