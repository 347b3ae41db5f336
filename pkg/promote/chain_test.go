package promote

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// environmentsOf makes environments of lines such as "dev: stage edge". The names that come after stand
// in columns of the line, in that of a file for each environment.
func environmentsOf(lines ...string) []*model.Environment {
	var environments []*model.Environment
	for _, line := range lines {
		name, rest, _ := strings.Cut(line, ":")
		file := &diag.File{Path: name + ".yaml"}
		e := &model.Environment{Object: model.Object{Name: model.Text{Value: name}}}
		if next := strings.Fields(rest); len(next) > 0 {
			e.Promotion = &model.Promotion{}
			for i, to := range next {
				e.Promotion.Next = append(e.Promotion.Next, model.Text{Value: to, At: diag.Place{File: file, Line: 1, Column: i + 1}})
			}
		}
		environments = append(environments, e)
	}
	return environments
}

func TestChain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environments []string
		order        string
	}{
		{nil, ""},
		{[]string{"dev"}, "dev"},
		{[]string{"dev: stage", "prod", "stage: prod"}, "dev stage prod"},
		{[]string{"a", "dev: stage", "stage", "z"}, "a dev stage z"},
		{[]string{"dev: west east", "west: all", "east: all", "all"}, "dev east west all"},
		{[]string{"qa: prod", "dev: prod", "prod"}, "dev qa prod"},
		{[]string{"dev: stage prod", "stage: prod", "prod"}, "dev stage prod"},
	} {
		t.Run(strings.Join(c.environments, "; "), func(t *testing.T) {
			t.Parallel()
			chain, diags := NewChain(environmentsOf(c.environments...))
			require.Empty(t, diags)
			assert.Equal(t, c.order, strings.Join(chain.Order(), " "))
		})
	}
}

func TestChainNeighbours(t *testing.T) {
	t.Parallel()
	chain, diags := NewChain(environmentsOf("dev: west east", "west: all", "east: all", "all", "alone"))
	require.Empty(t, diags)
	assert.Equal(t, []string{"west", "east"}, chain.Next("dev"), "as they are written")
	assert.Equal(t, []string{"east", "west"}, chain.Previous("all"), "in order of name")
	assert.Empty(t, chain.Next("all"))
	assert.Empty(t, chain.Previous("dev"))
	assert.Empty(t, chain.Next("alone"))
	assert.Empty(t, chain.Next("nowhere"))
	assert.Empty(t, chain.Previous("nowhere"))

	chain.Next("dev")[0], chain.Previous("all")[0], chain.Order()[0] = "x", "x", "x"
	assert.Equal(t, []string{"west", "east"}, chain.Next("dev"), "what is returned is the caller's own")
	assert.Equal(t, []string{"east", "west"}, chain.Previous("all"))
	assert.NotContains(t, chain.Order(), "x")
}

func TestChainErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environments []string
		want         []string
	}{
		{[]string{"dev: stge", "stage"}, []string{
			"dev.yaml:1:1: error: next environment \"stge\" of \"dev\" not found [promotion-unknown]\n    hint: did you mean \"stage\"?\n",
		}},
		{[]string{"dev: stage elsewhere", "stage"}, []string{
			"dev.yaml:1:2: error: next environment \"elsewhere\" of \"dev\" not found [promotion-unknown]\n    hint: one of dev, stage\n",
		}},
		{[]string{"dev: dev"}, []string{
			"dev.yaml:1:1: error: environments form a cycle: dev → dev [promotion-cycle]\n    hint: remove it\n",
		}},
		{[]string{"dev: stage prod stage", "stage", "prod"}, []string{
			"dev.yaml:1:3: error: next environment \"stage\" of \"dev\" is duplicated [promotion-twice]\n    dev.yaml:1:1: first named here\n    hint: remove one of them\n",
		}},
		{[]string{"dev: stage", "stage: dev"}, []string{
			"stage.yaml:1:1: error: environments form a cycle: dev → stage → dev [promotion-cycle]\n    hint: remove one of these steps\n",
		}},
		{[]string{"all: qa stage", "dev: stage", "qa", "stage: prod", "prod: qa dev"}, []string{
			"dev.yaml:1:1: error: environments form a cycle: stage → prod → dev → stage [promotion-cycle]\n    hint: remove one of these steps\n",
		}},
		{[]string{"a: b", "b: a", "x: y", "y: z", "z: y"}, []string{
			"b.yaml:1:1: error: environments form a cycle: a → b → a [promotion-cycle]\n    hint: remove one of these steps\n",
			"z.yaml:1:1: error: environments form a cycle: y → z → y [promotion-cycle]\n    hint: remove one of these steps\n",
		}},
		{[]string{"dev: stag stage", "stage: dev"}, []string{ // one run reports all of it
			"dev.yaml:1:1: error: next environment \"stag\" of \"dev\" not found [promotion-unknown]\n    hint: did you mean \"stage\"?\n",
			"stage.yaml:1:1: error: environments form a cycle: dev → stage → dev [promotion-cycle]\n    hint: remove one of these steps\n",
		}},
	} {
		t.Run(strings.Join(c.environments, "; "), func(t *testing.T) {
			t.Parallel()
			chain, diags := NewChain(environmentsOf(c.environments...))
			assert.Nil(t, chain)
			assert.Equal(t, c.want, told(diags))
		})
	}
}

// told spells diagnostics out as people see them.
func told(diags diag.List) []string {
	var list []string
	for _, d := range diags.Sorted() {
		list = append(list, diag.Format(d, diag.Style{}))
	}
	return list
}

func TestChainWith(t *testing.T) {
	t.Parallel()
	chain, diags := NewChain(environmentsOf("dev: stage", "stage: prod", "prod", "edge"))
	require.Empty(t, diags)

	other, err := chain.With("stage", []string{"edge", "prod", "edge"})
	require.NoError(t, err)
	assert.Equal(t, []string{"edge", "prod"}, other.Next("stage"), "each once")
	assert.Equal(t, []string{"stage"}, other.Previous("edge"))
	assert.Equal(t, []string{"dev", "stage", "edge", "prod"}, other.Order())

	end, err := other.With("dev", nil)
	require.NoError(t, err)
	assert.Empty(t, end.Next("dev"), "the chain ends there")
	assert.Empty(t, end.Previous("stage"))

	assert.Equal(t, []string{"prod"}, chain.Next("stage"), "the first chain stays as it was")
	assert.Empty(t, chain.Previous("edge"))

	for _, c := range []struct {
		name string
		next []string
		want string
	}{
		{"dve", nil, `environment "dve" not found (did you mean "dev"?)`},
		{"dev", []string{"stage", "prd"}, `environment "prd" not found (did you mean "prod"?)`},
		{"dev", []string{"elsewhere"}, `environment "elsewhere" not found (one of dev, edge, prod, stage)`},
		{"prod", []string{"edge", "dev"}, `with "edge", "dev" after "prod" environments would form a cycle: dev → stage → prod → dev`},
		{"edge", []string{"edge"}, `with "edge" after "edge" environments would form a cycle: edge → edge`},
	} {
		refused, err := chain.With(c.name, c.next)
		assert.Nil(t, refused)
		require.EqualError(t, err, c.want)
	}
}

// Whatever the environments say, either there is an order in which each comes after those before it, or a
// cycle is reported that really is one; and it does not matter in which order they come.
func TestChainOfRandomGraphs(t *testing.T) {
	t.Parallel()
	ordered, circular := 0, 0
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 5))
		edges := randomEdges(random)
		lines := graphLines(random, edges)
		chain, diags := NewChain(environmentsOf(lines...))
		shuffled, again := NewChain(environmentsOf(graphLines(random, edges)...))
		if chain == nil {
			circular++
			require.Nil(t, shuffled)
			require.Equal(t, messages(diags), messages(again))
			requireCycles(t, edges, diags)
			continue
		}
		ordered++
		require.Empty(t, diags)
		require.Equal(t, chain.Order(), shuffled.Order())
		requireOrder(t, edges, chain)
	}
	assert.Greater(t, ordered, 200)
	assert.Greater(t, circular, 200)
}

// randomEdges is a graph of up to eight environments, sparse enough that half of them have no cycle.
func randomEdges(random *rand.Rand) map[string][]string {
	edges := map[string][]string{}
	n := 1 + random.IntN(8)
	for from := range n {
		name := string(rune('a' + from))
		edges[name] = nil
		for to := range n {
			if to != from && random.IntN(n+1) == 0 {
				edges[name] = append(edges[name], string(rune('a'+to)))
			}
		}
	}
	return edges
}

// graphLines writes a graph for environmentsOf in any order.
func graphLines(random *rand.Rand, edges map[string][]string) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(edges)) {
		next := slices.Clone(edges[name])
		random.Shuffle(len(next), func(i, j int) { next[i], next[j] = next[j], next[i] })
		lines = append(lines, name+": "+strings.Join(next, " "))
	}
	random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return lines
}

// messages leaves out the columns, which differ.
func messages(diags diag.List) []string {
	var list []string
	for _, d := range diags {
		list = append(list, fmt.Sprintf("%s %s", d.At.File.Path, d.Message))
	}
	return list
}

func requireOrder(t *testing.T, edges map[string][]string, chain *Chain) {
	t.Helper()
	order := chain.Order()
	require.ElementsMatch(t, slices.Collect(maps.Keys(edges)), order)
	for from, next := range edges {
		require.ElementsMatch(t, next, chain.Next(from))
		for _, to := range next {
			require.Less(t, slices.Index(order, from), slices.Index(order, to))
			require.Contains(t, chain.Previous(to), from)
		}
	}
}

// requireCycles checks that each cycle is one, stands at the entry that closes it, and is told once.
func requireCycles(t *testing.T, edges map[string][]string, diags diag.List) {
	t.Helper()
	require.NotEmpty(t, diags)
	require.Len(t, diags.Sorted(), len(diags))
	for _, d := range diags {
		require.Equal(t, "promotion-cycle", d.Rule)
		_, text, _ := strings.Cut(d.Message, ": ")
		way := strings.Split(text, " → ")
		require.Equal(t, way[0], way[len(way)-1])
		for i, from := range way[:len(way)-1] {
			require.Contains(t, edges[from], way[i+1])
			require.NotContains(t, way[:i], from)
		}
		require.Equal(t, way[len(way)-2]+".yaml", d.At.File.Path)
	}
}

// Environments that all come after each other do not exhaust the machine.
func TestChainOfCompleteGraph(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprintf("e%03d", i))
	}
	var lines []string
	for _, name := range names {
		others := slices.DeleteFunc(slices.Clone(names), func(other string) bool { return other == name })
		lines = append(lines, name+": "+strings.Join(others, " "))
	}
	chain, diags := NewChain(environmentsOf(lines...))
	assert.Nil(t, chain)
	assert.Len(t, diags, 20)
}
