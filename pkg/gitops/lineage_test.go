package gitops

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func nth(n int) (id plumbing.Hash) {
	binary.BigEndian.PutUint32(id[:], uint32(n+1))
	return id
}

// randomLineage is a history of n commits, the last of which has all of the others. family says which ones each
// of them has, itself included.
func randomLineage(random *rand.Rand, n int) (links []link, family []map[int]bool) {
	for i := range n {
		c, mine := link{id: nth(i), when: 1_700_000_000 + random.Int64N(int64(n))}, map[int]bool{i: true}
		parents := map[int]bool{}
		for range random.IntN(3) {
			parents[max(0, i-1-random.IntN(5))] = true
		}
		if i == n-1 {
			for j := range i {
				parents[j] = true
			}
		}
		delete(parents, i)
		for parent := range parents {
			c.parents = append(c.parents, nth(parent))
			for ancestor := range family[parent] {
				mine[ancestor] = true
			}
		}
		links, family = append(links, c), append(family, mine)
	}
	random.Shuffle(n, func(i, j int) { links[i], links[j] = links[j], links[i] })
	return links, family
}

func wanted(family []map[int]bool, a, b int) Relation {
	switch {
	case a == b:
		return Same
	case family[b][a]:
		return Newer
	case family[a][b]:
		return Older
	default:
		return Apart
	}
}

// TestRelate compares all pairs of commits in random histories with what they were made as.
func TestRelate(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		n := 1 + random.IntN(40)
		links, family := randomLineage(random, n)
		l := newLineage()
		half := random.IntN(n)
		l.add(links[:half])
		l.add(links[half:])
		l.index(nth(n - 1))
		for a := range n {
			for b := range n {
				from, known := l.find(nth(a))
				require.True(t, known)
				to, _ := l.find(nth(b))
				relation, decided := l.relate(from, to)
				require.True(t, decided)
				require.Equal(t, wanted(family, a, b), relation, "seed %d: %d and %d", seed, a, b)
				found, decided := l.between(from, to, n)
				require.True(t, decided)
				assertBetween(t, l, found, func(i int) bool { return family[b][i] && !family[a][i] })
			}
		}
	}
}

func assertBetween(t *testing.T, l *lineage, found []plumbing.Hash, want func(int) bool) {
	t.Helper()
	at := map[plumbing.Hash]int{}
	for i, id := range found {
		at[id] = i
	}
	for i := range l.commits {
		_, is := at[nth(i)]
		require.Equal(t, want(i), is, i)
	}
	for _, id := range found {
		n, _ := l.find(id)
		for _, parent := range l.parentsOf(n) {
			if i, listed := at[l.commits[parent].id]; listed {
				require.Greater(t, i, at[id], "parents come after their children")
			}
		}
	}
}

// TestRelateWithLessHistory: what can be said of a history that is cut off is right, and the rest is left open.
func TestRelateWithLessHistory(t *testing.T) {
	t.Parallel()
	open, said := 0, 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 2))
		n := 3 + random.IntN(30)
		links, family := randomLineage(random, n)
		links = slices.DeleteFunc(links, func(c link) bool { return c.id != nth(n-1) && random.IntN(6) == 0 })
		l := newLineage()
		l.add(links)
		l.index(nth(n - 1))
		for a := range n {
			for b := range n {
				from, knowsA := l.find(nth(a))
				to, knowsB := l.find(nth(b))
				if !knowsA || !knowsB {
					continue
				}
				if relation, decided := l.relate(from, to); decided {
					said++
					require.Equal(t, wanted(family, a, b), relation, "seed %d: %d and %d", seed, a, b)
				} else {
					open++
				}
				if found, decided := l.between(from, to, n); decided {
					assertBetween(t, l, found, func(i int) bool { return family[b][i] && !family[a][i] })
				}
			}
		}
	}
	assert.Positive(t, open)
	assert.Greater(t, said, open)
}

func TestBeginning(t *testing.T) {
	t.Parallel()
	a, b := plumbing.NewHash("1234567890abcdef1234567890abcdef12345678"), plumbing.NewHash("1234567890abcdff1234567890abcdef12345678")
	off := plumbing.NewHash("1234567990abcdff1234567890abcdef12345678")
	l := newLineage()
	l.add([]link{{id: b, parents: []plumbing.Hash{a}}, {id: a}, {id: off}})
	l.index(b)
	assert.Equal(t, []plumbing.Hash{a, b}, l.beginning("1234567"))
	assert.Equal(t, []plumbing.Hash{a, b}, l.beginning("1234567890abcd"))
	assert.Equal(t, []plumbing.Hash{a}, l.beginning("1234567890abcde"))
	assert.Equal(t, []plumbing.Hash{b}, l.beginning("1234567890abcdf"))
	assert.Empty(t, l.beginning("1234568"))
	assert.Empty(t, l.beginning("12345679"), "it is not on the branch")
}

func TestParseLink(t *testing.T) {
	t.Parallel()
	tree, parent := "tree "+nth(1).String()+"\n", "parent "+nth(2).String()+"\n"
	who := "author A <a@example.com> 1700000000 +0000\ncommitter B <b@example.com> 1700000001 +0200\n"
	c, err := parseLink(nth(9), []byte(tree+parent+"parent "+nth(3).String()+"\n"+who+"gpgsig -----BEGIN\n parent "+nth(4).String()+"\n\nparent "+nth(5).String()+"\n"))
	require.NoError(t, err)
	assert.Equal(t, link{nth(9), []plumbing.Hash{nth(2), nth(3)}, 1_700_000_001}, c)
	for _, data := range []string{"", parent + who, tree + "parent 123\n" + who, tree + "parent \n"} {
		_, err := parseLink(nth(9), []byte(data))
		require.Error(t, err, data)
	}
	_, err = parseLink(nth(9), []byte(tree))
	assert.NoError(t, err)
}
