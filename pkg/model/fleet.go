package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Fleet is the model of one environment. It is read-only; its lists are in order of name.
type Fleet struct {
	Environment *Environment
	// Environments are the names of all environments of the control plane.
	Environments []string

	Contents

	// PromotedCommit is the commit of the BaseRepo "main"; empty if it names none.
	PromotedCommit string
	// Incomplete reports that errors kept something from being read. Objects that are not in the Fleet may exist, so
	// their absence must not be reported.
	Incomplete bool
	// PlatformIncomplete is Incomplete for the repositories of the platform team.
	PlatformIncomplete bool
	// Sources are the repositories that were read, each with the commit that the run used.
	Sources []*Source
}

// ConfigIncomplete reports whether errors kept platform configuration from being read.
func (f *Fleet) ConfigIncomplete() bool {
	return f.PlatformIncomplete || slices.ContainsFunc(f.ConfigMaps, func(c *ConfigMap) bool { return c.Broken })
}

// Template returns the template with the name, or nil.
func (f *Fleet) Template(name string) *Template { return find(f.Templates, name) }

// Target returns the deployment target with the name, or nil.
func (f *Fleet) Target(name string) *DeploymentTarget { return find(f.Targets, name) }

// ClusterType returns the cluster type with the name, or nil.
func (f *Fleet) ClusterType(name string) *ClusterType { return find(f.ClusterTypes, name) }

// find returns the object with the name, or nil. They are in order of name.
func find[T resource](objects []T, name string) (found T) {
	i, ok := slices.BinarySearchFunc(objects, name, func(o T, name string) int { return cmp.Compare(o.object().Name.Value, name) })
	if ok {
		found = objects[i]
	}
	return found
}

// NewFleet merges the objects of all sources of an environment. names are those of all
// environments of the control plane.
func NewFleet(environment *Environment, names []string, parts []*Objects) (*Fleet, diag.List) {
	var diags diag.List
	f := &Fleet{Environment: environment, Environments: names}
	for _, part := range parts {
		f.Sources = append(f.Sources, part.Source)
		f.Incomplete = f.Incomplete || part.Incomplete
		f.PlatformIncomplete = f.PlatformIncomplete || part.Incomplete && part.Source.Ref.Role != Tenant
		f.Targets = append(f.Targets, part.Targets...)
		part.checkNotEmpty(&diags)
	}
	noticeOthers(parts, &diags)
	f.Workloads = gather(parts, func(o *Objects) []*Workload { return o.Workloads }, &diags)
	f.checkEnvironments(&diags)
	f.addTargets(&diags)
	f.BaseRepos = gather(parts, func(o *Objects) []*BaseRepo { return o.BaseRepos }, &diags)
	f.GitOpsRepos = gather(parts, func(o *Objects) []*GitOpsRepo { return o.GitOpsRepos }, &diags)
	f.ClusterTypes = gather(parts, func(o *Objects) []*ClusterType { return o.ClusterTypes }, &diags)
	f.Policies = gather(parts, func(o *Objects) []*SchedulingPolicy { return o.Policies }, &diags)
	f.Templates = gather(parts, func(o *Objects) []*Template { return o.Templates }, &diags)
	f.ConfigSchemas = gather(parts, func(o *Objects) []*ConfigSchema { return o.ConfigSchemas }, &diags)
	f.ConfigMaps = gather(parts, func(o *Objects) []*ConfigMap { return o.ConfigMaps }, &diags)
	f.Registrations = gather(parts, func(o *Objects) []*WorkloadRegistration { return o.Registrations }, &diags)
	for _, base := range f.BaseRepos {
		if base.Name.Value == MainBase {
			f.PromotedCommit = base.Commit.Value
		}
	}
	return f, diags
}

// MainBase is the name of the BaseRepo that is promoted.
const MainBase = "main"

// unique sorts objects by name and reports those that have the same name. Which of them is kept
// does not depend on their order.
func unique[T resource](objects []T, report func(first, second T)) []T {
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b T) int {
		x, y := a.object(), b.object()
		return cmp.Or(cmp.Compare(x.Name.Value, y.Name.Value), x.Name.At.Compare(y.Name.At),
			cmp.Compare(owner(x), owner(y))) // one file can be read for two registrations
	})
	kept := objects[:0]
	for _, candidate := range objects {
		name := candidate.object().Name.Value
		if name == "" {
			continue // reported as missing
		}
		if last := len(kept) - 1; last >= 0 && kept[last].object().Name.Value == name {
			report(kept[last], candidate)
			continue
		}
		kept = append(kept, candidate)
	}
	return kept
}

// gather returns the objects of one kind of all sources, in order of name. They must not share one.
func gather[T resource](parts []*Objects, list func(*Objects) []T, diags *diag.List) []T {
	var all []T
	for _, part := range parts {
		all = append(all, list(part)...)
	}
	return unique(all, func(first, second T) { duplicate(first.object(), second.object(), diags) })
}

func duplicate(first, second *Object, diags *diag.List) {
	message := fmt.Sprintf("%s %q is defined twice", second.Kind, second.Name.Value)
	if second.Source.Ref.Role == Tenant || first.Source.Ref.Role == Tenant {
		message = fmt.Sprintf("%s %q of %s is already used by %s", second.Kind, second.Name.Value, owner(second), owner(first))
	}
	diags.Error("duplicate-object", second.Name.At, message, diag.See(first.Name.At, "first defined here"), diag.Hint("rename one of them"))
}

// owner names the registration of an object, or the control plane.
func owner(o *Object) string {
	if o.Source.Ref.Subject != "" && o.Source.Ref.Role == Tenant {
		return o.Source.Ref.Subject
	}
	return "the control plane"
}

// addTargets unfolds the workloads and reports full names that two targets share, as workload "a"
// with target "b-c" and workload "a-b" with target "c" do.
func (f *Fleet) addTargets(diags *diag.List) {
	environment := f.Environment.Name.Value
	targets := make([]*DeploymentTarget, 0, len(f.Targets))
	for _, given := range f.Targets {
		t := *given
		if t.Environment.Value == "" {
			t.Environment = Text{environment, t.Name.At}
		}
		if t.Environment.Value == environment {
			targets = append(targets, &t)
		}
	}
	for _, w := range f.Workloads {
		targets = append(targets, unfold(w, environment)...)
	}
	f.Targets = unique(targets, func(first, second *DeploymentTarget) {
		diags.Error("target-collision", second.Name.At, fmt.Sprintf("deployment target %q of %s collides with that of %s",
			second.Name.Value, second.describeOwner(), first.describeOwner()),
			diag.See(first.Name.At, "first defined here"), diag.Hint("rename one of the targets"))
	})
}

func (t *DeploymentTarget) describeOwner() string {
	if t.Workload == "" {
		return "the control plane"
	}
	return fmt.Sprintf("workload %q", t.Workload)
}

// checkEnvironments warns of targets whose environment does not exist: they are never deployed.
func (f *Fleet) checkEnvironments(diags *diag.List) {
	for _, w := range f.Workloads {
		for _, spec := range w.DeploymentTargets {
			if name := spec.Environment.Value; name != "" && !slices.Contains(f.Environments, name) {
				diags.Warning("unknown-environment", spec.Environment.At,
					fmt.Sprintf("environment %q of deployment target %q not found", name, spec.Name.Value),
					diag.Hint(diag.DidYouMean(name, f.Environments)))
			}
		}
	}
}

func (o *Objects) checkNotEmpty(diags *diag.List) {
	if o.Source.Ref.Role == Tenant && len(o.Workloads) == 0 && !o.Incomplete {
		diags.Warning("no-workload", o.Source.subjectPlace(),
			fmt.Sprintf("%s has no Workload below %q", o.Source.Repo, o.Source.Ref.Path))
	}
}

// noticeOthers reports all skipped documents in one notice.
func noticeOthers(parts []*Objects, diags *diag.List) {
	total, byKind := 0, map[string]int{}
	for _, part := range parts {
		for kind, n := range part.Others {
			byKind[kind] += n
			total += n
		}
	}
	if total == 0 {
		return
	}
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		list = append(list, fmt.Sprintf("%s (%d)", kind, byKind[kind]))
	}
	diags.Notice("other-kinds", diag.Place{}, fmt.Sprintf("skipped %s of other API groups: %s",
		diag.Plural(total, "document"), strings.Join(list, ", ")))
}

// UniqueEnvironments returns the environments of a control plane in promotion order, and reports those that have the same
// name.
func UniqueEnvironments(objects *Objects) ([]*Environment, diag.List) {
	var diags diag.List
	environments := gather([]*Objects{objects}, func(o *Objects) []*Environment { return o.Environments }, &diags)
	inPromotionOrder(environments)
	return environments, diags
}
