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

// MarshalText writes the side as JSON names it.
func (s Side) MarshalText() ([]byte, error) {
	if s == OfClusterType {
		return []byte("clusterType"), nil
	}
	return []byte("deploymentTarget"), nil
}

// Miss is one condition of a policy that does not hold. It is also its form in JSON.
type Miss struct {
	// At is the condition in the policy.
	At   diag.Place `json:"at"`
	Side Side       `json:"side"`
	// Label is the label that the condition is about; empty for the workspace.
	Label string `json:"label,omitempty"`
	// Wants is the condition as kubectl writes it: "edge=true", "size in (large,small)", "!edge"; or the workspace.
	Wants string `json:"wants"`
	// Found is the value that the object has; nil if it has none.
	Found *string `json:"found,omitempty"`
	// Message says in a sentence without a subject what is wanted, and what was found.
	Message string `json:"message"`
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
		miss := Miss{
			At: w.At, Side: OfTarget, Wants: w.Value,
			Message: fmt.Sprintf("requires workspace %q, but the deployment target is of %q", w.Value, target.Workspace),
		}
		if target.Workspace != "" {
			miss.Found = &target.Workspace
		}
		misses = append(misses, miss)
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
			miss := Miss{At: r.at, Side: side, Label: r.key, Wants: r.String()}
			found := fmt.Sprintf("no label %q", r.key)
			if value, has := labels[r.key]; has {
				miss.Found = &value.Value
				found = r.key + "=" + value.Value
				if r.operator == selection.DoesNotExist {
					found = fmt.Sprintf("the label %q", r.key)
				}
			}
			miss.Message = fmt.Sprintf("requires %s, but the %s has %s", r, side, found)
			misses = append(misses, miss)
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
