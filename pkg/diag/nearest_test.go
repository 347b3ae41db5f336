package diag

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	fields := []string{"labels", "matchExpressions", "matchLabels", "name", "namespace", "reconciler", "spec", "type"}
	for _, c := range []struct {
		name, near string
	}{
		{"label", "labels"},
		{"lables", "labels"}, // two neighbours swapped count once
		{"Labels", "labels"}, // only the case differs
		{"MATCHLABELS", "matchLabels"},
		{"matchLabel", "matchLabels"},
		{"matchExpression", "matchExpressions"},
		{"nmae", "name"},
		{"nane", "name"},
		{"names", "name"},
		{"namspace", "namespace"},
		{"reconcilerr", "reconciler"},
		{"spce", "spec"},
		{"tpye", "type"},
		{"name", "name"},
		{"abcdef", ""},  // nothing is near
		{"nm", ""},      // of two letters none may differ
		{"typ", "type"}, // of three one may
		{"tixx", ""},    // of four two may not
		{"reconXXXX", ""},
		{"", ""},
		{"näme", "name"},
		{strings.Repeat("x", 1000), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.near, Nearest(c.name, fields))
		})
	}
	assert.Empty(t, Nearest("name", nil))
	assert.Equal(t, "cat", Nearest("bat", []string{"cat", "hat"}), "ties go to the first")
	assert.Equal(t, "hat", Nearest("bat", []string{"hat", "cat"}), "ties go to the first")
	assert.Equal(t, "store", Nearest("stor", []string{"stars", "store"}), "the nearer one wins over the first")
	assert.Equal(t, "Store", Nearest("store", []string{"stores", "Store"}), "another case is nearest of all")
}

// A name of the size of a whole file must not cost minutes.
func TestNearestOfHugeNames(t *testing.T) {
	t.Parallel()
	start := time.Now()
	huge := strings.Repeat("ab", 1<<20)
	assert.Empty(t, Nearest(huge, []string{huge[1:], "name"}))
	assert.Less(t, time.Since(start), time.Second)
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"abc", "abc", 0},
		{"abc", "abd", 1},
		{"abc", "acb", 1},
		{"abc", "ab", 1},
		{"abc", "abcd", 1},
		{"kitten", "sitting", 3},
		{"ca", "abc", 3},
		{"abcdef", "badcfe", 3},
	} {
		assert.Equal(t, c.want, distance([]rune(c.a), []rune(c.b), 100), "%q to %q", c.a, c.b)
		assert.Equal(t, c.want, distance([]rune(c.b), []rune(c.a), 100), "it is the same both ways")
		assert.Equal(t, min(c.want, 2), distance([]rune(c.a), []rune(c.b), 2), "%q to %q, at most 2", c.a, c.b)
	}
}

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	many := strings.Split("alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike", " ")
	assert.Equal(t, `did you mean "delta"?`, DidYouMean("dleta", many))
	assert.Equal(t, "one of "+strings.Join(many[:12], ", "), DidYouMean("zulu", many[:12]))
	assert.Empty(t, DidYouMean("zulu", many), "a long list helps nobody")
	assert.Empty(t, DidYouMean("zulu", nil))
}
