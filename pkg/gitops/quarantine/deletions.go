package quarantine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// Deletions returns an error for each changed registration to put into quarantine, so that the guard against mass
// deletions accepts the rest: those that remove most published targets come first, and no more than necessary. It
// returns none if the removals that have other causes, such as a policy that the platform team removed, are already too
// many.
func Deletions(ctx context.Context, l *source.Loader, q *Set, fleet *model.Fleet, tree *render.Tree, at Deployed) diag.List {
	last := lastCommitsOf(at.Made)
	diff, err := change.CompareTargets(at.Tree, tree)
	if err != nil || len(last.of) == 0 {
		return nil
	}
	gone, published := diff.Lost(), diff.PublishedTargets()
	if !change.TooManyDeletions(len(gone), published) {
		return nil
	}
	then, _ := l.FleetAt(ctx, fleet.Environment, fleet.Environments, last.pins())
	if then == nil {
		return nil
	}
	now := source.CompiledAt(fleet)
	lost := map[*model.WorkloadRegistration]int{}
	left := len(gone)
	for _, t := range gone {
		target := then.Target(t.Target)
		if target == nil || target.Registration == nil {
			continue
		}
		if at := source.PlaceOf(target.Registration); now[at] != last.of[at] && (q == nil || q.entries[at] == nil) {
			lost[target.Registration]++
			left--
		}
	}
	if change.TooManyDeletions(left, published) {
		return nil
	}
	return deletionErrors(lost, len(gone), published)
}

// deletionErrors reports the registrations that remove most targets, until the guard accepts the rest.
func deletionErrors(lost map[*model.WorkloadRegistration]int, gone, published int) (diags diag.List) {
	order := make([]*model.WorkloadRegistration, 0, len(lost))
	for r := range lost {
		order = append(order, r)
	}
	slices.SortFunc(order, func(a, b *model.WorkloadRegistration) int {
		return cmp.Or(cmp.Compare(lost[b], lost[a]), cmp.Compare(a.Name.Value, b.Name.Value), a.At.Compare(b.At))
	})
	for _, r := range order {
		if !change.TooManyDeletions(gone, published) {
			break
		}
		gone -= lost[r]
		diags.Error(change.RuleDeletions, r.Workload.Repo.At,
			fmt.Sprintf("%s%q: %d of the %d published targets would be removed", source.RegistrationSubject, r.Name.Value, lost[r], published),
			diag.Hint("if that is meant, give --allow-deletions"))
	}
	return diags
}
