package argocd

import (
	"cmp"
	"fmt"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

const (
	healthHint   = "add resource.customizations.health.argoproj.io_Application to the ConfigMap argocd-cm: without it Argo CD does not check the health of Applications"
	narrowedHint = "remove project and selector from the URL to list all Applications"
	elsewhere    = "add the Argo CD of that cluster: --fleet argocd:https://argocd.example.com"
)

// applications are those that are listed.
type applications struct {
	byName map[objectName]*application
	// narrowed says that the request excluded some.
	narrowed bool
}

// inTree returns one status for each Application of the published tree in the folder that outer pulls. It returns nil
// before outer is synced, because until then the cluster has older objects.
func (all applications) inTree(outer *application, pulled sourceStatus, wanted promote.Deployment) []promote.ReconcilerStatus {
	if outer.Status.Sync.Status != "Synced" || pulled.Commit == "" {
		return nil
	}
	to := outer.Spec.Destination
	here := to.Name == itself || to.Server == server // else another Argo CD may have them
	var seen []promote.ReconcilerStatus
	for _, r := range wanted.Below(pulled.folder) {
		if r.Group != "argoproj.io" || r.Kind != "Application" {
			continue
		}
		name := objectName{cmp.Or(r.Namespace, to.Namespace), r.Name}
		listed := all.byName[name]
		s := promote.ReconcilerStatus{Cluster: pulled.Cluster, Reconciler: "Application/" + name.String(), ClusterType: pulled.ClusterType, Commit: pulled.Commit}
		unseen := statustext.Line(fmt.Sprintf("Application %s of the published tree is not listed by this Argo CD", name))
		switch {
		case !here:
			s.State, s.Warning = pulled.State, promote.Warning{Message: unseen, Hint: elsewhere}
		case listed != nil:
			found := listed.status(allSources)
			s.State, s.Message, s.Again = found.State, found.Message, found.Again
		case all.narrowed:
			s.State, s.Warning = pulled.State, promote.Warning{Message: unseen, Hint: narrowedHint}
		case pulled.Commit != wanted.Commit: // a newer commit may have removed it
			continue
		default:
			s.State, s.Message = promote.Pending, "not found, or the token has no permission to read it"
		}
		if s.Message != "" {
			s.Message = statustext.Line(fmt.Sprintf("Application %s: %s", name, s.Message))
		}
		if pulled.State == promote.Compliant && s.State == promote.Failed {
			s.Warning = promote.Warning{Message: statustext.Line(fmt.Sprintf("Application %s is healthy although %s is not", pulled.Reconciler, name)), Hint: healthHint}
		}
		seen = append(seen, s)
	}
	return seen
}
