package impact

import (
	"context"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// State is a compiled environment.
type State struct {
	// Absent is true if there is no such environment; the other fields are empty then.
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
	normalize := pairs.normalizer()
	diff, err := change.CompareTrees(ctx, pairs.renamed(before), after.Tree, normalize)
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
	impact.addValues(was, is, pairs, normalize)
	return impact, ctx.Err()
}

// Why says in a word why a target came or went.
type Why string

// The reasons. Where several hold, it is the first.
const (
	// WhyEnvironment: the environment is new or gone.
	WhyEnvironment Why = "environment"
	// WhyTarget: the deployment target itself is.
	WhyTarget Why = "deployment-target"
	// WhyClusterType: the cluster type is.
	WhyClusterType Why = "cluster-type"
	// WhyPolicies: each of the policies that assign it is, or its conditions hold on one side only.
	WhyPolicies Why = "policies"
)

// Cause is why a target is on a cluster type on one side only.
type Cause struct {
	Why Why `json:"why"`
	// At is where that is written: the target, the cluster type or the first policy.
	At diag.Place `json:"at"`
	// Policies are those that assign it on the side where it is, in order of name.
	Policies []PolicyCause `json:"policies"`
}

// PolicyCause is a policy that assigns a target on one side, and what it makes of it on the other.
type PolicyCause struct {
	Name string     `json:"name"`
	At   diag.Place `json:"at"`
	// Misses are the conditions that do not hold on the other side, for WhyPolicies; none if it is not there.
	Misses []schedule.Miss `json:"misses,omitempty"`
}

// causeOf finds out why a target is on one side and not on the other.
func causeOf(t change.TargetChange, here, there *side) *Cause {
	cause := &Cause{Why: WhyPolicies, Policies: []PolicyCause{}}
	for _, p := range here.reasons[folder{t.ClusterType, t.Target}] {
		cause.Policies = append(cause.Policies, PolicyCause{Name: p.Name.Value, At: p.Name.At})
	}
	if len(cause.Policies) > 0 {
		cause.At = cause.Policies[0].At
	}
	target, clusterType := there.Fleet.Target(t.Target), there.Fleet.ClusterType(t.ClusterType)
	switch {
	case there.Absent:
		cause.Why, cause.At = WhyEnvironment, here.Fleet.Environment.Name.At
	case target == nil:
		cause.Why, cause.At = WhyTarget, here.Fleet.Target(t.Target).Name.At
	case clusterType == nil:
		cause.Why, cause.At = WhyClusterType, here.Fleet.ClusterType(t.ClusterType).Name.At
	default:
		results := there.explainer.PolicyResults(target, clusterType)
		for i, p := range cause.Policies {
			at := slices.IndexFunc(results, func(r schedule.PolicyResult) bool { return r.Policy.Name.Value == p.Name })
			if at >= 0 {
				cause.Policies[i].Misses = results[at].Misses
			}
		}
	}
	return cause
}

// folder is where an assignment is in the output.
type folder struct{ clusterType, target string }

// side is one of the two states, with what is asked of it.
type side struct {
	State
	// reasons are the policies of each assignment.
	reasons      map[folder][]*model.SchedulingPolicy
	explainer    *schedule.Explainer
	configurator *config.Configurator
}

func newSide(s State) *side {
	configurator, _ := config.NewConfigurator(s.Fleet) // what is wrong was said when it was rendered
	return &side{s, reasonsOf(s.Assignments), schedule.NewExplainer(s.Fleet), configurator}
}

func reasonsOf(assignments []schedule.Assignment) map[folder][]*model.SchedulingPolicy {
	reasons := make(map[folder][]*model.SchedulingPolicy, len(assignments))
	for _, a := range assignments {
		reasons[folder{a.ClusterType.Name.Value, a.Target.Name.Value}] = a.Reasons
	}
	return reasons
}
