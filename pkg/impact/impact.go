package impact

import (
	"context"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// State is an environment as it was compiled.
type State struct {
	// Absent says that there is no such environment; the rest is empty then.
	Absent      bool
	Fleet       *model.Fleet
	Assignments []schedule.Assignment
	Tree        *render.Tree
}

// Impact is the difference between two states.
type Impact struct {
	// Change is the difference of the output, but for the tracking file.
	Change *change.Change
	// Targets are the deployment targets on cluster types that come, go or change, in the order of Change.Targets.
	Targets []Target
	// Values are what changes on targets that stay: what goes away first, then what reaches furthest.
	Values []Values
	// Dropped is how many changes of values are left out, as nobody would read so many.
	Dropped int
}

// Target is what happens to a deployment target on a cluster type.
type Target struct {
	change.TargetChange
	// Was is the name of its counterpart in the other environment; empty if they have the same name.
	Was string `json:"was,omitempty"`
	// Cause is why it came or went; nil if it stays.
	Cause *Cause `json:"cause,omitempty"`
}

// mostValues bounds the different changes of values that are looked for.
const mostValues = 10_000

// Compare finds what the second state has that the first has not, and the other way round. If they are of different
// environments, a target that only one of them has is compared with that of the same workload on the same cluster type,
// if each has just one; and what differs by nothing but the names of target and environment is no difference. The error
// is that of ctx.
func Compare(ctx context.Context, before, after State) (*Impact, error) {
	pairs := newPairs(before, after)
	alike := pairs.alike()
	diff, err := change.CompareTrees(ctx, pairs.renamed(before), after.Tree, alike)
	if err != nil {
		return nil, err
	}
	impact := &Impact{Change: diff}
	was, is := newSide(before), newSide(after)
	for _, t := range diff.Targets {
		if t.Action == change.Unchanged {
			continue
		}
		target := Target{TargetChange: t, Was: pairs.otherName(t)}
		switch t.Action {
		case change.Added:
			target.Cause = causeOf(t, is, was)
		case change.Removed:
			target.Cause = causeOf(t, was, is)
		}
		impact.Targets = append(impact.Targets, target)
	}
	impact.addValues(was, is, pairs, alike)
	return impact, ctx.Err()
}
