package schedule

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/selection"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Explainer says why deployment targets are scheduled where they are, by the same rules as Assign. It is safe for
// concurrent use.
type Explainer struct {
	fleet    *model.Fleet
	policies []policy
}

// NewExplainer gets ready to explain a fleet. Policies with invalid selectors are left out; Assign
// reports them.
func NewExplainer(fleet *model.Fleet) *Explainer {
	return &Explainer{fleet, compilePolicies(fleet, &diag.List{})}
}

// Verdict says what one policy makes of one pair of a deployment target and a cluster type.
type Verdict struct {
	Policy *model.SchedulingPolicy
	// Misses are the conditions that do not hold, those on the target first, each in the order of the
	// file. If there are none, the policy is a reason for the assignment.
	Misses []Miss
}

// Assigns reports whether the policy is a reason for the assignment.
func (v Verdict) Assigns() bool { return len(v.Misses) == 0 }

// Side is what a condition of a policy is about.
type Side string

// The sides of a policy.
const (
	OfTarget      Side = "deployment target"
	OfClusterType Side = "cluster type"
)

// Miss is one condition of a policy that does not hold.
type Miss struct {
	// At is the condition in the policy.
	At   diag.Place
	Side Side
	// Label is the label that the condition is about; empty for the workspace.
	Label string
	// Found is the value that the object has; Has says that it has one at all.
	Found string
	Has   bool

	// workspace is the one that is wanted, or condition.
	workspace string
	condition requirement
}

// Wants is the condition as kubectl writes it: "edge=true", "size in (large,small)", "!edge"; or the
// workspace.
func (m Miss) Wants() string {
	if m.Label == "" {
		return m.workspace
	}
	return m.condition.String()
}

// Message says in a sentence without a subject what is wanted, and what was found.
func (m Miss) Message() string {
	switch {
	case m.Label == "":
		return fmt.Sprintf("wants workspace %q, but the deployment target is of %q", m.workspace, m.Found)
	case !m.Has:
		return fmt.Sprintf("wants %s, but the %s has no label %q", m.condition, m.Side, m.Label)
	case m.condition.operator == selection.DoesNotExist:
		return fmt.Sprintf("wants %s, but the %s has the label %q", m.condition, m.Side, m.Label)
	default:
		return fmt.Sprintf("wants %s, but the %s has %s=%s", m.condition, m.Side, m.Label, m.Found)
	}
}

// Reasons are the policies that assign the target to the cluster type, in order of name.
func (x *Explainer) Reasons(target *model.DeploymentTarget, clusterType *model.ClusterType) []*model.SchedulingPolicy {
	var reasons []*model.SchedulingPolicy
	for _, p := range x.policies {
		if p.selectsTarget(target) && p.clusterTypes.matches(clusterType.Labels) {
			reasons = append(reasons, p.SchedulingPolicy)
		}
	}
	return reasons
}

// Verdicts says for every policy, in order of name, why it assigns the target to the cluster type, or
// why not. Both are of the fleet.
func (x *Explainer) Verdicts(target *model.DeploymentTarget, clusterType *model.ClusterType) []Verdict {
	verdicts := make([]Verdict, len(x.policies))
	for i, p := range x.policies {
		verdicts[i] = Verdict{p.SchedulingPolicy, append(p.targetMisses(target), p.clusterTypeMisses(clusterType)...)}
	}
	return verdicts
}

// Selection is what a policy selects, and how a cluster type stands to it.
type Selection struct {
	Policy *model.SchedulingPolicy
	// Targets and ClusterTypes are how many it selects in the environment.
	Targets, ClusterTypes int
	// Misses are the conditions that the cluster type does not meet.
	Misses []Miss
}

// Selections says for every policy, in order of name, what it selects.
func (x *Explainer) Selections(clusterType *model.ClusterType) []Selection {
	selections := make([]Selection, len(x.policies))
	for i, p := range x.policies {
		selections[i] = Selection{p.SchedulingPolicy, len(p.selectTargets(x.fleet)), len(p.selectClusterTypes(x.fleet.ClusterTypes)), p.clusterTypeMisses(clusterType)}
	}
	return selections
}

func (p policy) targetMisses(target *model.DeploymentTarget) []Miss {
	var misses []Miss
	if w := p.Workspace; w.Value != "" && w.Value != target.Workspace {
		misses = append(misses, Miss{At: w.At, Side: OfTarget, Found: target.Workspace, Has: target.Workspace != "", workspace: w.Value})
	}
	return append(misses, missesOf(p.targets, target.Labels, OfTarget)...)
}

func (p policy) clusterTypeMisses(clusterType *model.ClusterType) []Miss {
	return missesOf(p.clusterTypes, clusterType.Labels, OfClusterType)
}

// missesOf returns the requirements that labels do not satisfy.
func missesOf(s selector, labels map[string]model.Text, side Side) []Miss {
	var misses []Miss
	for _, r := range s {
		if !r.matches(labels) {
			value, has := labels[r.key]
			misses = append(misses, Miss{At: r.at, Side: side, Label: r.key, Found: value.Value, Has: has, condition: r})
		}
	}
	return misses
}

// Nearest returns the verdict of the policy that comes closest to an assignment: the one with the
// fewest misses. That of another workspace counts as two, as such a policy is somebody else's; of equal
// ones a policy that means the target is nearer than one that means the cluster type. There is none if
// there is no policy.
func Nearest(verdicts []Verdict) (nearest Verdict, ok bool) {
	if len(verdicts) == 0 {
		return Verdict{}, false
	}
	return slices.MinFunc(verdicts, byDistance), true
}

// NearestFirst returns the verdicts in the order of Nearest; equal ones stay as they are.
func NearestFirst(verdicts []Verdict) []Verdict {
	return slices.SortedStableFunc(slices.Values(verdicts), byDistance)
}

func byDistance(a, b Verdict) int { return cmp.Compare(a.distance(), b.distance()) }

// distance orders verdicts: the smaller, the nearer.
func (v Verdict) distance() int {
	misses, ofTarget := 0, 0
	for _, m := range v.Misses {
		misses++
		if m.Label == "" {
			misses++
		}
		if m.Side == OfTarget {
			ofTarget++
		}
	}
	const many = 1 << 20 // more conditions than a policy has
	return misses*many + ofTarget
}
