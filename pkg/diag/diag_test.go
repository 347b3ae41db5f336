package diag

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSeverityWords(t *testing.T) {
	t.Parallel()
	words := map[Severity]string{Notice: "notice", Warning: "warning", Error: "error"}
	for severity, word := range words {
		assert.Equal(t, word, severity.String())
		text, err := json.Marshal(severity)
		require.NoError(t, err)
		assert.Equal(t, `"`+word+`"`, string(text))
	}
}

func TestListCollects(t *testing.T) {
	t.Parallel()
	at, elsewhere := Place{File: &File{Path: "a.yaml"}, Line: 1}, Place{File: &File{Path: "b.yaml"}, Line: 2}
	var list List
	assert.False(t, list.HasErrors())
	assert.Empty(t, list.Summary())
	list.Notice("n", at, "a notice")
	list.Warning("w", at, "a warning", Hint("do this"))
	assert.False(t, list.HasErrors(), "warnings stop nothing")
	var more List
	more.Error("e", at, "an error", See(elsewhere, "first here"), See(at, "then here"))
	list.Add(more)

	assert.True(t, list.HasErrors())
	assert.Equal(t, List{
		{Severity: Notice, Rule: "n", At: at, Message: "a notice"},
		{Severity: Warning, Rule: "w", At: at, Message: "a warning", Hint: "do this"},
		{Severity: Error, Rule: "e", At: at, Message: "an error", Related: []Related{{elsewhere, "first here"}, {at, "then here"}}},
	}, list)
	assert.Equal(t, "1 error, 1 warning", list.Summary())
	list.Add(more)
	assert.Equal(t, "2 errors, 1 warning", list.Summary())
	assert.Equal(t, 2, list.Count(Error))
	assert.Equal(t, 1, list.Count(Notice))
}

// The list as it is shown: by place, errors first, then by rule and text; nowhere comes last.
func TestSortedOrder(t *testing.T) {
	t.Parallel()
	a, b := Place{File: &File{Path: "a.yaml"}, Line: 7}, Place{File: &File{Path: "b.yaml"}, Line: 1}
	want := List{
		{Severity: Error, Rule: "x", At: a, Message: "one"},
		{Severity: Error, Rule: "y", At: a, Message: "one"},
		{Severity: Error, Rule: "y", At: a, Message: "two"},
		{Severity: Error, Rule: "y", At: a, Message: "two", Hint: "hint"},
		{Severity: Error, Rule: "y", At: a, Message: "two", Hint: "hint", Related: []Related{{At: a}}},
		{Severity: Error, Rule: "y", At: a, Message: "two", Hint: "hint", Related: []Related{{At: b}}},
		{Severity: Warning, Rule: "a", At: a, Message: "a"},
		{Severity: Notice, Rule: "a", At: a, Message: "a"},
		{Severity: Notice, Rule: "a", At: b, Message: "a"},
		{Severity: Error, Rule: "a", Message: "of the run as a whole"},
	}
	shuffled := slices.Clone(want)
	slices.Reverse(shuffled)
	assert.Equal(t, want, shuffled.Sorted())
}

// randomList draws from few values, so that there are many repeats and near repeats.
func randomList(random *rand.Rand, n int) List {
	place := func() Place {
		if random.IntN(5) == 0 {
			return Place{}
		}
		file := &File{Repo: pick(random, "r", "s"), Branch: pick(random, "", "main"), Path: pick(random, "a", "b")}
		return Place{File: file, Line: random.IntN(3), Column: random.IntN(2)}
	}
	list := make(List, n)
	for i := range list {
		list[i] = Diagnostic{
			Severity: Severity(random.IntN(3)), Rule: pick(random, "x", "y"), At: place(),
			Message: pick(random, "m", "n"), Hint: pick(random, "", "h"),
		}
		for range random.IntN(2) {
			list[i].Related = append(list[i].Related, Related{place(), pick(random, "p", "q")})
		}
	}
	return list
}

func pick(random *rand.Rand, of ...string) string { return of[random.IntN(len(of))] }

func TestSortedProperties(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		list := randomList(random, 60)
		before := slices.Clone(list)
		sorted := list.Sorted()
		require.Equal(t, before, list, "sorting leaves the list alone")
		require.Equal(t, sorted, sorted.Sorted(), "sorting twice changes nothing")

		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		require.Equal(t, texts(sorted), texts(list.Sorted()), "the order they came in does not matter")
		require.Equal(t, texts(sorted), texts(slices.Concat(list, list).Sorted()), "each is shown once")
		for _, d := range list {
			require.True(t, slices.ContainsFunc(sorted, func(s Diagnostic) bool { return compare(s, d) == 0 }), "none is lost")
		}
	}
}

// texts spells diagnostics out: two that look alike may point to different File values.
func texts(list List) []string {
	texts := make([]string, len(list))
	for i, d := range list {
		texts[i] = Format(d, Style{}) + fmt.Sprint(d.Severity, d.At.Line, d.At.Column)
	}
	return texts
}

func TestCompareIsAnOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	list := randomList(random, 90)
	for _, a := range list {
		require.Zero(t, compare(a, a))
		for _, b := range list {
			require.Equal(t, compare(a, b), -compare(b, a))
			for _, c := range list {
				if compare(a, b) <= 0 && compare(b, c) <= 0 {
					require.LessOrEqual(t, compare(a, c), 0)
				}
			}
		}
	}
}
