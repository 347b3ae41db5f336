package gitobject

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// Relation is the relation between two commits of the same branch.
type Relation string

// The relations of b to a.
const (
	// Same: they are the same commit.
	Same Relation = "same"
	// Newer: b has a in its history.
	Newer Relation = "newer"
	// Older: a has b in its history.
	Older Relation = "older"
	// Apart: neither is an ancestor of the other, for example on two branches that were merged later.
	Apart Relation = "apart"
	// Unknown: one of them was not on the branch when it was last read. It never was, or it is newer, or the branch
	// was forced to something else.
	Unknown Relation = "unknown"
)

// Graph is a commit graph: commits by id. Commits that are only named as a parent are not in it: the history is cut off
// there.
type Graph map[plumbing.Hash]CommitObject

// Range is a part of a history: what can be reached from Tip and not from Since, which may be zero. Known is a graph of
// what can be reached from Since; it may be nil.
type Range struct {
	Tip, Since plumbing.Hash
	Known      Graph
}

// Branch is a branch of a repository and its tip.
type Branch struct {
	Name   string
	Commit plumbing.Hash
	// Remote is the remote whose branch a clone has at Commit; empty if Commit is that of the clone's own branch.
	// OtherRemotes have a branch of the name too.
	Remote       string
	OtherRemotes []string
	// Upstream is the remote-tracking branch of a clone's own branch, such as "origin/main"; empty if there is none.
	Upstream string
	// Ahead counts the commits of the own branch that Upstream does not have, and Behind those that only Upstream has.
	Ahead, Behind int
	// Base is the newest commit of the own branch, along first parents, that Upstream has; zero without Upstream.
	Base plumbing.Hash
}

// Reach returns a commit and all of its ancestors, including those that are only named as a parent. whole is false if
// there is one of these, which may have more ancestors.
func (g Graph) Reach(tip plumbing.Hash) (found map[plumbing.Hash]bool, whole bool) {
	found, whole = map[plumbing.Hash]bool{tip: true}, true
	for todo := []plumbing.Hash{tip}; len(todo) > 0; {
		commit, known := g[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		whole = whole && known
		for _, parent := range commit.Parents {
			if !found[parent] {
				found[parent] = true
				todo = append(todo, parent)
			}
		}
	}
	return found, whole
}

// Without returns the commits that can be reached from tip and not from other.
func (g Graph) Without(tip, other plumbing.Hash) Graph {
	ours, _ := g.Reach(tip)
	theirs, _ := g.Reach(other)
	found := Graph{}
	for id := range ours {
		if commit, known := g[id]; known && !theirs[id] {
			found[id] = commit
		}
	}
	return found
}

// Relate returns the relation of b to a. decided is false if it depends on commits that are not in the graph.
func (g Graph) Relate(a, b plumbing.Hash) (relation Relation, decided bool) {
	if a == b {
		return Same, true
	}
	ofB, wholeB := g.Reach(b)
	if ofB[a] {
		return Newer, true
	}
	ofA, wholeA := g.Reach(a)
	if ofA[b] {
		return Older, true
	}
	return Apart, wholeA && wholeB
}

// Line returns at most n commits before one along first parents, the nearest first.
func (g Graph) Line(from plumbing.Hash, n int) (found []string) {
	for len(found) < n && len(g[from].Parents) > 0 {
		from = g[from].Parents[0]
		found = append(found, from.String())
	}
	return found
}

// WithPrefix returns the ids that begin with some hexadecimal digits, in order.
func WithPrefix(ids map[plumbing.Hash]bool, prefix string) []plumbing.Hash {
	var found []plumbing.Hash
	for id := range ids {
		if strings.HasPrefix(id.String(), prefix) {
			found = append(found, id)
		}
	}
	plumbing.HashesSort(found)
	return found
}
