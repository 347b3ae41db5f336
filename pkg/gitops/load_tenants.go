package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// registrationSubject begins what is said of an application repository.
const registrationSubject = "WorkloadRegistration "

// place identifies what a registration points to.
type place struct{ repo, branch, path string }

// readTenants reads the application repositories.
func (l *fleetLoad) readTenants(ctx context.Context) {
	refs, admitted := l.tenantRefs()
	for _, objects := range l.read(ctx, refs, func(i int) *model.WorkloadRegistration { return admitted[i] }) {
		if objects != nil {
			l.parts = append(l.parts, objects)
		}
	}
	l.explainGone()
}

// tenantRefs returns what the registrations name, and which of them names what.
func (l *fleetLoad) tenantRefs() (refs []model.Ref, admitted []*model.WorkloadRegistration) {
	var registrations []*model.WorkloadRegistration
	for _, part := range l.parts {
		registrations = append(registrations, part.Registrations...)
	}
	if l.hold != nil {
		registrations = append(registrations, l.hold.gone...)
	}
	slices.SortFunc(registrations, func(a, b *model.WorkloadRegistration) int { return a.At.Compare(b.At) })
	seen := map[place]*model.WorkloadRegistration{}
	ofRepo := map[string]int{}
	for _, r := range registrations {
		if ofRepo[r.Workload.Repo.Value]++; l.registeredTooOften(r, ofRepo[r.Workload.Repo.Value]) {
			l.unread = true
			continue
		}
		if r.Broken || l.registeredTwice(r, seen) {
			l.unread = true
			continue
		}
		commit, leftOut := l.hold.commitOf(placeOf(r))
		if leftOut {
			l.unread = true
			continue
		}
		admitted = append(admitted, r)
		refs = append(refs, l.replaced(placeOf(r).repo, model.Ref{
			Repo: r.Workload.Repo.Value, Branch: r.Workload.Branch.Value, Commit: commit, Path: r.Workload.Path.Value,
			Role: model.Tenant, At: r.Workload.Repo.At, BranchAt: r.Workload.Branch.At, PathAt: r.Workload.Path.At,
			Subject: registrationSubject + fmt.Sprintf("%q", r.Name.Value),
		}))
	}
	return refs, admitted
}

// explainGone adds what to do about an application repository that is gone on purpose. What runs of
// it is not removed before somebody says so.
func (l *fleetLoad) explainGone() {
	for i, d := range l.diags {
		if d.Rule == RuleAccessDenied && strings.HasPrefix(d.Message, registrationSubject) {
			l.diags[i].Hint = strings.TrimPrefix(d.Hint+"; if the repository is gone for good, remove the WorkloadRegistration, and its deployment targets go", "; ")
		}
	}
}

// ruleDuplicateRegistration is a place that is registered more often than may be.
const ruleDuplicateRegistration = "duplicate-registration"

// mostRegistrations is how often one repository may be registered: each registration is read by itself.
const mostRegistrations = 1000

// registeredTooOften reports, once, a repository that has more registrations than may be. It is the
// n-th.
func (l *fleetLoad) registeredTooOften(r *model.WorkloadRegistration, n int) bool {
	if n == mostRegistrations+1 {
		l.diags.Error(ruleDuplicateRegistration, r.Workload.Repo.At,
			fmt.Sprintf("%s is registered more than %d times", r.Workload.Repo.Value, mostRegistrations),
			diag.Hint("register a folder that holds several workloads once"))
	}
	return n > mostRegistrations
}

// registeredTwice reports a place that another registration has already: its workloads would all be
// there twice.
func (l *fleetLoad) registeredTwice(r *model.WorkloadRegistration, seen map[place]*model.WorkloadRegistration) bool {
	repo, err := NormalURL(r.Workload.Repo.Value)
	if err != nil {
		return false // reported when it is read
	}
	key := place{repo, r.Workload.Branch.Value, cleanPath(r.Workload.Path.Value)}
	first, twice := seen[key]
	if !twice {
		seen[key] = r
		return false
	}
	l.diags.Error(ruleDuplicateRegistration, r.Workload.Repo.At,
		fmt.Sprintf("WorkloadRegistration %q registers the same place as %q", r.Name.Value, first.Name.Value),
		diag.See(first.Workload.Repo.At, "first registered here"), diag.Hint("remove one of them"))
	return true
}
