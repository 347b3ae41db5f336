package gitops

import (
	"context"
	"fmt"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// RuleKeptFolder is a target in the place of one that may be that of a registration which is left out.
const RuleKeptFolder = "kept-folder"

// Trespasses finds the targets of other registrations that would take the place of something that is kept
// for those that are left out: while nobody can say that a folder is taken, it must not be. A target that
// its registration had when it went out last is in its own place.
//
// changes are what the fleet comes to, compared with what is published. Where it is not known at all what
// was published last, nothing can be found.
func (l *Loader) Trespasses(ctx context.Context, hold *Hold, fleet *model.Fleet, changes []*Change) diag.List {
	var diags diag.List
	if !hold.LeavesOut() || len(hold.last) == 0 {
		return nil
	}
	published, _ := l.FleetHolding(ctx, fleet.Environment, fleet.Environments, &Hold{last: hold.last, asPublished: true})
	if published == nil {
		return nil // cannot be: it was read before
	}
	own := ownersOf(published)
	targets := map[string]*model.DeploymentTarget{}
	for _, target := range fleet.Targets {
		targets[target.Name.Value] = target
	}
	for _, change := range changes {
		for _, changed := range change.Targets {
			target := targets[changed.Target]
			if changed.Action != Changed || target == nil || target.Registration == nil {
				continue
			}
			if owner, known := own[changed.Target]; !known || owner != placeOf(target.Registration) {
				diags.Error(RuleKeptFolder, target.Name.At,
					fmt.Sprintf("deployment target %q would replace what is published in %s/%s, which may be that of a registration that is held back",
						changed.Target, changed.ClusterType, changed.Target),
					diag.Hint("rename the target, or wait until the other registration is mended or removed"))
			}
		}
	}
	return diags
}

// ownersOf returns which registration has each target of a fleet.
func ownersOf(fleet *model.Fleet) map[string]place {
	owners := map[string]place{}
	for _, target := range fleet.Targets {
		if target.Registration != nil {
			owners[target.Name.Value] = placeOf(target.Registration)
		}
	}
	return owners
}
