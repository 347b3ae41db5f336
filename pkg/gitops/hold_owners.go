package gitops

import (
	"context"
	"maps"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// owners maps published targets to the registrations that had them.
type owners struct {
	// targets has the registrations that can still be read, by full target name, and an empty place for the control
	// plane's own targets.
	targets map[string]place
	// workloads has the readable registrations by the names of their workloads.
	workloads map[string]place
	// names has the names of the registrations.
	names map[place]string
	// lost has the published registrations whose targets can no longer be determined.
	lost map[place]bool
	// moved has the former places of registrations, if nothing is registered there now.
	moved map[registrationKey]place
	// last has the commits of all published registrations.
	last map[place]string
}

// registrationKey identifies a registration whose repository changes.
type registrationKey struct{ name, workspace string }

// of returns the registration that had a published target which another registration claims; known is false if it
// cannot be determined. A target that no readable registration had belongs to an unreadable one: to the claimer if it is
// the only one. If several registrations moved to other places, each keeps the targets that no other registration had.
func (o *owners) of(claimer *model.WorkloadRegistration, published string) (owner place, known bool) {
	at := placeOf(claimer)
	was, isMoved := at, false
	if _, published := o.last[at]; !published {
		was, isMoved = o.moved[registrationKey{claimer.Name.Value, claimer.Workspace.Value}]
	}
	if owner, known = o.targets[published]; known {
		if isMoved && owner == was {
			return at, true
		}
		return owner, true
	}
	if !o.lost[was] {
		return at, false
	}
	for other := range o.lost {
		if other != was && !(isMoved && slices.Contains(slices.Collect(maps.Values(o.moved)), other)) {
			return at, false
		}
	}
	return at, true
}

// ownersThen returns the owners of the targets at the publication that made describes; nil if they cannot be
// determined.
func (l *Loader) ownersThen(ctx context.Context, then *Hold, fleet *model.Fleet, made *Provenance) *owners {
	all := &owners{map[string]place{}, map[string]place{}, map[place]string{}, map[place]bool{}, map[registrationKey]place{}, then.last}
	for _, r := range fleet.Registrations {
		all.names[placeOf(r)] = r.Name.Value
	}
	asThen := &Hold{last: then.last, asPublished: true}
	for _, objects := range l.platformThen(ctx, fleet, made) {
		asThen.gone = append(asThen.gone, goneSince(then, fleet, objects)...)
		for _, target := range objects.DeploymentTargets {
			all.targets[target.Name.Value] = place{}
		}
		for _, w := range objects.Workloads {
			for _, spec := range w.DeploymentTargets {
				all.targets[model.FullName(w.Name.Value, spec.Name.Value)] = place{}
			}
		}
	}
	still := map[registrationKey]bool{}
	for _, r := range fleet.Registrations {
		still[registrationKey{r.Name.Value, r.Workspace.Value}] = true
	}
	for _, r := range asThen.gone {
		all.names[placeOf(r)] = r.Name.Value
		if key := (registrationKey{r.Name.Value, r.Workspace.Value}); still[key] {
			all.moved[key] = placeOf(r)
		}
	}
	published, diags := l.FleetHolding(ctx, fleet.Environment, fleet.Environments, asThen)
	if published == nil {
		return nil
	}
	for _, target := range published.Targets {
		if target.Registration != nil {
			all.targets[target.Name.Value] = placeOf(target.Registration)
			all.workloads[target.Workload] = placeOf(target.Registration)
		}
	}
	broken := map[branchOf]bool{}
	for _, d := range diags {
		if d.Severity == diag.Error && d.At.File != nil {
			broken[branchOf{d.At.File.Repo, d.At.File.Branch}] = true
		}
	}
	read := compiledAt(published)
	for at, commit := range then.last {
		if commit == "" || read[at] != commit || broken[branchOf{at.repo, at.branch}] {
			all.lost[at] = true
		}
	}
	return all
}

// goneSince returns the published registrations that are no longer registered.
func goneSince(then *Hold, fleet *model.Fleet, objects *model.Objects) (gone []*model.WorkloadRegistration) {
	missing := maps.Clone(then.last)
	for _, r := range fleet.Registrations {
		delete(missing, placeOf(r))
	}
	for _, r := range objects.Registrations {
		if _, isGone := missing[placeOf(r)]; isGone {
			gone = append(gone, r)
		}
	}
	return gone
}

// platformThen reads the objects of the platform's repositories at the commits of a publication. Repositories that
// cannot be read are skipped.
func (l *Loader) platformThen(ctx context.Context, fleet *model.Fleet, made *Provenance) (all []*model.Objects) {
	var refs []model.Ref
	for _, s := range fleet.Sources {
		at := Origin{Role: s.Ref.Role, Repo: s.Repo, Branch: s.Ref.Branch, Path: cleanPath(s.Ref.Path)}
		for _, o := range made.Origins {
			if at.Commit = o.Commit; o.Role != model.Tenant && o.Commit != "" && o == at {
				ref := s.Ref
				ref.Commit = o.Commit
				refs = append(refs, ref)
			}
		}
	}
	run := &fleetLoad{Loader: l}
	for _, objects := range run.read(ctx, refs, noRegistration) {
		if objects != nil {
			all = append(all, objects)
		}
	}
	return all
}
