package argocd

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

const (
	healthHint   = "add resource.customizations.health.argoproj.io_Application to the ConfigMap argocd-cm: without it Argo CD does not check the health of Applications"
	narrowedHint = "remove project and selector from the URL to list all Applications"
	elsewhere    = "add the Argo CD of that cluster: --fleet argocd:https://argocd.example.com"
)

// objectName identifies an Application.
type objectName struct{ namespace, name string }

func (n objectName) String() string { return n.namespace + "/" + n.name }

// publishedTree matches the Applications in a published tree with those that pull it.
type publishedTree struct {
	wanted promote.Deployment
	// names are the names of the Applications in the tree.
	names map[string]bool
	found map[objectName]promote.ReconcilerStatus
	outer []outerApplication
}

// outerApplication is one that has synced a folder of the tree.
type outerApplication struct {
	promote.ReconcilerStatus
	// namespace is the default for objects without one, folder the folder that the Application pulls.
	namespace, folder string
	// here says that its destination is the cluster of this Argo CD.
	here bool
}

func newPublishedTree(wanted promote.Deployment) *publishedTree {
	t := &publishedTree{wanted: wanted, names: map[string]bool{}, found: map[objectName]promote.ReconcilerStatus{}}
	for _, r := range wanted.Reconcilers {
		if isApplication(r) {
			t.names[r.Name] = true
		}
	}
	return t
}

func isApplication(r gitops.Reconciler) bool {
	return r.Group == "argoproj.io" && r.Kind == "Application"
}

// note records an Application that is in the tree or pulls it; ours are its statuses.
func (t *publishedTree) note(a *application, ours []promote.ReconcilerStatus) {
	if t.names[a.Metadata.Name] {
		t.found[objectName{a.Metadata.Namespace, a.Metadata.Name}] = a.status(allSources)
	}
	if len(t.names) == 0 || len(ours) == 0 || a.Status.Sync.Status != "Synced" { // before the sync, the cluster has the old objects
		return
	}
	sources := slices.DeleteFunc(slices.Clone(a.Spec.all()), func(s source) bool {
		_, pulls := s.pulls(t.wanted)
		return !pulls
	})
	for i, s := range ours {
		to := a.Spec.Destination
		t.outer = append(t.outer, outerApplication{
			ReconcilerStatus: s, namespace: to.Namespace, folder: sources[i].Path,
			here: to.Name == itself || to.Server == server,
		})
	}
}

// statuses returns one status for each Application of the tree on each cluster that has it. narrowed says that the
// request excluded some Applications.
func (t *publishedTree) statuses(narrowed bool) []promote.ReconcilerStatus {
	var all []promote.ReconcilerStatus
	for _, outer := range t.outer {
		for _, r := range t.wanted.Below(outer.folder) {
			if !isApplication(r) || outer.Commit == "" {
				continue
			}
			name := objectName{cmp.Or(r.Namespace, outer.namespace), r.Name}
			found, there := t.found[name]
			s := promote.ReconcilerStatus{Cluster: outer.Cluster, Reconciler: "Application/" + name.String(), ClusterType: outer.ClusterType, Commit: outer.Commit}
			switch {
			case !outer.here:
				s.State, s.Warning = outer.State, promote.Warning{Message: t.unseen(name), Hint: elsewhere}
			case there:
				s.State, s.Message, s.Again = found.State, found.Message, found.Again
			case narrowed:
				s.State, s.Warning = outer.State, promote.Warning{Message: t.unseen(name), Hint: narrowedHint}
			case outer.Commit != t.wanted.Commit: // a newer commit may have removed it
				continue
			default:
				s.State, s.Message = promote.Pending, "not found, or the token has no permission to read it"
			}
			if s.Message != "" {
				s.Message = statustext.Line(fmt.Sprintf("Application %s: %s", name, s.Message))
			}
			if outer.State == promote.Compliant && s.State == promote.Failed {
				s.Warning = promote.Warning{Message: statustext.Line(fmt.Sprintf("Application %s is healthy although %s is not", outer.Reconciler, name)), Hint: healthHint}
			}
			all = append(all, s)
		}
	}
	return all
}

func (t *publishedTree) unseen(name objectName) string {
	return statustext.Line(fmt.Sprintf("Application %s of the published tree is not listed by this Argo CD", name))
}
