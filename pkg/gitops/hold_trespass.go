package gitops

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

const (
	// RuleKeptFolder is a target in the place of one that may be that of a registration which is left out.
	RuleKeptFolder = "kept-folder"
	// RuleChangedOwner is a published target that would pass from one registration to another.
	RuleChangedOwner = "changed-owner"
)

// Deployed is what an environment is compared with: what is published at one place.
type Deployed struct {
	// Tree is nil if nothing is published.
	Tree fs.FS
	// Made says what it was compiled from; nil if that is not known.
	Made *Provenance
}

// Trespasses finds the targets of registrations that would take the place of a published one which was another's:
// the clusters would not remove what is there first, so the new owner would find the namespace of the old one with
// all that is in it. A target that its registration had when it went out last is in its own place. hold is nil if
// nothing is held back.
//
// Where it is not known what the branch holds now was compiled from, nothing can be found. What is kept for
// registrations that are left out has to stay theirs: that is found with what is known.
func (l *Loader) Trespasses(ctx context.Context, hold *Hold, fleet *model.Fleet, tree *render.Tree, at Deployed) diag.List {
	then := NewHold(at.Made)
	leavesOut := hold != nil && hold.LeavesOut()
	if len(then.last) == 0 || !leavesOut && (!then.complete || !l.mayPass(fleet, at.Made)) {
		return nil
	}
	change, err := CompareTargets(at.Tree, tree)
	if err != nil {
		return nil // it is reported when it is compared with what is published
	}
	claims := then.claims(fleet, change)
	if len(claims) == 0 {
		return nil
	}
	owners := l.ownersThen(ctx, then, fleet, at.Made, claims)
	if owners == nil {
		return nil // cannot be: it was read before
	}
	var diags diag.List
	for _, c := range claims {
		owner, known := owners.of(c.target)
		if known && owner == placeOf(c.target.Registration) {
			continue
		}
		if leavesOut {
			diags.Error(RuleKeptFolder, c.target.Name.At,
				fmt.Sprintf("deployment target %q would replace %s, which may belong to a registration that is held back", c.target.Name.Value, c.folder),
				diag.Hint("rename the target, or wait until the other registration is fixed or removed"))
			continue
		}
		was := "which is not known to belong to its registration"
		if known {
			was = fmt.Sprintf("which belongs to %s%q", registrationSubject, owners.names[owner])
		}
		diags.Error(RuleChangedOwner, c.target.Name.At,
			fmt.Sprintf("deployment target %q would replace %s, %s", c.target.Name.Value, c.folder, was),
			diag.Hint("publish once without it, so that the clusters remove the old target, then check its namespace for leftovers; render --keep-last-good does the former automatically"))
	}
	return diags
}

// mayPass reports whether a name can have become free since an output was made. If just one source is read at
// another commit, all that is published is still of those that had it.
func (l *Loader) mayPass(fleet *model.Fleet, made *Provenance) bool {
	now, _ := l.Origins(fleet)
	changed := 0
	for _, move := range sourceMoves(made.compiledFrom(), Provenance{Origins: now}.compiledFrom()) {
		changed += len(move.paths)
	}
	return changed > 1
}

// claim is a published target that a registration has which is not compiled as it went out last.
type claim struct {
	target *model.DeploymentTarget
	// folder is one of those in which it is published.
	folder string
}

// claims returns, once for each target, those that stay and that the commits which went out last do not vouch for.
func (h *Hold) claims(fleet *model.Fleet, change *Change) (claims []claim) {
	now := compiledAt(fleet)
	seen := map[string]bool{}
	for _, t := range change.Targets {
		target := fleet.Target(t.Target)
		if t.Action == Added || t.Action == Removed || target == nil || target.Registration == nil || seen[t.Target] {
			continue
		}
		at := placeOf(target.Registration)
		if last, published := h.last[at]; now[at] == "" || published && (last == "" || last == now[at]) {
			continue // it is the same, or a plain folder, of which nothing is known
		}
		seen[t.Target] = true
		claims = append(claims, claim{target, t.ClusterType + "/" + t.Target})
	}
	return claims
}

// compiledAt returns the commits at which the registrations of a fleet were read.
func compiledAt(fleet *model.Fleet) map[place]string {
	commits := map[place]string{}
	for _, s := range fleet.Sources {
		if s.Ref.Role == model.Tenant {
			commits[place{s.Repo, s.Ref.Branch, cleanPath(s.Ref.Path)}] = s.Commit
		}
	}
	return commits
}
