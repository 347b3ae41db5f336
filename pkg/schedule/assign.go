package schedule

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/selection"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Assignment is one deployment target on one cluster type.
type Assignment struct {
	Target      *model.DeploymentTarget
	ClusterType *model.ClusterType
	// Reasons are the policies that assign it, in order of name, at least one.
	Reasons []*model.SchedulingPolicy
}

// Assign applies all policies of the fleet. The assignments are unique, in order of cluster type, then target.
func Assign(fleet *model.Fleet) ([]Assignment, diag.List) {
	var diags diag.List
	byClusterType := make([][]selectedTargets, len(fleet.ClusterTypes))
	for _, p := range compilePolicies(fleet, &diags) {
		targets, clusterTypes := p.selectTargets(fleet), p.selectClusterTypes(fleet.ClusterTypes)
		if !fleet.Incomplete {
			p.warnNoMatch(fleet, len(targets), len(clusterTypes), &diags)
		}
		for _, c := range clusterTypes {
			byClusterType[c] = append(byClusterType[c], selectedTargets{p.SchedulingPolicy, targets})
		}
	}
	var all []Assignment
	reasons := make([][]*model.SchedulingPolicy, len(fleet.Targets))
	for c, clusterType := range fleet.ClusterTypes {
		for _, s := range byClusterType[c] {
			for _, t := range s.targets {
				reasons[t] = append(reasons[t], s.policy)
			}
		}
		for t, policies := range reasons {
			if len(policies) > 0 {
				all = append(all, Assignment{fleet.Targets[t], clusterType, policies})
			}
		}
		clear(reasons)
	}
	return all, diags
}

// WarnNothing warns of an environment without cluster types, deployment targets or assignments, unless the fleet is
// incomplete.
func WarnNothing(fleet *model.Fleet, assignments []Assignment) diag.List {
	var diags diag.List
	name := fleet.Environment.Name
	switch {
	case fleet.Incomplete:
	case len(fleet.ClusterTypes) == 0:
		diags.Warning("no-assignment", name.At, fmt.Sprintf("environment %q has no cluster type", name.Value),
			diag.Hint(fmt.Sprintf("add a ClusterType to branch %q", fleet.Environment.ControlPlane.Branch.Value)))
	case len(fleet.Targets) == 0:
		diags.Warning("no-assignment", name.At, fmt.Sprintf("environment %q has no deployment target", name.Value),
			diag.Hint(fmt.Sprintf("set environment: %s in a deployment target of a Workload", name.Value)))
	case len(assignments) == 0:
		diags.Warning("no-assignment", name.At, fmt.Sprintf("environment %q has no assignment: no policy assigns a deployment target to a cluster type", name.Value),
			diag.Hint("kalypso explain target NAME shows why a target is not assigned"))
	}
	return diags
}

// selectedTargets are the positions of the targets that a policy selects.
type selectedTargets struct {
	policy  *model.SchedulingPolicy
	targets []int
}

// policy is a SchedulingPolicy with its selectors compiled.
type policy struct {
	*model.SchedulingPolicy
	targets, clusterTypes selector
}

// compilePolicies returns the policies without errors.
func compilePolicies(fleet *model.Fleet, diags *diag.List) []policy {
	var policies []policy
	for _, p := range fleet.Policies {
		before := diags.Count(diag.Error)
		compiled := policy{p, compile(p.Targets, diags), compile(p.ClusterTypes, diags)}
		if diags.Count(diag.Error) == before && !p.Broken {
			policies = append(policies, compiled)
		}
	}
	return policies
}

// selectsTarget reports whether the policy selects a deployment target.
func (p policy) selectsTarget(t *model.DeploymentTarget) bool {
	return (p.Workspace.Value == "" || p.Workspace.Value == t.Workspace) && p.targets.matches(t.Labels)
}

// selectTargets returns the positions of the deployment targets that the policy selects.
func (p policy) selectTargets(fleet *model.Fleet) []int {
	return positions(fleet.Targets, p.selectsTarget)
}

// selectClusterTypes returns the positions of the cluster types that the policy selects.
func (p policy) selectClusterTypes(clusterTypes []*model.ClusterType) []int {
	return positions(clusterTypes, func(c *model.ClusterType) bool { return p.clusterTypes.matches(c.Labels) })
}

func positions[T any](all []T, selected func(T) bool) []int {
	var found []int
	for i, one := range all {
		if selected(one) {
			found = append(found, i)
		}
	}
	return found
}

// warnNoMatch warns of a policy that selects no target or no cluster type. It is not an error, because rollouts are
// often partial.
func (p policy) warnNoMatch(fleet *model.Fleet, targets, clusterTypes int, diags *diag.List) {
	if w := p.Workspace; targets == 0 && w.Value != "" {
		workspaces := map[string]bool{}
		for _, t := range fleet.Targets {
			workspaces[t.Workspace] = true
		}
		if !workspaces[w.Value] {
			diags.Warning("no-match", w.At, fmt.Sprintf("SchedulingPolicy %q is for workspace %q, which has no deployment target here", p.Name.Value, w.Value),
				diag.Hint(diag.DidYouMean(w.Value, slices.Sorted(maps.Keys(workspaces)))))
			return
		}
	}
	switch {
	case targets == 0 && clusterTypes == 0:
		diags.Warning("no-match", p.Name.At, fmt.Sprintf("SchedulingPolicy %q selects no deployment target and no cluster type", p.Name.Value))
	case targets == 0:
		var labels []map[string]model.Text
		for _, target := range fleet.Targets {
			if p.Workspace.Value == "" || p.Workspace.Value == target.Workspace {
				labels = append(labels, target.Labels)
			}
		}
		diags.Add(p.warnNone(fleet, "deployment target", p.targets, labels))
	case clusterTypes == 0:
		var labels []map[string]model.Text
		for _, clusterType := range fleet.ClusterTypes {
			labels = append(labels, clusterType.Labels)
		}
		diags.Add(p.warnNone(fleet, "cluster type", p.clusterTypes, labels))
	}
}

// warnNone warns that a selector selects none of the objects with the labels, at the requirement that none satisfies if
// there is one.
func (p policy) warnNone(fleet *model.Fleet, noun string, s selector, objects []map[string]model.Text) (diags diag.List) {
	for _, r := range s {
		if len(r.values) > 0 && r.operator != selection.NotIn && !slices.ContainsFunc(objects, r.matches) {
			diags.Warning("no-match", r.at, fmt.Sprintf("SchedulingPolicy %q selects %s, but no %s has that label", p.Name.Value, r, noun),
				r.suggest(fleet, objects)...)
			return diags
		}
	}
	diags.Warning("no-match", p.Name.At, fmt.Sprintf("SchedulingPolicy %q selects no %s", p.Name.Value, noun))
	return diags
}

// suggest returns a hint for a requirement that no object satisfies: the nearest value of the label, or the nearest label.
// The opposite of a boolean is no suggestion.
func (r requirement) suggest(fleet *model.Fleet, objects []map[string]model.Text) []diag.Option {
	keys, values := map[string]bool{}, map[string]bool{}
	for _, labels := range objects {
		for key, value := range labels {
			if keys[key] = true; key == r.key {
				values[value.Value] = true
			}
		}
	}
	wanted := slices.Sorted(maps.Keys(r.values))[0]
	if !keys[r.key] {
		return []diag.Option{diag.Hint(diag.DidYouMean(r.key, slices.Sorted(maps.Keys(keys))))}
	} else if len(values) == 1 && (wanted == "true" && values["false"] || wanted == "false" && values["true"]) {
		return nil
	}
	return SuggestValue(fleet, r.key, wanted, slices.Sorted(maps.Keys(values)))
}

// SuggestValue returns a hint for a label value that nothing has: the nearest of the values, else all of them if they are
// few. If the nearest is the label of one ClusterType only, either of the two can be the typo: the hint names the ClusterType.
func SuggestValue(fleet *model.Fleet, key, wanted string, values []string) []diag.Option {
	near := diag.Nearest(wanted, values)
	holders := positions(fleet.ClusterTypes, func(c *model.ClusterType) bool { return c.Labels[key].Value == near })
	onTarget := slices.ContainsFunc(fleet.Targets, func(t *model.DeploymentTarget) bool { return t.Labels[key].Value == near })
	if near == "" || len(holders) != 1 || onTarget {
		return []diag.Option{diag.Hint(diag.DidYouMean(wanted, values))}
	}
	clusterType := fleet.ClusterTypes[holders[0]]
	return []diag.Option{diag.See(clusterType.Labels[key].At, "similar label"), diag.Hint(fmt.Sprintf("ClusterType %q has %s=%s", clusterType.Name.Value, key, near))}
}
