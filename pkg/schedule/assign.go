package schedule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Assignment is one deployment target on one cluster type.
type Assignment struct {
	Target      *model.DeploymentTarget
	ClusterType *model.ClusterType
	// Reasons are the policies that assign it, in order of name; there is at least one.
	Reasons []*model.SchedulingPolicy
}

// Assign applies all policies of the fleet. The assignments are in order of cluster type, then
// target, each once.
func Assign(fleet *model.Fleet) ([]Assignment, diag.List) {
	var diags diag.List
	s := newScheduler(fleet, &diags)
	reasons := map[pair][]*model.SchedulingPolicy{}
	for _, p := range s.policies {
		targets, clusterTypes := s.targets.find(p.targets), s.clusterTypes.find(p.clusterTypes)
		s.narrow(targets, p)
		if !fleet.Incomplete {
			s.warnNoMatch(p, targets, clusterTypes, &diags)
		}
		for _, c := range clusterTypes.members() {
			for _, t := range targets.members() {
				reasons[pair{c, t}] = append(reasons[pair{c, t}], p.SchedulingPolicy)
			}
		}
	}
	return s.assignments(reasons), diags
}

// pair is an assignment by the positions of its parts.
type pair struct{ clusterType, target int }

type scheduler struct {
	fleet                 *model.Fleet
	policies              []policy
	targets, clusterTypes *index
	byWorkspace           map[string]set
}

// policy is a SchedulingPolicy with its selectors compiled.
type policy struct {
	*model.SchedulingPolicy
	targets, clusterTypes selector
}

func newScheduler(fleet *model.Fleet, diags *diag.List) *scheduler {
	s := &scheduler{
		fleet:        fleet,
		targets:      newIndex(len(fleet.Targets), func(i int) map[string]model.Text { return fleet.Targets[i].Labels }),
		clusterTypes: newIndex(len(fleet.ClusterTypes), func(i int) map[string]model.Text { return fleet.ClusterTypes[i].Labels }),
		byWorkspace:  map[string]set{},
	}
	for i, t := range fleet.Targets {
		lookup(s.byWorkspace, t.Workspace, len(fleet.Targets)).add(i)
	}
	for _, p := range fleet.Policies {
		before := diags.Count(diag.Error)
		compiled := policy{p, compile(p.Targets, diags), compile(p.ClusterTypes, diags)}
		if diags.Count(diag.Error) == before && !p.Broken {
			s.policies = append(s.policies, compiled)
		}
	}
	return s
}

// narrow keeps the targets of the policy's workspace.
func (s *scheduler) narrow(targets set, p policy) {
	if p.Workspace.Value != "" {
		s.targets.keep(targets, s.byWorkspace[p.Workspace.Value])
	}
}

func (s *scheduler) assignments(reasons map[pair][]*model.SchedulingPolicy) []Assignment {
	pairs := make([]pair, 0, len(reasons))
	for p := range reasons {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.clusterType, b.clusterType), cmp.Compare(a.target, b.target))
	})
	assignments := make([]Assignment, len(pairs))
	for i, p := range pairs {
		assignments[i] = Assignment{s.fleet.Targets[p.target], s.fleet.ClusterTypes[p.clusterType], reasons[p]}
	}
	return assignments
}

// warnNoMatch says which side of a policy is empty: rollouts are partial all the time, so it is
// never an error.
func (s *scheduler) warnNoMatch(p policy, targets, clusterTypes set, diags *diag.List) {
	if w := p.Workspace; w.Value != "" && s.byWorkspace[w.Value] == nil {
		diags.Warning("no-match", w.At, fmt.Sprintf("SchedulingPolicy %q is for workspace %q, which has no deployment target here", p.Name.Value, w.Value),
			diag.Hint(diag.DidYouMean(w.Value, slices.Sorted(maps.Keys(s.byWorkspace)))))
		return
	}
	switch {
	case targets.empty() && clusterTypes.empty():
		diags.Warning("no-match", p.Name.At, fmt.Sprintf("SchedulingPolicy %q selects no deployment target and no cluster type", p.Name.Value))
	case targets.empty():
		diags.Warning("no-match", p.Name.At, fmt.Sprintf("SchedulingPolicy %q selects no deployment target", p.Name.Value))
	case clusterTypes.empty():
		diags.Warning("no-match", p.Name.At, fmt.Sprintf("SchedulingPolicy %q selects no cluster type", p.Name.Value))
	}
}
