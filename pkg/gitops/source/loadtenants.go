package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// RegistrationSubject is the prefix of messages about an application repository.
const RegistrationSubject = "WorkloadRegistration "

// Place identifies the source of a registration.
type Place struct{ Repo, Branch, Path string }

// PlaceOf returns the place of a registration.
func PlaceOf(r *model.WorkloadRegistration) Place { return placeOf(r.Workload) }

func placeOf(at model.Location) Place {
	repo, err := giturl.NormalURL(at.Repo.Value)
	if err != nil {
		repo = at.Repo.Value // it is refused when it is read
	}
	return Place{repo, at.Branch.Value, giturl.CleanPath(at.Path.Value)}
}

// CompiledAt returns the commits at which the registrations of a fleet were read.
func CompiledAt(fleet *model.Fleet) map[Place]string {
	commits := map[Place]string{}
	for _, s := range fleet.Sources {
		if s.Ref.Role == model.Tenant {
			commits[Place{s.Repo, s.Ref.Branch, giturl.CleanPath(s.Ref.Path)}] = s.Commit
		}
	}
	return commits
}

// PlatformAt reads the objects of the platform's repositories at the commits of origins. Repositories that cannot be read
// are skipped.
func (l *Loader) PlatformAt(ctx context.Context, fleet *model.Fleet, origins []Origin) (all []*model.Objects) {
	commits := map[Origin]string{}
	for _, o := range origins {
		commits[o.WithoutCommit()] = o.Commit
	}
	var refs []model.Ref
	for _, s := range fleet.Sources {
		ref := s.Ref
		ref.Commit = commits[originOf(s.Ref, s.Repo, "")]
		if ref.Role != model.Tenant && ref.Commit != "" {
			refs = append(refs, ref)
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

func (l *fleetLoad) readTenants(ctx context.Context) {
	refs, admitted := l.tenantRefs()
	for _, objects := range l.read(ctx, refs, func(i int) *model.WorkloadRegistration { return admitted[i] }) {
		if objects != nil {
			l.parts = append(l.parts, objects)
		}
	}
	l.explainGone()
}

// tenantRefs returns the refs of the registrations, with the registration of each.
func (l *fleetLoad) tenantRefs() (refs []model.Ref, admitted []*model.WorkloadRegistration) {
	var registrations []*model.WorkloadRegistration
	for _, part := range l.parts {
		registrations = append(registrations, part.Registrations...)
	}
	registrations = append(registrations, l.pins.Removed...)
	slices.SortFunc(registrations, func(a, b *model.WorkloadRegistration) int { return a.At.Compare(b.At) })
	seen := map[Place]*model.WorkloadRegistration{}
	for _, r := range registrations {
		if r.Broken || l.registeredTwice(r, seen) {
			l.unread = true
			continue
		}
		commit := ""
		if l.pins.Commit != nil {
			var skip bool
			if commit, skip = l.pins.Commit(PlaceOf(r)); skip {
				l.unread = true
				continue
			}
		}
		admitted = append(admitted, r)
		ref := TenantRef(r)
		ref.Commit = commit
		refs = append(refs, l.replaced(PlaceOf(r).Repo, ref))
	}
	return refs, admitted
}

// TenantRef returns the tip of the branch of a registration.
func TenantRef(r *model.WorkloadRegistration) model.Ref {
	return model.Ref{
		Repo: r.Workload.Repo.Value, Branch: r.Workload.Branch.Value, Path: r.Workload.Path.Value,
		Role: model.Tenant, At: r.Workload.Repo.At, BranchAt: r.Workload.Branch.At, PathAt: r.Workload.Path.At,
		Subject: RegistrationSubject + fmt.Sprintf("%q", r.Name.Value),
	}
}

// explainGone adds a hint for an application repository that was removed on purpose. Its published output is not removed
// without confirmation.
func (l *fleetLoad) explainGone() {
	for i, d := range l.diags {
		if d.Rule == giterror.RuleAccessDenied && strings.HasPrefix(d.Message, RegistrationSubject) {
			l.diags[i].Hint = strings.TrimPrefix(d.Hint+"; if the repository was deleted, remove the WorkloadRegistration and with it its deployment targets", "; ")
		}
	}
}

// RuleDuplicateRegistration is a place with more registrations than allowed.
const RuleDuplicateRegistration = "duplicate-registration"

// registeredTwice reports a place that another registration has already: all its workloads would be duplicated.
func (l *fleetLoad) registeredTwice(r *model.WorkloadRegistration, seen map[Place]*model.WorkloadRegistration) bool {
	if _, err := giturl.NormalURL(r.Workload.Repo.Value); err != nil {
		return false // reported when it is read
	}
	first, twice := seen[PlaceOf(r)]
	if !twice {
		seen[PlaceOf(r)] = r
		return false
	}
	if first.Name.Value == r.Name.Value {
		return true // reported as a duplicate object
	}
	l.diags.Error(RuleDuplicateRegistration, r.Workload.Repo.At,
		fmt.Sprintf("WorkloadRegistration %q registers the same location as %q", r.Name.Value, first.Name.Value),
		diag.See(first.Workload.Repo.At, "first registered here"), diag.Hint("remove one of them"))
	return true
}
