package gitobject

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func nth(n int) (id plumbing.Hash) {
	binary.BigEndian.PutUint32(id[:], uint32(n+1))
	return id
}

// randomGraph is a history of n commits, the last of which has all of the others. family says which ones each
// of them has, itself included.
func randomGraph(random *rand.Rand, n int) (graph Graph, family []map[int]bool) {
	graph = Graph{}
	for i := range n {
		c, mine := CommitObject{}, map[int]bool{i: true}
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
			c.Parents = append(c.Parents, nth(parent))
			for ancestor := range family[parent] {
				mine[ancestor] = true
			}
		}
		graph[nth(i)], family = c, append(family, mine)
	}
	return graph, family
}

func madeRelation(family []map[int]bool, a, b int) Relation {
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
		graph, family := randomGraph(random, n)
		for a := range n {
			for b := range n {
				relation, decided := graph.Relate(nth(a), nth(b))
				require.True(t, decided)
				require.Equal(t, madeRelation(family, a, b), relation, "seed %d: %d and %d", seed, a, b)
				beyond := graph.Without(nth(b), nth(a))
				for i := range n {
					_, is := beyond[nth(i)]
					require.Equal(t, family[b][i] && !family[a][i], is, "seed %d: %d and %d, %d", seed, a, b, i)
				}
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
		graph, family := randomGraph(random, n)
		for i := range n - 1 {
			if random.IntN(6) == 0 {
				delete(graph, nth(i))
			}
		}
		onBranch, _ := graph.Reach(nth(n - 1))
		for a := range n {
			for b := range n {
				if !onBranch[nth(a)] || !onBranch[nth(b)] {
					continue
				}
				if relation, decided := graph.Relate(nth(a), nth(b)); decided {
					said++
					require.Equal(t, madeRelation(family, a, b), relation, "seed %d: %d and %d", seed, a, b)
				} else {
					open++
				}
			}
		}
	}
	assert.Positive(t, open)
	assert.Greater(t, said, open)
}

func TestWithPrefix(t *testing.T) {
	t.Parallel()
	a, b := plumbing.NewHash("1234567890abcdef1234567890abcdef12345678"), plumbing.NewHash("1234567890abcdff1234567890abcdef12345678")
	ids := map[plumbing.Hash]bool{a: true, b: true}
	assert.Equal(t, []plumbing.Hash{a, b}, WithPrefix(ids, "1234567"))
	assert.Equal(t, []plumbing.Hash{a}, WithPrefix(ids, "1234567890abcde"))
	assert.Equal(t, []plumbing.Hash{b}, WithPrefix(ids, "1234567890abcdf"))
	assert.Empty(t, WithPrefix(ids, "1234568"))
}

func TestParseCommit(t *testing.T) {
	t.Parallel()
	tree, parent := "tree "+nth(1).String()+"\n", "parent "+nth(2).String()+"\n"
	who := "author A <a@example.com> 1700000000 +0000\ncommitter B <b@example.com> 1700000001 +0200\n"
	c, err := ParseCommit([]byte(tree + parent + "parent " + nth(3).String() + "\n" + who + "gpgsig -----BEGIN\n parent " + nth(4).String() + "\n\nparent " + nth(5).String() + "\n"))
	require.NoError(t, err)
	assert.Equal(t, []plumbing.Hash{nth(2), nth(3)}, c.Parents)
	assert.EqualValues(t, 1_700_000_001, c.When.Unix())
	for _, data := range []string{"", parent + who, tree + "parent 123\n" + who, tree + "parent \n"} {
		_, err := ParseCommit([]byte(data))
		require.Error(t, err, data)
	}
	_, err = ParseCommit([]byte(tree))
	assert.NoError(t, err)
}

// BenchmarkRelation asks for the relation of the first and the last of 100,000 commits.
func BenchmarkRelation(b *testing.B) {
	graph := Graph{}
	const n = 100_000
	for i := range n {
		graph[nth(i)] = CommitObject{Parents: []plumbing.Hash{nth(i - 1)}}
	}
	graph[nth(0)] = CommitObject{}
	for b.Loop() {
		if relation, decided := graph.Relate(nth(0), nth(n-1)); !decided || relation != Newer {
			b.Fatal(relation)
		}
	}
}
