package gitops

import (
	"bytes"
	"cmp"
	"container/heap"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// lineage is which commit has which parents, and nothing else of them: about 100 bytes for a commit. Commits are
// known by their numbers in it. Its methods that ask hold for what is in it when index was called last.
type lineage struct {
	numbers map[plumbing.Hash]int32
	commits []kin
	// parents are those of all commits, one after the other.
	parents []int32
}

// kin is a commit and where its parents are.
type kin struct {
	id plumbing.Hash
	// when is the committer's date, in seconds since 1970.
	when int64
	// first is where its parents begin, count how many there are. A commit that is only named as a parent has a
	// count of notHere.
	first, count int32
	// level is higher than those of all its ancestors.
	level int32
	// cut says that the history of the commit is not all here.
	cut bool
	// onBranch says that the tip that was indexed has the commit, or is it.
	onBranch bool
}

// notHere stands for the number of parents that nobody knows.
const notHere = -1

func newLineage() *lineage { return &lineage{numbers: map[plumbing.Hash]int32{}} }

// number returns the number of a commit, which it gets if it has none yet.
func (l *lineage) number(id plumbing.Hash) int32 {
	n, known := l.numbers[id]
	if !known {
		n = int32(len(l.commits))
		l.numbers[id] = n
		l.commits = append(l.commits, kin{id: id, count: notHere})
	}
	return n
}

// add adds commits. One that is there already stays as it is.
func (l *lineage) add(links []link) {
	for _, c := range links {
		n := l.number(c.id)
		if l.commits[n].count != notHere {
			continue
		}
		l.commits[n].when = c.when
		l.commits[n].first, l.commits[n].count = int32(len(l.parents)), int32(len(c.parents))
		for _, parent := range c.parents {
			l.parents = append(l.parents, l.number(parent))
		}
	}
}

// has reports whether the commit itself is here, and not only named as a parent.
func (l *lineage) has(id plumbing.Hash) bool {
	n, known := l.numbers[id]
	return known && l.commits[n].count != notHere
}

// find returns the number of a commit that is on the branch.
func (l *lineage) find(id plumbing.Hash) (n int32, onBranch bool) {
	n, known := l.numbers[id]
	return n, known && l.commits[n].onBranch
}

func (l *lineage) parentsOf(n int32) []int32 {
	c := &l.commits[n]
	if c.count == notHere {
		return nil
	}
	return l.parents[c.first : c.first+c.count]
}

// index prepares for questions about the branch whose tip is given.
func (l *lineage) index(tip plumbing.Hash) {
	for n := range l.commits {
		l.commits[n].level, l.commits[n].onBranch = 0, false
	}
	start := l.number(tip)
	for n := range l.commits {
		l.rank(int32(n))
	}
	for _, n := range l.reach(start, 0) {
		l.commits[n].onBranch = true
	}
}

// rank sets level and cut of a commit and of all its ancestors. What comes from a server could go round in circles only if
// somebody had broken SHA-1; then it ends all the same.
func (l *lineage) rank(from int32) {
	const begun = -1
	stack := []int32{from}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		c := &l.commits[n]
		if c.level > 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		if c.level == 0 {
			c.level = begun
			for _, parent := range l.parentsOf(n) {
				if l.commits[parent].level == 0 {
					stack = append(stack, parent)
				}
			}
			continue
		}
		stack = stack[:len(stack)-1]
		c.level, c.cut = 1, c.count == notHere
		for _, parent := range l.parentsOf(n) {
			p := &l.commits[parent]
			c.level, c.cut = max(c.level, p.level+1), c.cut || p.cut
		}
	}
}

// reach returns a commit and its ancestors, as far as their level is at least the one given.
func (l *lineage) reach(from, level int32) []int32 {
	seen := make([]bool, len(l.commits))
	found := []int32{from}
	seen[from] = true
	for i := 0; i < len(found); i++ {
		for _, parent := range l.parentsOf(found[i]) {
			if !seen[parent] && l.commits[parent].level >= level {
				seen[parent] = true
				found = append(found, parent)
			}
		}
	}
	return found
}

// contains reports whether a commit has another one as an ancestor, or is it.
func (l *lineage) contains(n, ancestor int32) bool {
	return slices.Contains(l.reach(n, l.commits[ancestor].level), ancestor)
}

// relate says how b stands to a. If that depends on history that is not here, decided is false.
func (l *lineage) relate(a, b int32) (relation Relation, decided bool) {
	switch {
	case a == b:
		return Same, true
	case l.contains(b, a):
		return Newer, true
	case l.contains(a, b):
		return Older, true
	default:
		return Apart, !l.commits[a].cut && !l.commits[b].cut
	}
}

// between returns the commits of to that from does not have, children before their parents and else the newest
// first. If which they are depends on history that is not here, decided is false.
func (l *lineage) between(from, to int32, most int) (found []plumbing.Hash, decided bool) {
	theirs := map[int32]bool{}
	for _, n := range l.reach(from, 0) {
		theirs[n] = true
	}
	ours := map[int32]bool{}
	for _, n := range l.reach(to, 0) {
		if !theirs[n] {
			ours[n] = true
		}
	}
	order := l.sorted(to, ours)
	if !l.surelyBeyond(order, from) {
		return nil, false
	}
	for _, n := range order[:min(most, len(order))] {
		found = append(found, l.commits[n].id)
	}
	return found, true
}

// surelyBeyond reports whether from cannot have any of the commits, which are in order, children first. It has none
// that is here; where its own history is cut off, only its descendants are certain.
func (l *lineage) surelyBeyond(order []int32, from int32) bool {
	after := map[int32]bool{from: true}
	for _, n := range slices.Backward(order) {
		if l.commits[n].count == notHere {
			return false
		}
		after[n] = slices.ContainsFunc(l.parentsOf(n), func(parent int32) bool { return after[parent] })
		if !after[n] && l.commits[from].cut {
			return false
		}
	}
	return true
}

// sorted returns the commits of a set that can be reached from one of them, children before their parents and else
// the newest first.
func (l *lineage) sorted(from int32, set map[int32]bool) []int32 {
	children := map[int32]int{}
	for n := range set {
		for _, parent := range l.parentsOf(n) {
			children[parent]++
		}
	}
	if !set[from] {
		return nil
	}
	next := &newestFirst{l, []int32{from}}
	var order []int32
	for len(next.numbers) > 0 {
		n, _ := heap.Pop(next).(int32)
		order = append(order, n)
		for _, parent := range l.parentsOf(n) {
			if children[parent]--; children[parent] == 0 && set[parent] {
				heap.Push(next, parent)
			}
		}
	}
	return order
}

// newestFirst is a heap of commits by date; those of one date are in order of their ids.
type newestFirst struct {
	lineage *lineage
	numbers []int32
}

func (h *newestFirst) Len() int { return len(h.numbers) }
func (h *newestFirst) Less(i, j int) bool {
	a, b := &h.lineage.commits[h.numbers[i]], &h.lineage.commits[h.numbers[j]]
	return cmp.Or(cmp.Compare(b.when, a.when), bytes.Compare(a.id[:], b.id[:])) < 0
}
func (h *newestFirst) Swap(i, j int) { h.numbers[i], h.numbers[j] = h.numbers[j], h.numbers[i] }

// Push implements heap.Interface.
func (h *newestFirst) Push(n any) {
	number, _ := n.(int32)
	h.numbers = append(h.numbers, number)
}

// Pop implements heap.Interface.
func (h *newestFirst) Pop() any {
	last := len(h.numbers) - 1
	n := h.numbers[last]
	h.numbers = h.numbers[:last]
	return n
}

// beginning returns the commits on the branch whose ids begin so, in order.
func (l *lineage) beginning(abbreviation string) []plumbing.Hash {
	var found []plumbing.Hash
	whole, _ := hex.DecodeString(abbreviation[:len(abbreviation)&^1])
	for n := range l.commits {
		c := &l.commits[n]
		if c.onBranch && bytes.HasPrefix(c.id[:], whole) && strings.HasPrefix(c.id.String(), abbreviation) {
			found = append(found, c.id)
		}
	}
	plumbing.HashesSort(found)
	return found
}

// link is what a lineage takes of a commit.
type link struct {
	id      plumbing.Hash
	parents []plumbing.Hash
	when    int64
}

// parseLink reads of a commit what a lineage takes of it. Its message, the largest part, is not looked at.
func parseLink(id plumbing.Hash, data []byte) (link, error) {
	c := link{id: id}
	isCommit := false
	header, _, _ := bytes.Cut(data, []byte("\n\n"))
	for line := range bytes.Lines(header) {
		key, value, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		switch key {
		case "tree":
			isCommit = true
		case "parent":
			if !plumbing.IsHash(value) {
				return link{}, fmt.Errorf("a commit with the parent %q", oneLine(value))
			}
			c.parents = append(c.parents, plumbing.NewHash(value))
		case "committer":
			c.when = max(parseDate(value).Unix(), 0) // one without a date is the oldest
		}
	}
	if !isCommit {
		return link{}, errors.New("a commit without a tree")
	}
	return c, nil
}
