package gitops

import (
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// inquiry finds out which registrations are to blame for an error.
type inquiry struct {
	byPlace map[place]*suspect
	// byRef are the registrations by where they say what is read.
	byRef map[spot]*suspect
	// byRepo are what was read of each branch, for tenants and for the platform.
	byRepo   map[branchOf][]*suspect
	platform map[branchOf][]string
	// targets are those of the fleet by where their names stand.
	targets map[spot][]*model.DeploymentTarget
	// onClusterType are the targets that are assigned to each.
	onClusterType map[*model.ClusterType][]*model.DeploymentTarget
}

// suspect is a registration that may be to blame.
type suspect struct {
	place
	registration *model.WorkloadRegistration
	// last is the commit that went out last, now the one that was compiled; empty if there is none, or
	// it is not known.
	last, now string
	// held says that the registration is held back at last already; leftOut that it is not there at all.
	held, leftOut bool
	// isNew says that nothing of the registration was ever published.
	isNew bool
}

// spot is a diag.Place that can be looked up.
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

func newInquiry(h *Hold, fleet *model.Fleet, assignments []schedule.Assignment) *inquiry {
	q := &inquiry{
		byPlace: map[place]*suspect{}, byRef: map[spot]*suspect{}, byRepo: map[branchOf][]*suspect{}, platform: map[branchOf][]string{},
		targets:       map[spot][]*model.DeploymentTarget{},
		onClusterType: map[*model.ClusterType][]*model.DeploymentTarget{},
	}
	for _, r := range fleet.Registrations {
		if !r.Broken { // else it is the platform's error
			q.suspect(h, r)
		}
	}
	for _, source := range fleet.Sources {
		at := place{source.Repo, source.Ref.Branch, cleanPath(source.Ref.Path)}
		if source.Ref.Role != model.Tenant {
			branch := branchOf{at.repo, at.branch}
			q.platform[branch] = append(q.platform[branch], at.path)
		} else if s := q.byPlace[at]; s != nil {
			s.now = source.Commit
		}
	}
	for _, target := range fleet.Targets {
		q.targets[spotOf(target.Name.At)] = append(q.targets[spotOf(target.Name.At)], target)
	}
	for _, a := range assignments {
		q.onClusterType[a.ClusterType] = append(q.onClusterType[a.ClusterType], a.Target)
	}
	return q
}

func (q *inquiry) suspect(h *Hold, r *model.WorkloadRegistration) {
	at := placeOf(r)
	if q.byPlace[at] != nil {
		return // registered twice, which is the platform's error
	}
	s := &suspect{place: at, registration: r, last: h.last[at], isNew: h.isNew(at)}
	if _, s.leftOut = h.commitOf(at); !s.leftOut {
		s.held = h.held[at] != nil
	}
	q.byPlace[at] = s
	branch := branchOf{at.repo, at.branch}
	q.byRepo[branch] = append(q.byRepo[branch], s)
	for _, value := range []model.Text{r.Workload.Repo, r.Workload.Branch, r.Workload.Path} {
		if !value.At.IsZero() {
			q.byRef[spotOf(value.At)] = s
		}
	}
}

// changed reports whether a registration is not compiled as it went out last, as far as is known.
func (s *suspect) changed() bool { return !s.held && (s.now == "" || s.now != s.last) }

// next is the commit to try instead of the one that is broken; empty if there is none.
func (s *suspect) next() string {
	if s.held || s.last == s.now {
		return ""
	}
	return s.last
}

// guilty returns the registrations that are to blame for an error; nil if it is the platform's.
func (q *inquiry) guilty(d diag.Diagnostic) []*suspect {
	if s := q.byRef[spotOf(d.At)]; s != nil && d.Rule != ruleDuplicateRegistration {
		return present([]*suspect{s})
	}
	found := q.below(d.At)
	for _, related := range d.Related {
		found = append(found, q.below(related.At)...)
	}
	if found = present(found); len(found) > 0 {
		return whoChanged(found)
	}
	return q.concerned(d)
}

// present returns each of the suspects once, but for those that are left out.
func present(all []*suspect) []*suspect {
	var once []*suspect
	for _, s := range all {
		if !s.leftOut && !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return once
}

// whoChanged returns those that changed, if others did not.
func whoChanged(all []*suspect) []*suspect {
	changed := slices.DeleteFunc(slices.Clone(all), func(s *suspect) bool { return !s.changed() })
	if len(changed) == 0 {
		return all
	}
	return changed
}

// below returns the registrations that a file is of. One that the platform reads as well is theirs only
// if they name it more closely: the control plane can hold workloads too.
func (q *inquiry) below(p diag.Place) []*suspect {
	if p.IsZero() {
		return nil
	}
	branch := branchOf{p.File.Repo, p.File.Branch}
	closest := -1
	for _, folder := range q.platform[branch] {
		if covers(folder, p.File.Path) {
			closest = max(closest, depth(folder))
		}
	}
	var found []*suspect
	for _, s := range q.byRepo[branch] {
		if covers(s.path, p.File.Path) && depth(s.path) > closest {
			found = append(found, s)
		}
	}
	return found
}

// covers reports whether a file is a path, or is below it.
func covers(path, file string) bool {
	return path == "." || path == file || strings.HasPrefix(file, path+"/")
}

// depth counts the names in a path.
func depth(path string) int {
	if path == "." {
		return 0
	}
	return strings.Count(path, "/") + 1
}

// concerned returns the registrations whose targets brought up an error in the platform's files, if
// it can be told that they are to blame.
func (q *inquiry) concerned(d diag.Diagnostic) []*suspect {
	var found []*suspect
	concerned := map[*model.DeploymentTarget]bool{}
	for _, at := range d.Concerns {
		for _, target := range q.targets[spotOf(at)] {
			if target.Registration == nil || q.byPlace[placeOf(target.Registration)] == nil {
				return nil
			}
			concerned[target] = true
			found = append(found, q.byPlace[placeOf(target.Registration)])
		}
	}
	found = present(found)
	alone := !q.othersFare(concerned)
	for _, s := range found {
		if !s.held && !s.changed() || alone && s.next() == "" && (!s.isNew || !q.leaves(found)) {
			return nil
		}
	}
	return found
}

// leaves reports whether registrations other than found have targets. If not, the platform's templates work for no
// target, so the platform is broken.
func (q *inquiry) leaves(found []*suspect) bool {
	for _, targets := range q.onClusterType {
		for _, target := range targets {
			if target.Registration == nil || !slices.Contains(found, q.byPlace[placeOf(target.Registration)]) {
				return true
			}
		}
	}
	return false
}

// othersFare reports whether each cluster type of some targets has other targets too. Else there is no
// telling whether the targets or the platform's templates and configuration for it are broken.
func (q *inquiry) othersFare(concerned map[*model.DeploymentTarget]bool) bool {
	for _, targets := range q.onClusterType {
		if n := among(targets, concerned); n > 0 && n == len(targets) {
			return false
		}
	}
	return true
}

func among(targets []*model.DeploymentTarget, which map[*model.DeploymentTarget]bool) int {
	n := 0
	for _, target := range targets {
		if which[target] {
			n++
		}
	}
	return n
}
