package impact

import (
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// Why says in a word why a target came or went.
type Why string

// The reasons. Where several hold, it is the first.
const (
	// WhyTarget: the deployment target itself is new or gone.
	WhyTarget Why = "deployment-target"
	// WhyClusterType: the cluster type is.
	WhyClusterType Why = "cluster-type"
	// WhyPolicy: the policy is.
	WhyPolicy Why = "policy"
	// WhyConditions: the policy is there before and after, and its conditions hold only on one side.
	WhyConditions Why = "conditions"
)

// Cause is why a target is on a cluster type on one side only.
type Cause struct {
	Why Why
	// Policies are those that assign it on the side where it is, in order of name.
	Policies []*model.SchedulingPolicy
	// Misses are the conditions of the first of them that do not hold on the other side, for WhyConditions.
	Misses []schedule.Miss
}

// causes knows the policies of both sides.
type causes struct {
	before, after *side
}

// newCauses gets ready to say why targets come and go. Nothing is done for a side of which nobody asks.
func newCauses(before, after State, change *gitops.Change) *causes {
	return &causes{before: newSide(before, change, gitops.Removed), after: newSide(after, change, gitops.Added)}
}

// of returns why a target came or went; nil if it did neither.
func (c *causes) of(t gitops.TargetChange) *Cause {
	switch t.Action {
	case gitops.Added:
		return causeOf(t, c.after, c.before)
	case gitops.Removed:
		return causeOf(t, c.before, c.after)
	default:
		return nil
	}
}

// causeOf finds out why a target is on one side and not on the other.
func causeOf(t gitops.TargetChange, here, there *side) *Cause {
	cause := &Cause{Policies: here.reasons[folder{t.ClusterType, t.Target}]}
	target, clusterType := there.Fleet.Target(t.Target), there.Fleet.ClusterType(t.ClusterType)
	switch {
	case target == nil:
		cause.Why = WhyTarget
	case clusterType == nil:
		cause.Why = WhyClusterType
	default:
		cause.Why = WhyPolicy
		for _, verdict := range there.verdicts(target, clusterType) {
			if len(cause.Policies) > 0 && verdict.Policy.Name.Value == cause.Policies[0].Name.Value && !verdict.Assigns() {
				cause.Why, cause.Misses = WhyConditions, verdict.Misses
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
	// reasons are the policies of the assignments that only this side has.
	reasons   map[folder][]*model.SchedulingPolicy
	explainer *schedule.Explainer
}

func newSide(s State, change *gitops.Change, action gitops.Action) *side {
	only := map[folder]bool{}
	for _, t := range change.Targets {
		if t.Action == action {
			only[folder{t.ClusterType, t.Target}] = true
		}
	}
	made := &side{State: s, reasons: make(map[folder][]*model.SchedulingPolicy, len(only))}
	for _, a := range s.Assignments {
		if at := (folder{a.ClusterType.Name.Value, a.Target.Name.Value}); only[at] {
			made.reasons[at] = a.Reasons
		}
	}
	return made
}

// verdicts says what the policies make of a pair.
func (s *side) verdicts(target *model.DeploymentTarget, clusterType *model.ClusterType) []schedule.Verdict {
	if s.explainer == nil {
		s.explainer = schedule.NewExplainer(s.Fleet)
	}
	return s.explainer.Verdicts(target, clusterType)
}
