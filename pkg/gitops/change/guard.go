package change

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// RuleDeletions is a change that removes most targets, which may be a mistake.
const RuleDeletions = "many-deletions"

const (
	// fewDeletions is the number of targets that can always be removed.
	fewDeletions = 5
	// shownDeletions is the maximum number of removed targets in the message.
	shownDeletions = 20
)

// MassDeletion returns an error message for a change that removes at least five targets that are more than half of the
// published ones, or all of them; "" for other changes. A mistake in one selector can cause it, and clusters apply it at
// once. Targets that move to a renamed cluster type do not count.
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

// Lost returns the removed targets, except those that move with the whole content of their cluster type.
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
	var successors [][]string // the targets of the new cluster types
	for _, clusterType := range slices.Sorted(maps.Keys(after)) {
		if len(before[clusterType]) == 0 {
			successors = append(successors, after[clusterType])
		}
	}
	renamed := map[string]bool{}
	for _, clusterType := range slices.Sorted(maps.Keys(before)) {
		if len(after[clusterType]) > 0 {
			continue
		}
		if i := slices.IndexFunc(successors, func(successor []string) bool { return containsAll(successor, before[clusterType]) }); i >= 0 {
			renamed[clusterType] = true
			successors = slices.Delete(successors, i, i+1) // replaces only one
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

func containsAll(list, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(item string) bool {
		_, found := slices.BinarySearch(list, item)
		return !found
	})
}
