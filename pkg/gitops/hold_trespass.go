package gitops

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

const (
	// RuleKeptFolder is the rule for a target that would replace one that may belong to a registration that is left
	// out.
	RuleKeptFolder = "kept-folder"
	// RuleChangedOwner is the rule for a published target that would change its registration.
	RuleChangedOwner = "changed-owner"
)

// Deployed is the published output of an environment in one GitOps repository.
type Deployed struct {
	// Tree is nil if nothing is published.
	Tree fs.FS
	// Made is the provenance of the output; nil if unknown.
	Made *Provenance
}

// Trespasses returns an error for each target that would replace a published target of another registration: the
// clusters would keep the namespace, so the new owner would get the namespace of the old one with its contents. A
// target that belonged to the same registration at the last publication is allowed. hold is nil if nothing is held
// back.
//
// If the sources of the published output are unknown, it returns nothing, except for targets that are kept for
// registrations that are left out: these are checked with the sources that are known.
func (l *Loader) Trespasses(ctx context.Context, hold *Hold, fleet *model.Fleet, tree *render.Tree, at Deployed) diag.List {
	then := NewHold(at.Made)
	leavesOut := hold != nil && hold.LeavesOut()
	if len(then.last) == 0 || !leavesOut && (!then.complete || !l.mayPass(fleet, at.Made)) {
		return nil
	}
	change, err := CompareTargets(at.Tree, tree)
	if err != nil {
		return nil // the comparison with the published output reports the error
	}
	claims := then.claims(fleet, change)
	if leavesOut {
		claims = append(claims, then.nameClaims(fleet, change)...)
	}
	if len(claims) == 0 {
		return nil
	}
	owners := l.ownersThen(ctx, then, fleet, at.Made)
	if owners == nil {
		return nil // cannot be: it was read before
	}
	var diags diag.List
	for _, c := range claims {
		owner, known := owners.of(c.target.Registration, c.published)
		if known && (owner == placeOf(c.target.Registration) || c.published != c.target.Name.Value) {
			continue
		}
		if c.published != c.target.Name.Value {
			if had, ok := owners.workloads[c.target.Workload]; ok && had == placeOf(c.target.Registration) {
				continue
			}
			diags.Error(RuleKeptFolder, c.target.Name.At,
				fmt.Sprintf("workload %q may belong to a registration that is held back, as %s is published", c.target.Workload, c.folder),
				diag.Hint("rename the workload, or wait until the other registration is fixed or removed"))
			continue
		}
		if leavesOut {
			diags.Error(RuleKeptFolder, c.target.Name.At,
				fmt.Sprintf("deployment target %q would replace %s, which may belong to a registration that is held back", c.target.Name.Value, c.folder),
				diag.Hint("rename the target, or wait until the other registration is fixed or removed"))
			continue
		}
		was := "which is not known to belong to its registration"
		switch {
		case known && owner == (place{}):
			was = "which belongs to the control plane"
		case known:
			was = fmt.Sprintf("which belongs to %s%q", registrationSubject, owners.names[owner])
		}
		diags.Error(RuleChangedOwner, c.target.Name.At,
			fmt.Sprintf("deployment target %q would replace %s, %s", c.target.Name.Value, c.folder, was),
			diag.Hint("publish once without it, so that the clusters remove the old target, then check its namespace for leftovers; render --keep-last-good does the former automatically"))
	}
	return diags
}

// mayPass reports whether a target name can have become free since an output was made. If at most one source changed,
// no target can have changed its owner, unless the output kept folders of unknown owners.
func (l *Loader) mayPass(fleet *model.Fleet, made *Provenance) bool {
	now, _ := l.Origins(fleet)
	changed := 0
	for _, move := range sourceMoves(made.compiledFrom(), Provenance{Origins: now}.compiledFrom()) {
		changed += len(move.paths)
	}
	return changed > 1 || len(made.Held) > 0
}

// claim is a target of a registration that is not compiled at its last published commit, with a published target of the
// same name or of a workload that may have the same name.
type claim struct {
	target *model.DeploymentTarget
	// published is the full name of the published target.
	published string
	// folder is one of the folders in which it is published.
	folder string
}

// claims returns one claim for each target that stays and whose registration differs from its last published commit.
func (h *Hold) claims(fleet *model.Fleet, change *Change) (claims []claim) {
	now := compiledAt(fleet)
	seen := map[string]bool{}
	for _, t := range change.Targets {
		target := fleet.Target(t.Target)
		if t.Action == Added || t.Action == Removed || target == nil || seen[t.Target] || !h.differs(target.Registration, now) {
			continue
		}
		seen[t.Target] = true
		claims = append(claims, claim{target, t.Target, t.ClusterType + "/" + t.Target})
	}
	return claims
}

// nameClaims returns one claim for each new target of a workload whose name a published workload may have: that of a
// registration that is left out is known by the names of its targets only.
func (h *Hold) nameClaims(fleet *model.Fleet, change *Change) (claims []claim) {
	now := compiledAt(fleet)
	seen := map[string]bool{}
	for _, t := range change.Targets {
		target := fleet.Target(t.Target)
		if t.Action != Added || target == nil || seen[t.Target] || !h.differs(target.Registration, now) {
			continue
		}
		seen[t.Target] = true
		for _, other := range change.Targets {
			if other.Action != Added && fleet.Target(other.Target) == nil && strings.HasPrefix(other.Target, target.Workload+"-") {
				claims = append(claims, claim{target, other.Target, other.ClusterType + "/" + other.Target})
			}
		}
	}
	return claims
}

// differs reports whether a registration is compiled at another commit than the last published one. now has the commits
// of all registrations.
func (h *Hold) differs(r *model.WorkloadRegistration, now map[place]string) bool {
	if r == nil {
		return false
	}
	at := placeOf(r)
	last, published := h.last[at]
	return now[at] != "" && (!published || last != now[at]) // a plain folder has no commit
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
