package gitops

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// Relation says how a commit stands to another one of the same branch.
type Relation string

// The relations of b seen from a.
const (
	// Same: they are one commit.
	Same Relation = "same"
	// Newer: b has a in its history.
	Newer Relation = "newer"
	// Older: a has b in its history.
	Older Relation = "older"
	// Apart: neither has the other, as with two lines that were merged later.
	Apart Relation = "apart"
	// Unknown: one of them is not on the branch as it was read last. It never was, or it is newer, or the branch
	// was forced to something else.
	Unknown Relation = "unknown"
)

// commitGraph holds commits by id. A commit that is only named as a parent is not in it: the history is cut off there.
type commitGraph map[plumbing.Hash]gitobject.CommitObject

// reach returns a commit and all of its ancestors, those included that are only named. whole is false if any of
// them is only named, as it may have more ancestors.
func (g commitGraph) reach(tip plumbing.Hash) (found map[plumbing.Hash]bool, whole bool) {
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

// depth returns how many generations from tip back a commit is, of which tip is the first; 0 if tip does not have it.
func (g commitGraph) depth(tip, id plumbing.Hash) int {
	seen := map[plumbing.Hash]bool{tip: true}
	generation := []plumbing.Hash{tip}
	for depth := 1; len(generation) > 0; depth++ {
		var next []plumbing.Hash
		for _, at := range generation {
			if at == id {
				return depth
			}
			for _, parent := range g[at].Parents {
				if !seen[parent] {
					seen[parent] = true
					next = append(next, parent)
				}
			}
		}
		generation = next
	}
	return 0
}

// without returns the commits that can be reached from tip and not from other.
func (g commitGraph) without(tip, other plumbing.Hash) commitGraph {
	ours, _ := g.reach(tip)
	theirs, _ := g.reach(other)
	found := commitGraph{}
	for id := range ours {
		if commit, known := g[id]; known && !theirs[id] {
			found[id] = commit
		}
	}
	return found
}

// hasMerge reports whether there is a merge among the commits. Git cuts off the history at one of whose
// parents any is left out.
func (g commitGraph) hasMerge() bool {
	for _, commit := range g {
		if len(commit.Parents) > 1 {
			return true
		}
	}
	return false
}

// relate returns the relation of b to a. decided is false if it depends on commits that are not in the graph.
func (g commitGraph) relate(a, b plumbing.Hash) (relation Relation, decided bool) {
	if a == b {
		return Same, true
	}
	ofB, wholeB := g.reach(b)
	if ofB[a] {
		return Newer, true
	}
	ofA, wholeA := g.reach(a)
	if ofA[b] {
		return Older, true
	}
	return Apart, wholeA && wholeB
}

// line returns at most n commits before one along first parents, the nearest first.
func (g commitGraph) line(from plumbing.Hash, n int) (found []string) {
	for len(found) < n && len(g[from].Parents) > 0 {
		from = g[from].Parents[0]
		found = append(found, from.String())
	}
	return found
}

// withPrefix returns the ids that begin with some hexadecimal digits, in order.
func withPrefix(ids map[plumbing.Hash]bool, prefix string) []plumbing.Hash {
	var found []plumbing.Hash
	for id := range ids {
		if strings.HasPrefix(id.String(), prefix) {
			found = append(found, id)
		}
	}
	plumbing.HashesSort(found)
	return found
}
