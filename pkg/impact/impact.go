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
	// Change is the difference of the output, without the tracking file.
	Change *change.Change
	// Targets are the added, removed and changed deployment targets on cluster types, in the order of Change.Targets.
	Targets []Target
	// Values are the changed values of targets in both states: removed ones first, then those with the most targets.
	Values []Values
	// Dropped is the number of changes of values beyond the limit, which are left out.
	Dropped int
}

// Target is the change of a deployment target on a cluster type.
type Target struct {
	change.TargetChange
	// Was is the name of its counterpart in the other environment; empty if they have the same name.
	Was string `json:"was,omitempty"`
	// Cause is the reason why it is added or removed; nil if it is in both states.
	Cause *Cause `json:"cause,omitempty"`
}

// mostValues is the maximum number of different changes of values.
const mostValues = 10_000

// Compare returns the difference between two states. If they are of different environments, a target that only one of
// them has is compared with that of the same workload on the same cluster type, if each has exactly one; and values that
// differ only by the names of target and environment are no difference. The error is that of ctx.
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

// Why is the kind of reason for which a target is added or removed.
type Why string

// The reasons. If several apply, the first one is used.
const (
	// WhyEnvironment: the environment is added or removed.
	WhyEnvironment Why = "environment"
	// WhyRegistration: the registration of its workload is added or removed.
	WhyRegistration Why = "workload-registration"
	// WhyTarget: the deployment target is added or removed.
	WhyTarget Why = "deployment-target"
	// WhyClusterType: the cluster type is added or removed.
	WhyClusterType Why = "cluster-type"
	// WhyPolicies: each of the policies that assign it is added or removed, or its conditions hold only in one state.
	WhyPolicies Why = "policies"
)

// Cause is the reason why a target is on a cluster type only in one state.
type Cause struct {
	Why Why `json:"why"`
	// At is the place of the target, the cluster type or the first policy.
	At diag.Place `json:"at"`
	// Policies are the policies that assign it in the state with the target, in order of name.
	Policies []PolicyCause `json:"policies"`
}

// PolicyCause is a policy that assigns a target in one state, with its result in the other.
type PolicyCause struct {
	Name string     `json:"name"`
	At   diag.Place `json:"at"`
	// Misses are the conditions that do not hold in the other state, for WhyPolicies; empty if the policy does not exist.
	Misses []schedule.Miss `json:"misses,omitempty"`
}

// causeOf returns the reason why a target is in the state here and not in there.
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
		if r := here.Fleet.Target(t.Target).Registration; r != nil && !registered(there.Fleet, r.Name.Value) {
			cause.Why, cause.At = WhyRegistration, r.Name.At
		}
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

func registered(fleet *model.Fleet, registration string) bool {
	return slices.ContainsFunc(fleet.Registrations, func(r *model.WorkloadRegistration) bool { return r.Name.Value == registration })
}

// folder identifies the folder of an assignment in the output.
type folder struct{ clusterType, target string }

// side is one of the two states, with indexes.
type side struct {
	State
	// reasons are the policies of each assignment.
	reasons      map[folder][]*model.SchedulingPolicy
	explainer    *schedule.Explainer
	configurator *config.Configurator
}

func newSide(s State) *side {
	configurator, _ := config.NewConfigurator(s.Fleet) // rendering has reported the diagnostics
	return &side{s, reasonsOf(s.Assignments), schedule.NewExplainer(s.Fleet), configurator}
}

func reasonsOf(assignments []schedule.Assignment) map[folder][]*model.SchedulingPolicy {
	reasons := make(map[folder][]*model.SchedulingPolicy, len(assignments))
	for _, a := range assignments {
		reasons[folder{a.ClusterType.Name.Value, a.Target.Name.Value}] = a.Reasons
	}
	return reasons
}
