package quarantine

import (
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// possibleCauses are the registrations of a fleet.
type possibleCauses struct {
	fleet   *model.Fleet
	all     []*possibleCause
	byPlace map[source.Place]*possibleCause
	// targets are those of the fleet by the places of their names.
	targets map[spot][]*model.DeploymentTarget
	// onClusterType are the targets that are assigned to each cluster type.
	onClusterType map[*model.ClusterType][]*model.DeploymentTarget
}

// possibleCause is a registration that may cause an error.
type possibleCause struct {
	source.Place
	registration *model.WorkloadRegistration
	// entry is nil if the registration is not in quarantine.
	entry *quarantined
	// last is the last published commit, now the compiled one; empty if there is none or if it is unknown.
	last, now string
	// isNew says that nothing of the registration was ever published.
	isNew bool
}

func (c *possibleCause) leftOut() bool { return c.entry != nil && c.entry.commit == "" }

// changed reports whether the registration is compiled at another commit than its last published one, as far as is
// known.
func (c *possibleCause) changed() bool { return c.entry == nil && (c.now == "" || c.now != c.last) }

// next is the commit to try instead of the broken one; empty if there is none.
func (c *possibleCause) next() string {
	if c.entry != nil || c.last == c.now {
		return ""
	}
	return c.last
}

// spot is a diag.Place that can be the key of a map.
type spot struct {
	diag.File
	line, column int
}

func spotOf(p diag.Place) spot {
	if p.File == nil {
		return spot{}
	}
	return spot{*p.File, p.Line, p.Column}
}

// branchOf is a branch of a repository.
type branchOf struct{ repo, branch string }

func newPossibleCauses(q *Set, fleet *model.Fleet, assignments []schedule.Assignment) *possibleCauses {
	cs := &possibleCauses{
		fleet: fleet, byPlace: map[source.Place]*possibleCause{},
		targets:       map[spot][]*model.DeploymentTarget{},
		onClusterType: map[*model.ClusterType][]*model.DeploymentTarget{},
	}
	now := source.CompiledAt(fleet)
	for _, r := range fleet.Registrations {
		at := source.PlaceOf(r)
		if r.Broken || cs.byPlace[at] != nil {
			continue // a broken object, or the same place registered twice, is the platform's error
		}
		c := &possibleCause{Place: at, registration: r, entry: q.entries[at], last: q.last.of[at], now: now[at], isNew: q.last.isNew(at)}
		cs.byPlace[at] = c
		cs.all = append(cs.all, c)
	}
	for _, target := range fleet.Targets {
		cs.targets[spotOf(target.Name.At)] = append(cs.targets[spotOf(target.Name.At)], target)
	}
	for _, a := range assignments {
		cs.onClusterType[a.ClusterType] = append(cs.onClusterType[a.ClusterType], a.Target)
	}
	return cs
}

// causes returns the registrations that cause an error; nil if it is the platform's.
func (cs *possibleCauses) causes(d diag.Diagnostic) []*possibleCause {
	if c := cs.naming(d.At); c != nil && d.Rule != source.RuleDuplicateRegistration {
		return compiled([]*possibleCause{c})
	}
	found := cs.covering(d.At)
	for _, related := range d.Related {
		found = append(found, cs.covering(related.At)...)
	}
	if found = compiled(found); len(found) == 0 {
		return cs.concerned(d)
	}
	changed := slices.DeleteFunc(slices.Clone(found), func(c *possibleCause) bool { return !c.changed() })
	if len(changed) == 0 {
		return found
	}
	return changed
}

// compiled returns each of the registrations once, except those that are left out.
func compiled(all []*possibleCause) []*possibleCause {
	var once []*possibleCause
	for _, c := range all {
		if !c.leftOut() && !slices.Contains(once, c) {
			once = append(once, c)
		}
	}
	return once
}

// naming returns the registration that has a value at p which says what is read, or nil.
func (cs *possibleCauses) naming(p diag.Place) *possibleCause {
	for _, c := range cs.all {
		w := c.registration.Workload
		for _, value := range []model.Text{w.Repo, w.Branch, w.Path} {
			if !value.At.IsZero() && value.At.Compare(p) == 0 {
				return c
			}
		}
	}
	return nil
}

// covering returns the registrations whose path covers a file. A file that the platform reads as well is theirs only
// if their path is longer than the platform's: a repository of the platform can hold workloads too.
func (cs *possibleCauses) covering(p diag.Place) (found []*possibleCause) {
	if p.IsZero() {
		return nil
	}
	longest := -1
	for _, source := range cs.fleet.Sources {
		if path := giturl.CleanPath(source.Ref.Path); source.Ref.Role != model.Tenant && source.Repo == p.File.Repo && source.Ref.Branch == p.File.Branch && covers(path, p.File.Path) {
			longest = max(longest, depth(path))
		}
	}
	for _, c := range cs.all {
		if c.Repo == p.File.Repo && c.Branch == p.File.Branch && covers(c.Path, p.File.Path) && depth(c.Path) > longest {
			found = append(found, c)
		}
	}
	return found
}

func covers(path, file string) bool {
	return path == "." || path == file || strings.HasPrefix(file, path+"/")
}

func depth(path string) int {
	if path == "." {
		return 0
	}
	return strings.Count(path, "/") + 1
}

// concerned returns the registrations with whose targets an error in the platform's files came up, or nil if they need
// not be its cause.
func (cs *possibleCauses) concerned(d diag.Diagnostic) []*possibleCause {
	var found []*possibleCause
	targets := map[*model.DeploymentTarget]bool{}
	for _, at := range d.Concerns {
		for _, target := range cs.targets[spotOf(at)] {
			c := cs.of(target)
			if c == nil {
				return nil
			}
			targets[target] = true
			found = append(found, c)
		}
	}
	found = compiled(found)
	alone := cs.aloneOnClusterType(targets)
	for _, c := range found {
		inQuarantine := c.entry != nil
		if !inQuarantine && !c.changed() || alone && c.next() == "" && (!c.isNew || !cs.othersHaveTargets(found)) {
			return nil
		}
	}
	return found
}

// of returns the registration of a target; nil for one of the platform's.
func (cs *possibleCauses) of(target *model.DeploymentTarget) *possibleCause {
	if target.Registration == nil {
		return nil
	}
	return cs.byPlace[source.PlaceOf(target.Registration)]
}

// othersHaveTargets reports whether registrations other than found have targets. If not, the platform's templates work
// for no target, so the platform is broken.
func (cs *possibleCauses) othersHaveTargets(found []*possibleCause) bool {
	for _, targets := range cs.onClusterType {
		for _, target := range targets {
			if c := cs.of(target); c == nil || !slices.Contains(found, c) {
				return true
			}
		}
	}
	return false
}

// aloneOnClusterType reports whether a cluster type has none but these targets. Then nothing reports whether the targets
// or the platform's templates and configuration for it are broken.
func (cs *possibleCauses) aloneOnClusterType(these map[*model.DeploymentTarget]bool) bool {
	for _, targets := range cs.onClusterType {
		if !slices.ContainsFunc(targets, func(t *model.DeploymentTarget) bool { return !these[t] }) {
			return true
		}
	}
	return false
}
