package message

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// summary is a change, aggregated by cluster type.
type summary struct {
	actionCounts
	// clusterTypes are the changed cluster types, in order of name.
	clusterTypes []clusterTypeChange
	// all is the number of cluster types before or after.
	all int
}

// actionCounts are the numbers of assignments by action.
type actionCounts [change.Removed + 1]int

func (c actionCounts) total() int { return c[change.Unchanged] + c.moved() }

func (c actionCounts) moved() int { return c[change.Added] + c[change.Changed] + c[change.Removed] }

// clusterTypeChange is the change of a cluster type.
type clusterTypeChange struct {
	actionCounts
	name string
	// action is Added or Removed if the cluster type itself is added or removed.
	action change.Action
	// targets are its targets before or after, in order of name.
	targets []change.TargetChange
}

func summarize(c *change.Change) *summary {
	b := &summary{all: c.ClusterTypes + c.RemovedClusterTypes}
	actions := clusterTypeActions(c)
	for rest := c.Targets; len(rest) > 0; {
		t := clusterTypeChange{name: rest[0].ClusterType, action: actions[rest[0].ClusterType]}
		delete(actions, t.name)
		n := 0
		for ; n < len(rest) && rest[n].ClusterType == t.name; n++ {
			t.actionCounts[rest[n].Action]++
			b.actionCounts[rest[n].Action]++
		}
		t.targets, rest = rest[:n], rest[n:]
		if t.moved() > 0 || t.action != change.Unchanged {
			b.clusterTypes = append(b.clusterTypes, t)
		}
	}
	for name, action := range actions {
		b.clusterTypes = append(b.clusterTypes, clusterTypeChange{name: name, action: action})
	}
	slices.SortFunc(b.clusterTypes, func(a, b clusterTypeChange) int { return cmp.Compare(a.name, b.name) })
	return b
}

func clusterTypeActions(c *change.Change) map[string]change.Action {
	actions := map[string]change.Action{}
	for _, f := range c.Files {
		name, file, _ := strings.Cut(f.Path, "/")
		if file == render.ReadmeFile && (f.Action == change.Added || f.Action == change.Removed) {
			actions[name] = f.Action
		}
	}
	return actions
}

// counts formats the counts of the change: "2 assignments added, 1 changed on 3 cluster types".
func (s *summary) counts() string {
	if s.moved() > 0 {
		return countWords(s.actionCounts, "assignment") + " on " + diag.Plural(len(s.clusterTypes), "cluster type")
	}
	var own actionCounts
	for _, t := range s.clusterTypes {
		own[t.action]++
	}
	if own.moved() > 0 {
		return countWords(own, "cluster type") + ", no assignments"
	}
	return "no assignments change"
}

// countWords formats counts with one noun: "2 assignments added, 1 removed".
func countWords(c actionCounts, noun string) string {
	var parts []string
	for _, action := range []change.Action{change.Added, change.Changed, change.Removed} {
		switch {
		case c[action] == 0:
		case len(parts) == 0:
			parts = append(parts, diag.Plural(c[action], noun)+" "+action.String())
		default:
			parts = append(parts, fmt.Sprintf("%d %s", c[action], action))
		}
	}
	return strings.Join(parts, ", ")
}
