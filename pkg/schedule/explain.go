package schedule

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/selection"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Explainer explains why deployment targets are assigned to cluster types, by the same rules as Assign. It is safe for
// concurrent use.
type Explainer struct {
	fleet    *model.Fleet
	policies []policy
}

// NewExplainer returns an Explainer of a fleet. It ignores policies with invalid selectors, which Assign reports.
func NewExplainer(fleet *model.Fleet) *Explainer {
	return &Explainer{fleet, compilePolicies(fleet, &diag.List{})}
}

// PolicyResult is the result of one policy for a deployment target and a cluster type.
type PolicyResult struct {
	Policy *model.SchedulingPolicy
	// Misses are the conditions that do not hold, those on the target first, each in the order of the file. If it is
	// empty, the policy is a reason for the assignment.
	Misses []Miss
}

// Assigns reports whether the policy is a reason for the assignment.
func (r PolicyResult) Assigns() bool { return len(r.Misses) == 0 }

// Side is the object that a condition of a policy selects.
type Side string

// The sides of a policy.
const (
	OfTarget      Side = "deployment target"
	OfClusterType Side = "cluster type"
)

// MarshalText returns the name of the side in JSON.
func (s Side) MarshalText() ([]byte, error) {
	if s == OfClusterType {
		return []byte("clusterType"), nil
	}
	return []byte("deploymentTarget"), nil
}

// Miss is a condition of a policy that does not hold. It is part of the JSON output.
type Miss struct {
	// At is the place of the condition in the policy.
	At   diag.Place `json:"at"`
	Side Side       `json:"side"`
	// Label is the label of the condition; empty for the workspace.
	Label string `json:"label,omitempty"`
	// Wants is the condition as kubectl writes it: "edge=true", "size in (large,small)", "!edge"; or the workspace.
	Wants string `json:"wants"`
	// Found is the actual value; nil if there is none.
	Found *string `json:"found,omitempty"`
	// Message is a sentence without a subject: the condition and the actual value.
	Message string `json:"message"`
}

// Reasons returns the policies that assign the target to the cluster type, in order of name.
func (x *Explainer) Reasons(target *model.DeploymentTarget, clusterType *model.ClusterType) []*model.SchedulingPolicy {
	var reasons []*model.SchedulingPolicy
	for _, p := range x.policies {
		if p.selectsTarget(target) && p.clusterTypes.matches(clusterType.Labels) {
			reasons = append(reasons, p.SchedulingPolicy)
		}
	}
	return reasons
}

// PolicyResults returns the result of every policy for a target and a cluster type of the fleet, in order of name.
func (x *Explainer) PolicyResults(target *model.DeploymentTarget, clusterType *model.ClusterType) []PolicyResult {
	results := make([]PolicyResult, len(x.policies))
	for i, p := range x.policies {
		results[i] = PolicyResult{p.SchedulingPolicy, append(p.targetMisses(target), p.clusterTypeMisses(clusterType)...)}
	}
	return results
}

// Selection is the selection of a policy, and its result for a cluster type.
type Selection struct {
	Policy *model.SchedulingPolicy
	// Targets and ClusterTypes are the numbers of objects that it selects in the environment.
	Targets, ClusterTypes int
	// Misses are the conditions that the cluster type does not satisfy.
	Misses []Miss
}

// Selections returns the selection of every policy, in order of name.
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

// Nearest returns the result with the fewest misses; ok is false if there are no results. A different workspace counts as
// two misses, because such a policy belongs to another team. Of results with equally many misses, the nearest is the one
// with the fewest on the target.
func Nearest(results []PolicyResult) (nearest PolicyResult, ok bool) {
	if len(results) == 0 {
		return PolicyResult{}, false
	}
	return slices.MinFunc(results, byDistance), true
}

// NearestFirst returns the results in the order of Nearest; the sort is stable.
func NearestFirst(results []PolicyResult) []PolicyResult {
	return slices.SortedStableFunc(slices.Values(results), byDistance)
}

func byDistance(a, b PolicyResult) int { return cmp.Compare(a.distance(), b.distance()) }

// distance orders results: the smaller, the nearer.
func (r PolicyResult) distance() int {
	misses, ofTarget := 0, 0
	for _, m := range r.Misses {
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
