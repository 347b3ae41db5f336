package quarantine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// owners maps published targets to the registrations that had them. A registration that moved to another repository,
// branch or path stands under its present place.
type owners struct {
	// targets has the registrations that can still be read, by full target name, and an empty place for the control
	// plane's own targets.
	targets map[string]source.Place
	// workloads has the registrations that can still be read, by the names of their workloads.
	workloads map[string]source.Place
	// names has the names of the registrations.
	names map[source.Place]string
	// lost has the published registrations whose targets can no longer be determined.
	lost map[source.Place]bool
	// moved has the present places of registrations that moved, by their former places.
	moved map[source.Place]source.Place
}

// of returns the registration that had a published target which another registration claims; known is false if it
// cannot be determined. A target that no readable registration had belongs to an unreadable one: to the claimer if it is
// the only one. If several registrations moved to other places, each keeps the targets that no other registration had.
func (o *owners) of(r *model.WorkloadRegistration, published string) (owner source.Place, known bool) {
	if owner, known = o.targets[published]; known {
		return owner, true
	}
	claimer := source.PlaceOf(r)
	if !o.lost[claimer] {
		return claimer, false
	}
	hasMoved := map[source.Place]bool{}
	for _, present := range o.moved {
		hasMoved[present] = true
	}
	for other := range o.lost {
		if other != claimer && !(hasMoved[claimer] && hasMoved[other]) {
			return claimer, false
		}
	}
	return claimer, true
}

func (o *owners) describe(owner source.Place, known bool) string {
	switch {
	case !known:
		return "whose registration is unknown"
	case owner == source.Place{}:
		return "which belongs to the control plane"
	default:
		return fmt.Sprintf("which belongs to %s%q", source.RegistrationSubject, o.names[owner])
	}
}

func (o *owners) present(at source.Place) source.Place {
	if to, moved := o.moved[at]; moved {
		return to
	}
	return at
}

// publishedOwners returns the owners of the targets at the publication that made describes, by compiling its commits
// once more; nil if they cannot be determined.
func publishedOwners(ctx context.Context, l *source.Loader, last lastCommits, fleet *model.Fleet, made *message.Provenance) *owners {
	all := &owners{map[string]source.Place{}, map[string]source.Place{}, map[source.Place]string{}, map[source.Place]bool{}, map[source.Place]source.Place{}}
	pins := last.pins()
	for _, objects := range l.PlatformAt(ctx, fleet, made.Origins) {
		pins.Removed = append(pins.Removed, last.removed(fleet, objects)...)
		for _, target := range objects.Targets {
			all.targets[target.Name.Value] = source.Place{}
		}
		for _, w := range objects.Workloads {
			for _, spec := range w.DeploymentTargets {
				all.targets[model.FullName(w.Name.Value, spec.Name.Value)] = source.Place{}
			}
		}
	}
	all.addRegistrations(last, fleet.Registrations, pins.Removed)
	published, diags := l.FleetAt(ctx, fleet.Environment, fleet.Environments, pins)
	if published == nil {
		return nil
	}
	for _, target := range published.Targets {
		if target.Registration != nil {
			owner := all.present(source.PlaceOf(target.Registration))
			all.targets[target.Name.Value], all.workloads[target.Workload] = owner, owner
		}
	}
	broken := map[branchOf]bool{}
	for _, d := range diags {
		if d.Severity == diag.Error && d.At.File != nil {
			broken[branchOf{d.At.File.Repo, d.At.File.Branch}] = true
		}
	}
	read := source.CompiledAt(published)
	for at, commit := range last.of {
		if commit == "" || read[at] != commit || broken[branchOf{at.Repo, at.Branch}] {
			all.lost[all.present(at)] = true
		}
	}
	return all
}

// addRegistrations notes the names of registrations, and which of them moved: those that keep their name and workspace,
// and whose former place is no longer registered.
func (o *owners) addRegistrations(last lastCommits, now, removed []*model.WorkloadRegistration) {
	type key struct{ name, workspace string }
	places := map[key]source.Place{}
	for _, r := range now {
		o.names[source.PlaceOf(r)] = r.Name.Value
		if _, published := last.of[source.PlaceOf(r)]; !published {
			places[key{r.Name.Value, r.Workspace.Value}] = source.PlaceOf(r)
		}
	}
	for _, r := range removed {
		o.names[source.PlaceOf(r)] = r.Name.Value
		if to, moved := places[key{r.Name.Value, r.Workspace.Value}]; moved {
			o.moved[source.PlaceOf(r)] = to
		}
	}
}

// removed returns the published registrations among objects that are no longer registered.
func (l lastCommits) removed(fleet *model.Fleet, objects *model.Objects) (removed []*model.WorkloadRegistration) {
	registered := map[source.Place]bool{}
	for _, r := range fleet.Registrations {
		registered[source.PlaceOf(r)] = true
	}
	for _, r := range objects.Registrations {
		if _, published := l.of[source.PlaceOf(r)]; published && !registered[source.PlaceOf(r)] {
			removed = append(removed, r)
		}
	}
	return removed
}

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
			fmt.Sprintf("%s%q: %d of the %d published assignments would be removed", source.RegistrationSubject, r.Name.Value, lost[r], published),
			diag.Hint("if intended, use --allow-deletions"))
	}
	return diags
}
