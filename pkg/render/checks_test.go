package render

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/kalypso-gitops/kalypso/pkg/render/jsonschema"
	"github.com/kalypso-gitops/kalypso/pkg/render/rendertest"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// localSchemaGenerator makes schemas most of which look at some keys alone.
type localSchemaGenerator struct{ *rand.Rand }

func (g localSchemaGenerator) name() string { return []string{"A", "B", "C", "D"}[g.IntN(4)] }

// document is a schema; about one in three says what other keys may be there.
func (g localSchemaGenerator) document() map[string]any {
	doc := g.schema(2)
	drafts := []string{
		"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
	}
	doc["$schema"] = drafts[g.IntN(len(drafts))]
	doc["definitions"] = map[string]any{"d": g.schema(1), "e": g.leaf()}
	switch g.IntN(6) {
	case 0:
		doc["additionalProperties"] = false
	case 1:
		doc["additionalProperties"] = g.IntN(2) == 0
	case 2:
		doc["type"] = "object"
	}
	return doc
}

// schema is one for the whole of the values.
func (g localSchemaGenerator) schema(depth int) map[string]any {
	schema := map[string]any{}
	for range 1 + g.IntN(3) {
		g.addKeyword(schema, depth)
	}
	return schema
}

func (g localSchemaGenerator) addKeyword(schema map[string]any, depth int) {
	if depth == 0 {
		schema["required"] = []string{g.name()}
		return
	}
	sub := func() any { return g.schema(depth - 1) }
	switch g.IntN(14) {
	case 0:
		schema["allOf"] = []any{sub(), sub()}
	case 1:
		schema["anyOf"] = []any{sub(), sub()}
	case 2:
		schema["oneOf"] = []any{sub(), sub()}
	case 3:
		schema["if"], schema["then"], schema["else"] = sub(), sub(), sub()
	case 4:
		schema["not"] = sub()
	case 5:
		schema["dependentRequired"] = map[string]any{g.name(): []string{g.name()}}
	case 6:
		schema["dependencies"] = map[string]any{g.name(): []string{g.name()}, g.name(): sub()}
	case 7:
		schema["dependentSchemas"] = map[string]any{g.name(): sub()}
	case 8:
		schema["$ref"] = "#/definitions/" + []string{"d", "e"}[g.IntN(2)]
	case 9:
		g.addGlobalKeyword(schema)
	default:
		schema["properties"] = map[string]any{g.name(): g.leaf(), g.name(): g.leaf()}
	}
}

// addGlobalKeyword adds one that looks at keys whatever they are called.
func (g localSchemaGenerator) addGlobalKeyword(schema map[string]any) {
	switch g.IntN(9) {
	case 0:
		schema["patternProperties"] = map[string]any{"[AZ]": g.leaf()}
	case 1:
		schema["propertyNames"] = map[string]any{"maxLength": 1}
	case 2:
		schema["minProperties"] = g.IntN(4)
	case 3:
		schema["maxProperties"] = g.IntN(6)
	case 4:
		schema["unevaluatedProperties"] = false
	case 5:
		schema["additionalProperties"] = g.leaf()
	case 6:
		schema["enum"] = []any{map[string]any{"A": 1}, map[string]any{"A": 1, "B": 2}}
	case 7:
		schema["const"] = map[string]any{"A": 1}
	default:
		schema["additionalProperties"] = false
	}
}

// leaf is a schema for one value.
func (g localSchemaGenerator) leaf() map[string]any {
	switch g.IntN(7) {
	case 0:
		return map[string]any{"type": "number", "minimum": g.IntN(4)}
	case 1:
		return map[string]any{"type": []string{"string", "object"}}
	case 2:
		return map[string]any{"enum": []any{1, "x", "y"}}
	case 3:
		return map[string]any{"properties": map[string]any{"A": g.schema(0)}, "additionalProperties": g.IntN(2) == 0}
	case 4:
		return map[string]any{"not": map[string]any{"const": "x"}}
	case 5:
		return map[string]any{"minProperties": 1, "maxLength": 3}
	default:
		return map[string]any{}
	}
}

func (g localSchemaGenerator) config() map[string]string {
	texts := []string{"1", "2", "3.5", "x", "y", "long text", "{A: 1}", "{A: {A: 1}, B: 2}", "[1, 2]", "{1: a}", "{a: .inf}", "", "null"}
	config := map[string]string{}
	for range g.IntN(5) {
		config[[]string{"A", "B", "C", "D", "E", "Z"}[g.IntN(6)]] = texts[g.IntN(len(texts))]
	}
	return config
}

// What is remembered of a few keys is what a check of all values says.
func TestChecksOfSomeKeysAreChecksOfAll(t *testing.T) {
	t.Parallel()
	if rendertest.RaceDetector {
		t.Skip("nothing here is done at once")
	}
	g := localSchemaGenerator{rand.New(rand.NewPCG(6, 6))}
	locals, passed, failed := 0, 0, 0
	rounds := share(500, 1500)
	for range rounds {
		text, err := json.Marshal(g.document())
		require.NoError(t, err)
		schema, problems := jsonschema.Compile(string(text), diag.Place{})
		if len(problems) > 0 {
			continue
		}
		if _, _, local := schema.Keys(); local {
			locals++
		}
		fleet := &model.Fleet{}
		written := &model.ConfigSchema{}
		written.Schema.Value = string(text)
		fleet.ConfigSchemas = []*model.ConfigSchema{written}
		checks, _ := config.NewSchemas(fleet)
		c := rendertest.Configured(g.config(), g.config(), g.config(), map[string]string{})
		a := &schedule.Assignment{ClusterType: &model.ClusterType{}, Target: &model.DeploymentTarget{}}
		for _, chosen := range [][]int{{0}, {0, 1}, {1}, {0, 1, 2}, {2}, {3}, {1, 2}, {0}} {
			values := c.Combine(chosen)
			want := schema.Check(values.Data())
			got := checks.Check(a, values)
			require.Len(t, got, len(want), "%s\n%v", text, values.Data())
			for i := range want {
				require.Contains(t, got[i].Message, want[i].Message)
			}
			if len(want) == 0 {
				passed++
			} else {
				failed++
			}
		}
	}
	assert.Greater(t, locals, rounds/3)
	assert.Greater(t, passed, rounds*2/3)
	assert.Greater(t, failed, rounds*2/3)
}
