package jsonschema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// The count is an upper bound of the work of the library: how often a subschema evaluates a value, counted in random
// schemas with random values.
func TestSchemaPlanBoundsTheWork(t *testing.T) {
	t.Parallel()
	tries := share(150, 400)
	compiled, most := 0, 0
	for seed := range uint64(tries) {
		random := schemaGenerator{rand.New(rand.NewPCG(seed, 1))}
		text, err := json.Marshal(random.document())
		require.NoError(t, err)
		schema, problems := Compile(string(text), diag.Place{})
		if problems.HasErrors() {
			continue
		}
		compiled++
		evaluations := countEvaluations(schema)
		for range 3 {
			root, faults := convertAll(random.object(4))
			require.Empty(t, faults)
			var bound counter
			if !bound.add(schema.graph.root, root) {
				continue
			}
			*evaluations = 0
			_ = schema.root.Validate(root)
			require.LessOrEqual(t, *evaluations, bound.steps, "%s\n%v", text, root)
			most = max(most, *evaluations)
		}
	}
	assert.Greater(t, compiled, tries/4, "the generator makes too few schemas that compile")
	assert.Greater(t, most, 500, "the generator makes no schemas that cost anything")
}

// countEvaluations counts how often the library evaluates a subschema: a format is checked before everything but type,
// const and enum, which the generator does not use.
func countEvaluations(schema *Schema) *int {
	count := new(int)
	for _, p := range schema.graph.parts {
		p.Format = &jsonschema.Format{Name: "count", Validate: func(any) error {
			*count++
			return nil
		}}
	}
	return count
}

// schemaGenerator generates random schemas with many references, and values for them.
type schemaGenerator struct{ *rand.Rand }

func (g schemaGenerator) document() map[string]any {
	definitions := map[string]any{}
	for i := range 4 {
		definitions[fmt.Sprintf("d%d", i)] = g.schema(3)
	}
	doc := g.schema(3)
	drafts := drafts[:]
	doc["$schema"] = drafts[g.IntN(len(drafts))]
	doc["definitions"] = definitions
	return doc
}

func (g schemaGenerator) schema(depth int) map[string]any {
	schema := map[string]any{}
	for range 1 + g.IntN(3) {
		keyword, value := g.keyword(depth)
		schema[keyword] = value
	}
	return schema
}

func (g schemaGenerator) keyword(depth int) (string, any) {
	if depth == 0 {
		return g.leaf()
	}
	sub := func() any { return g.schema(depth - 1) }
	list := func() any { return []any{sub(), sub()} }
	byName := func() any { return map[string]any{"a": sub(), "b": sub()} }
	switch g.IntN(12) {
	case 0:
		return "allOf", list()
	case 1:
		return "anyOf", list()
	case 2:
		return "oneOf", list()
	case 3:
		return "properties", byName()
	case 4:
		return "patternProperties", map[string]any{"a": sub(), ".": sub()}
	case 5:
		return "items", sub()
	case 6:
		single := []string{
			"additionalProperties", "contains", "propertyNames", "if", "then", "else", "not", "additionalItems",
			"unevaluatedProperties", "unevaluatedItems",
		}
		return single[g.IntN(len(single))], sub()
	case 7:
		return "prefixItems", list()
	case 8:
		return "dependencies", byName()
	case 9:
		return "dependentSchemas", byName()
	default:
		return g.leaf()
	}
}

func (g schemaGenerator) leaf() (string, any) {
	switch g.IntN(6) {
	case 0, 1, 2, 3:
		return "$ref", fmt.Sprintf("#/definitions/d%d", g.IntN(4))
	case 4:
		return "required", []string{"a"}
	default:
		return "minimum", g.IntN(3)
	}
}

func (g schemaGenerator) object(depth int) map[string]any {
	object := map[string]any{}
	for _, key := range []string{"a", "b", "c"} {
		if g.IntN(4) > 0 {
			object[key] = g.value(depth - 1)
		}
	}
	return object
}

func (g schemaGenerator) value(depth int) any {
	if depth == 0 {
		return g.IntN(3)
	}
	switch g.IntN(4) {
	case 0:
		return []any{g.value(depth - 1), g.value(depth - 1)}
	case 1:
		return "ab"
	default:
		return g.object(depth)
	}
}
