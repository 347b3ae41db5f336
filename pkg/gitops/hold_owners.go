package gitops

import (
	"context"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// owners maps published targets to the registrations that had them.
type owners struct {
	// targets has the registrations that can still be read, by full target name.
	targets map[string]place
	// names has the names of the registrations.
	names map[place]string
	// moved has the registrations whose former place is no longer registered.
	moved map[registrationKey]bool
}

// registrationKey identifies a registration whose repository changes.
type registrationKey struct{ name, workspace string }

// of returns the registration that had a target; known is false if it cannot be determined. A registration that moved
// to another place keeps its targets unless another one is known to have had them.
func (o *owners) of(target *model.DeploymentTarget) (owner place, known bool) {
	if owner, known = o.targets[target.Name.Value]; known {
		return owner, true
	}
	r := target.Registration
	return placeOf(r), o.moved[registrationKey{r.Name.Value, r.Workspace.Value}]
}

// ownersThen returns the owners of the targets at the publication that made describes; nil if they cannot be
// determined.
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

// registrationsThen reads the registrations from the platform's commits of a publication. Repositories that cannot be
// read are skipped.
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
