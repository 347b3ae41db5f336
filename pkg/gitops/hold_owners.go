package gitops

import (
	"context"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// owners say which registration had what was published.
type owners struct {
	// targets are those of the registrations that can be read still.
	targets map[string]place
	// names are those of registrations.
	names map[place]string
	// moved are the registrations that were at a place where nothing is registered now.
	moved map[registrationKey]bool
}

// registrationKey is what stays if a registration names another repository.
type registrationKey struct{ name, workspace string }

// of returns the registration that had a target. A registration that was moved to another place keeps what nobody else is
// known to have had.
func (o *owners) of(target *model.DeploymentTarget) (owner place, known bool) {
	if owner, known = o.targets[target.Name.Value]; known {
		return owner, true
	}
	r := target.Registration
	return placeOf(r), o.moved[registrationKey{r.Name.Value, r.Workspace.Value}]
}

// ownersThen finds out which registration had each target when something was published; nil if that cannot be.
func (l *Loader) ownersThen(ctx context.Context, then *Hold, fleet *model.Fleet, made *Provenance, claims []claim) *owners {
	published, _ := l.FleetHolding(ctx, fleet.Environment, fleet.Environments, &Hold{last: then.last, asPublished: true})
	if published == nil {
		return nil
	}
	all := &owners{map[string]place{}, map[place]string{}, map[registrationKey]bool{}}
	registered := map[place]bool{}
	for _, r := range fleet.Registrations {
		registered[placeOf(r)] = true
		all.names[placeOf(r)] = r.Name.Value
	}
	for _, target := range published.Targets {
		if target.Registration != nil {
			all.targets[target.Name.Value] = placeOf(target.Registration)
		}
	}
	isNew := func(c claim) bool {
		_, published := then.last[placeOf(c.target.Registration)]
		return !published
	}
	if !slices.ContainsFunc(claims, isNew) {
		return all
	}
	for _, r := range l.registrationsThen(ctx, fleet, made) {
		if _, published := then.last[placeOf(r)]; published && !registered[placeOf(r)] {
			all.moved[registrationKey{r.Name.Value, r.Workspace.Value}] = true
		}
	}
	return all
}

// registrationsThen reads the registrations as the platform's repositories had them when something was published. What
// cannot be read has none.
func (l *Loader) registrationsThen(ctx context.Context, fleet *model.Fleet, made *Provenance) (all []*model.WorkloadRegistration) {
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
			all = append(all, objects.Registrations...)
		}
	}
	return all
}
