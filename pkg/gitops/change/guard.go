package change

import (
	"fmt"
	"maps"
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

// MassDeletion says what is wrong with a change in which at least five targets go and they are more than half of
// those that are published, or after which none is published; it is empty for any other. A mistake in one selector does
// that, and clusters act on it at once. What only moves to a cluster type that has taken another's place
// does not count.
func (c *Change) MassDeletion(repo string) string {
	gone, published := c.Lost(), c.PublishedTargets()
	nothingLeft := len(gone) > 0 && len(gone) == len(c.Targets)
	if !nothingLeft && !TooManyDeletions(len(gone), published) {
		return ""
	}
	names := make([]string, 0, shownDeletions)
	for _, t := range gone[:min(len(gone), shownDeletions)] {
		names = append(names, t.ClusterType+"/"+t.Target)
	}
	list := strings.Join(names, ", ")
	if rest := len(gone) - len(names); rest > 0 {
		list += fmt.Sprintf(" and %d more", rest)
	}
	return fmt.Sprintf("%d of the %d assignments published in %s would be removed: %s", len(gone), published, repo, list)
}

// PublishedTargets returns the number of targets before the change.
func (c *Change) PublishedTargets() int { return len(c.Targets) - c.Count(Added) }

// TooManyDeletions reports whether a change that removes gone of the published targets may be a mistake.
func TooManyDeletions(gone, published int) bool {
	many := gone >= fewDeletions && 2*gone > published
	all := gone >= 2 && gone == published
	return many || all
}

// Lost returns the targets that go, but for those that move with their cluster type's whole content.
func (c *Change) Lost() []TargetChange {
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
	for _, clusterType := range slices.Sorted(maps.Keys(after)) {
		if len(before[clusterType]) == 0 {
			heirs = append(heirs, after[clusterType])
		}
	}
	renamed := map[string]bool{}
	for _, clusterType := range slices.Sorted(maps.Keys(before)) {
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
	return !slices.ContainsFunc(wanted, func(item string) bool {
		_, found := slices.BinarySearch(list, item)
		return !found
	})
}
