package impact

import (
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

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
		verdicts := there.explainer.Verdicts(target, clusterType)
		for i, p := range cause.Policies {
			at := slices.IndexFunc(verdicts, func(v schedule.Verdict) bool { return v.Policy.Name.Value == p.Name })
			if at >= 0 {
				cause.Policies[i].Misses = verdicts[at].Misses
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
	configurator *render.Configurator
}

func newSide(s State) *side {
	configurator, _ := render.NewConfigurator(s.Fleet) // what is wrong was said when it was rendered
	return &side{s, reasonsOf(s.Assignments), schedule.NewExplainer(s.Fleet), configurator}
}

func reasonsOf(assignments []schedule.Assignment) map[folder][]*model.SchedulingPolicy {
	reasons := make(map[folder][]*model.SchedulingPolicy, len(assignments))
	for _, a := range assignments {
		reasons[folder{a.ClusterType.Name.Value, a.Target.Name.Value}] = a.Reasons
	}
	return reasons
}
