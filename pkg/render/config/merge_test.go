package config

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, earlier, later, want string }{
		{"strings", "a", "b", "b"},
		{"maps", "{a: 1, b: 1}", "{b: 2, c: 2}", "{a: 1, b: 2, c: 2}"},
		{"maps in maps", "{a: {b: {c: 1, d: 1}}}", "{a: {b: {d: 2}, e: 2}}", "{a: {b: {c: 1, d: 2}, e: 2}}"},
		{"an empty map takes nothing away", "{a: 1}", "{}", "{a: 1}"},
		{"null is a value", "{a: 1}", "{a: null}", "{a: null}"},
		{"false is a value", "{a: true}", "{a: false}", "{a: false}"},
		{"a map over a string", "text", "{a: 1}", "{a: 1}"},
		{"a string over a map", "{a: 1}", "text", "text"},
		{"a list over a map", "{a: 1}", "[a]", "[a]"},
		{"a map over a list", "[a]", "{a: 1}", "{a: 1}"},
		{"another type inside", "{a: [1]}", "{a: {b: 1}}", "{a: {b: 1}}"},
		{"a number over a string", `{a: "1"}`, "{a: 1}", "{a: 1}"},
		{"lists append", "[a, b]", "[c, a]", "[a, b, c, a]"},
		{"lists in maps append", "{a: [1]}", "{a: [1, 2]}", "{a: [1, 1, 2]}"},
		{"lists in lists append", "[[a]]", "[[a]]", "[[a], [a]]"},
		{"an empty list takes nothing away", "[a]", "[]", "[a]"},
		{"items with one name", "[{name: x, a: 1}, {name: w}]", "[{name: x, b: 2}]", "[{name: x, a: 1, b: 2}, {name: w}]"},
		{"new items come last", "[{name: x}]", "[{name: z}, {name: w}]", "[{name: x}, {name: z}, {name: w}]"},
		{"all items of one name", "[{name: x, a: 1}, {name: x, a: 2}]", "[{name: x, a: 3}]", "[{name: x, a: 3}, {name: x, a: 3}]"},
		{"an item added in the same pass", "[{name: w}]", "[{name: x, a: 1}, {name: x, b: 2}]", "[{name: w}, {name: x, a: 1, b: 2}]"},
		{"lists of items merge deeply", "[{name: x, env: [{name: A, value: 1}]}]", "[{name: x, env: [{name: A, value: 2}, {name: B}]}]", "[{name: x, env: [{name: A, value: 2}, {name: B}]}]"},
		{"a number is not a string", "[{name: 1, a: 1}]", `[{name: "1", a: 2}]`, `[{name: 1, a: 1}, {name: "1", a: 2}]`},
		{"numbers may be names", "[{name: 1, a: 1}]", "[{name: 1, a: 2}]", "[{name: 1, a: 2}]"},
		{"items without a name append", "[{a: 1}]", "[{a: 2}]", "[{a: 1}, {a: 2}]"},
		{"null is no name", "[{name: null, a: 1}]", "[{name: null, a: 2}]", "[{name: null, a: 1}, {name: null, a: 2}]"},
		{"maps and others in one list", "[a, {name: x}]", "[{name: x, b: 1}, a]", "[a, {name: x, b: 1}, a]"},
		{"keys that are no strings", "{1: a, x: b}", "{1: c, v: d}", "{1: c, x: b, v: d}"},
		{"some keys are no strings", "{x: b}", "{1: c}", "{1: c, x: b}"},
		{"then all are", "{1: c}", "{x: b}", "{1: c, x: b}"},
		{"items with keys that are no strings", "[{name: x, 1: a}]", "[{name: x, 1: b, c: d}]", "[{name: x, 1: b, c: d}]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			earlier, _ := parseConfigValue(test.earlier)
			later, _ := parseConfigValue(test.later)
			want, _ := parseConfigValue(test.want)
			assert.Equal(t, want, merge(earlier, later))
		})
	}
}

// randomValue returns values with few different keys and names, so that most of two values merges.
func randomValue(random *rand.Rand, depth int) any {
	names := []any{"x", "y", 1, nil}
	switch choice := random.IntN(5); {
	case depth == 0 || choice == 0:
		return names[random.IntN(len(names))]
	case choice == 1:
		list := []any{}
		for range random.IntN(4) {
			list = append(list, randomValue(random, depth-1))
		}
		return list
	case choice == 2:
		return map[any]any{true: randomValue(random, depth-1), "a": randomValue(random, depth-1)}
	default:
		m := map[string]any{}
		for _, key := range []string{"a", "b"} {
			if random.IntN(2) == 0 {
				m[key] = randomValue(random, depth-1)
			}
		}
		if random.IntN(2) == 0 {
			m["name"] = names[random.IntN(len(names))]
		}
		return m
	}
}

// The values that are merged are shared by all assignments: merging never changes them.
func TestMergeChangesNeitherArgument(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		fresh := func() (earlier, later, last any) {
			random := rand.New(rand.NewPCG(seed, 5))
			return randomValue(random, 4), randomValue(random, 4), randomValue(random, 4)
		}
		earlier, later, last := fresh()
		merged := merge(earlier, later)
		merge(merged, last)
		wasEarlier, wasLater, wasLast := fresh()
		require.Equal(t, wasEarlier, earlier)
		require.Equal(t, wasLater, later)
		require.Equal(t, wasLast, last)
		require.Equal(t, merge(wasEarlier, wasLater), merged, "a later merge changed the result of an earlier one")
	}
}

// Merging many values at once has the same result as merging them one by one, and changes none of them.
func TestMergerIsMerge(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		fresh := func() []any {
			random := rand.New(rand.NewPCG(seed, 6))
			values := make([]any, 2+random.IntN(6))
			for i := range values {
				values[i] = randomValue(random, 3)
			}
			return values
		}
		values := fresh()
		all, want := merger{value: values[0]}, fresh()[0]
		for i, value := range values[1:] {
			all.add(value)
			want = merge(want, fresh()[i+1])
		}
		require.Equal(t, want, all.value)
		require.Equal(t, fresh(), values)
	}
}

// FuzzMerge: whatever is merged, the later value is in the result, and neither argument changes.
func FuzzMerge(f *testing.F) {
	f.Add("{a: 1, b: [x]}", "{a: 2, b: [y]}")
	f.Add("[{name: x, a: 1}]", "[{name: x, a: {b: 1}}, {name: x}]")
	f.Add("{1: a}", "{b: [[], {}]}")
	f.Add("text", "- a")
	f.Fuzz(func(t *testing.T, earlierText, laterText string) {
		earlier, _ := parseConfigValue(earlierText)
		later, _ := parseConfigValue(laterText)
		merged := merge(earlier, later)
		wasEarlier, _ := parseConfigValue(earlierText)
		wasLater, _ := parseConfigValue(laterText)
		require.Equal(t, shown(wasEarlier), shown(earlier))
		require.Equal(t, shown(wasLater), shown(later))
		require.Equal(t, shown(merged), shown(merge(earlier, later)))
		requireMerged(t, earlier, later, merged)
	})
}

// shown writes a value with its types, so that NaN equals itself.
func shown(value any) string { return fmt.Sprintf("%#v", value) }

// requireMerged checks the invariants of merging two values.
func requireMerged(t *testing.T, earlier, later, merged any) {
	t.Helper()
	switch later := later.(type) {
	case map[string]any:
		below, isMap := earlier.(map[string]any)
		if !isMap {
			return
		}
		for key, value := range merged.(map[string]any) {
			above, inLater := later[key]
			before, inEarlier := below[key]
			switch {
			case inLater && inEarlier:
				requireMerged(t, before, above, value)
			case inLater:
				require.Equal(t, shown(above), shown(value))
			default:
				require.True(t, inEarlier)
				require.Equal(t, shown(before), shown(value))
			}
		}
		require.Len(t, merged, len(below)+len(later)-common(below, later))
	case []any:
		below, isList := earlier.([]any)
		if !isList {
			require.Equal(t, shown(later), shown(merged))
			return
		}
		list := merged.([]any)
		require.GreaterOrEqual(t, len(list), len(below))
		require.LessOrEqual(t, len(list), len(below)+len(later))
	case string:
		require.Equal(t, later, merged)
	}
}

func common(a, b map[string]any) int {
	n := 0
	for key := range a {
		if _, ok := b[key]; ok {
			n++
		}
	}
	return n
}
