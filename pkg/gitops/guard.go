package gitops

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// RuleDeletions is a change that removes so much that it may be a mistake.
const RuleDeletions = "many-deletions"

const (
	// fewDeletions is how many targets may always go.
	fewDeletions = 5
	// shownDeletions is how many of them are named.
	shownDeletions = 20
)

// checkDeletions refuses a change in which at least five targets go and they are more than half of
// those that are published, or in which all go and there are at least two. A mistake in one selector
// does that, and clusters act on it at once. What only moves to a cluster type that has taken another's
// place does not count.
func (c *Change) checkDeletions(repo string) error {
	gone, published := c.lost(), c.published()
	if !tooManyDeletions(len(gone), published) {
		return nil
	}
	names := make([]string, 0, shownDeletions)
	for _, t := range gone[:min(len(gone), shownDeletions)] {
		names = append(names, t.ClusterType+"/"+t.Target)
	}
	more := ""
	if len(gone) > shownDeletions {
		more = fmt.Sprintf(" and %d more", len(gone)-shownDeletions)
	}
	return problem(RuleDeletions, "%d of the %d targets published in %s would be removed: %s%s", len(gone), published, repo, strings.Join(names, ", "), more).
		hint("if that is meant, give --allow-deletions")
}

// published returns the number of targets before the change.
func (c *Change) published() int { return len(c.Targets) - c.Count(Added) }

// tooManyDeletions reports whether a change that removes gone of the published targets may be a mistake.
func tooManyDeletions(gone, published int) bool {
	many := gone >= fewDeletions && 2*gone > published
	all := gone >= 2 && gone == published
	return many || all
}

// lost returns the targets that go, but for those that move with their cluster type's whole content.
func (c *Change) lost() []TargetChange {
	before, after := map[string][]string{}, map[string][]string{}
	for _, t := range c.Targets { // in order of cluster type and target
		if t.Action != Added {
			before[t.ClusterType] = append(before[t.ClusterType], t.Target)
		}
		if t.Action != Removed {
			after[t.ClusterType] = append(after[t.ClusterType], t.Target)
		}
	}
	var heirs [][]string // what the new cluster types have
	for _, clusterType := range sortedKeys(after) {
		if len(before[clusterType]) == 0 {
			heirs = append(heirs, after[clusterType])
		}
	}
	renamed := map[string]bool{}
	for _, clusterType := range sortedKeys(before) {
		if len(after[clusterType]) > 0 {
			continue
		}
		if i := slices.IndexFunc(heirs, func(heir []string) bool { return containsAll(heir, before[clusterType]) }); i >= 0 {
			renamed[clusterType] = true
			heirs = slices.Delete(heirs, i, i+1) // takes the place of one only
		}
	}
	var lost []TargetChange
	for _, t := range c.Targets {
		if t.Action == Removed && !renamed[t.ClusterType] {
			lost = append(lost, t)
		}
	}
	return lost
}

// containsAll reports whether a sorted list has all of another.
func containsAll(list, wanted []string) bool {
	for _, item := range wanted {
		if _, found := slices.BinarySearch(list, item); !found {
			return false
		}
	}
	return true
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
