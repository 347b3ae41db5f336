package quarantine

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

const (
	// RuleKeptDirectory is the rule for a target that would replace one that may belong to a registration that is left
	// out.
	RuleKeptDirectory = "kept-folder"
	// RuleChangedOwner is the rule for a published target that would change its registration.
	RuleChangedOwner = "changed-owner"
)

// Deployed is the published output of an environment in one GitOps repository.
type Deployed struct {
	// Tree is nil if nothing is published.
	Tree fs.FS
	// Made is the provenance of the output; nil if unknown.
	Made *message.Provenance
}

// PathConflicts returns an error for each target that would replace a published target of another registration: the
// clusters would keep the namespace, so the new owner would get the namespace of the old one with its contents. A
// target that belonged to the same registration at the last publication is allowed. q is nil if nothing is in
// quarantine.
//
// If the sources of the published output are unknown, it returns nothing, except for targets that are kept for
// registrations that are left out: these are checked with the sources that are known.
func PathConflicts(ctx context.Context, l *source.Loader, q *Set, fleet *model.Fleet, tree *render.Tree, at Deployed) (diags diag.List) {
	last := lastCommitsOf(at.Made)
	leavesOut := q.LeavesOut()
	if len(last.of) == 0 || !leavesOut && (!last.complete || !ownersCanChange(l, fleet, at.Made)) {
		return nil
	}
	change, err := change.CompareTargets(at.Tree, tree)
	if err != nil {
		return nil // the comparison with the published output reports the error
	}
	claims := last.claims(fleet, change)
	if leavesOut {
		claims = append(claims, last.nameClaims(fleet, change)...)
	}
	if len(claims) == 0 {
		return nil
	}
	owners := publishedOwners(ctx, l, last, fleet, at.Made)
	if owners == nil {
		return nil // cannot be: it was read before
	}
	for _, c := range claims {
		owner, known := owners.of(c.target.Registration, c.published)
		sameName := c.published == c.target.Name.Value
		workload, hadWorkload := owners.workloads[c.target.Workload]
		switch {
		case known && (owner == source.PlaceOf(c.target.Registration) || !sameName):
		case !sameName && hadWorkload && workload == source.PlaceOf(c.target.Registration):
		case !sameName:
			diags.Error(RuleKeptDirectory, c.target.Name.At,
				fmt.Sprintf("workload %q may belong to a registration that is quarantined, as %s is published", c.target.Workload, c.directory),
				diag.Hint("rename the workload, or wait until the other registration is fixed or removed"))
		case leavesOut:
			diags.Error(RuleKeptDirectory, c.target.Name.At,
				fmt.Sprintf("deployment target %q would replace %s, which may belong to a registration that is quarantined", c.target.Name.Value, c.directory),
				diag.Hint("rename the target, or wait until the other registration is fixed or removed"))
		default:
			diags.Error(RuleChangedOwner, c.target.Name.At,
				fmt.Sprintf("deployment target %q would replace %s, %s", c.target.Name.Value, c.directory, owners.describe(owner, known)),
				diag.Hint("publish once without it, so that the clusters remove the old target, then check its namespace for leftovers; render --keep-last-good publishes without it automatically"))
		}
	}
	return diags
}

// ownersCanChange reports whether a target name can have become free since an output was made. If at most one source
// changed, no target can have changed its owner, unless the output kept directories of unknown owners.
func ownersCanChange(l *source.Loader, fleet *model.Fleet, made *message.Provenance) bool {
	now, _ := l.Origins(fleet)
	commits := map[source.Origin]string{}
	for _, o := range made.CompiledFrom() {
		commits[o.WithoutCommit()] = o.Commit
	}
	changed := 0
	for _, o := range (message.Provenance{Origins: now}).CompiledFrom() {
		if commit, wasRead := commits[o.WithoutCommit()]; !wasRead || commit != o.Commit {
			changed++
		}
		delete(commits, o.WithoutCommit())
	}
	return changed+len(commits) > 1 || len(made.Quarantined) > 0
}

// claim is a target of a registration that is not compiled at its last published commit, with a published target of the
// same name or of a workload that may have the same name.
type claim struct {
	target *model.DeploymentTarget
	// published is the full name of the published target.
	published string
	// directory is one of the directories in which it is published.
	directory string
}

// claims returns one claim for each target that stays and whose registration differs from its last published commit.
func (l lastCommits) claims(fleet *model.Fleet, diff *change.Change) (claims []claim) {
	now := source.CompiledAt(fleet)
	seen := map[string]bool{}
	for _, t := range diff.Targets {
		target := fleet.Target(t.Target)
		if t.Action == change.Added || t.Action == change.Removed || target == nil || seen[t.Target] || !l.differs(target.Registration, now) {
			continue
		}
		seen[t.Target] = true
		claims = append(claims, claim{target, t.Target, t.ClusterType + "/" + t.Target})
	}
	return claims
}

// nameClaims returns one claim for each new target of a workload whose name a published workload may have: that of a
// registration that is left out is known by the names of its targets only.
func (l lastCommits) nameClaims(fleet *model.Fleet, diff *change.Change) (claims []claim) {
	now := source.CompiledAt(fleet)
	seen := map[string]bool{}
	for _, t := range diff.Targets {
		target := fleet.Target(t.Target)
		if t.Action != change.Added || target == nil || seen[t.Target] || !l.differs(target.Registration, now) {
			continue
		}
		seen[t.Target] = true
		for _, other := range diff.Targets {
			if other.Action != change.Added && fleet.Target(other.Target) == nil && strings.HasPrefix(other.Target, target.Workload+"-") {
				claims = append(claims, claim{target, other.Target, other.ClusterType + "/" + other.Target})
			}
		}
	}
	return claims
}

// differs reports whether a registration is compiled at another commit than the last published one. now has the commits
// of all registrations.
func (l lastCommits) differs(r *model.WorkloadRegistration, now map[source.Place]string) bool {
	if r == nil {
		return false
	}
	at := source.PlaceOf(r)
	last, published := l.of[at]
	return now[at] != "" && (!published || last != now[at]) // a plain directory has no commit
}
