package flux

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// treeKinds are the kinds of Flux that a published tree may contain. Except for the first two, a kind is listed only if
// the tree contains it.
var treeKinds = []kind{
	gitRepositories, kustomizations,
	{group: "helm.toolkit.fluxcd.io", plural: "helmreleases", kind: "HelmRelease", versions: []string{"v2", "v2beta2"}},
	{group: "source.toolkit.fluxcd.io", plural: "buckets", kind: "Bucket"},
	{group: "source.toolkit.fluxcd.io", plural: "helmcharts", kind: "HelmChart"},
	{group: "source.toolkit.fluxcd.io", plural: "helmrepositories", kind: "HelmRepository"},
	{group: "source.toolkit.fluxcd.io", plural: "ocirepositories", kind: "OCIRepository"},
}

const (
	waitHint   = "add `wait: true` to its spec; the `timeout` of an outer Kustomization must be longer than those of the inner ones"
	argoCDHint = "add the Argo CD of the cluster: --fleet argocd:https://argocd.example.com"
)

// treeObjects are the objects of a cluster that may be in the published tree, by kind and name.
type treeObjects map[string]objects

// is reports whether a reconciler of a tree has the kind.
func (k kind) is(r gitops.Reconciler) bool { return k.group == r.Group && k.kind == r.Kind }

// statuses returns one status for each reconciler of the tree in the folder of a Kustomization. It returns nil
// before the Kustomization has applied its commit, because until then their state is about older objects. by is the
// status of the Kustomization itself.
func (t treeObjects) statuses(by promote.ReconcilerStatus, k *object, wanted promote.Deployment) []promote.ReconcilerStatus {
	if !k.hasApplied(by.State) {
		return nil
	}
	var statuses []promote.ReconcilerStatus
	for _, r := range wanted.Below(k.Spec.Path) {
		name := k.nameOf(r)
		s := promote.ReconcilerStatus{
			Cluster: by.Cluster, Reconciler: r.Kind + "/" + name.String(), ClusterType: by.ClusterType, Commit: by.Commit,
		}
		found := t[r.Kind][name]
		switch {
		case !slices.ContainsFunc(treeKinds, func(k kind) bool { return k.is(r) }): // an Application of Argo CD
			s.State, s.Warning = by.State, promote.Warning{Message: line(r.Kind+" "+name.String()) + " is not checked by flux", Hint: argoCDHint}
		case found == nil && by.Commit != wanted.Commit: // a newer commit may have removed it
			continue
		case found == nil:
			s.State, s.Message = promote.Pending, "not found"
		default:
			state := t.judge(r.Kind, found)
			s.State, s.Message, s.Again = state.State, state.Message, state.Again
			if r.Kind == kustomizations.kind && len(found.Spec.HealthChecks) == 0 {
				s.Warning = found.unwaiting()
			}
		}
		if s.Message != "" {
			s.Message = line(r.Kind+" "+name.String()) + ": " + s.Message
		}
		statuses = append(statuses, s)
	}
	return statuses
}

// nameOf returns the name of a reconciler of the tree on the cluster.
func (k *object) nameOf(r gitops.Reconciler) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(k.Spec.TargetNamespace, r.Namespace), Name: r.Name}
}

// hasApplied reports whether a Kustomization has applied all objects of its commit, whether they are healthy or not.
func (k *object) hasApplied(state promote.State) bool {
	healthy := conditionOf(k.Status.Conditions, "Healthy")
	return state == promote.Compliant || conditionOf(k.Status.Conditions, "Ready").Reason == "HealthCheckFailed" ||
		healthy.Status == "Unknown" && k.observed(healthy)
}

// judge returns the state of an object of the tree.
func (t treeObjects) judge(kind string, k *object) promote.ReconcilerStatus {
	if kind == "HelmRepository" && k.Spec.Type == "oci" { // Flux never reconciles it
		return promote.ReconcilerStatus{State: promote.Compliant}
	}
	source := &object{}
	if name, git := k.source(); git && kind == kustomizations.kind && t[gitRepositories.kind][name] != nil {
		source = t[gitRepositories.kind][name]
	}
	s := k.state(source)
	offered, ready := source.Status.Artifact.Revision, conditionOf(k.Status.Conditions, "Ready")
	switch {
	case s.State == promote.Pending:
	case source.Status.ObservedGeneration != source.Metadata.Generation:
		s.State, s.Message = promote.Pending, "Flux has not seen the present spec of its GitRepository yet"
	case offered != "" && offered != k.Status.LastAttemptedRevision && !ready.noAttempt():
		s.State, s.Message = promote.Pending, fmt.Sprintf("it has not tried %s yet", line(offered))
	}
	return s
}

// waitingFor returns a warning if a Kustomization does not wait for the expected reconcilers, which it applies.
func (k *object) waitingFor(expected []gitops.Reconciler) promote.Warning {
	unwatched := func(r gitops.Reconciler) bool { return !slices.Contains(k.Spec.HealthChecks, k.nameOf(r)) }
	if !slices.ContainsFunc(expected, unwatched) {
		return promote.Warning{}
	}
	return k.unwaiting()
}

// unwaiting returns a warning if a Kustomization does not wait for all that it applies.
func (k *object) unwaiting() promote.Warning {
	if k.Spec.Wait {
		return promote.Warning{}
	}
	return promote.Warning{Message: "Kustomization " + k.Metadata.String() + " does not wait for what it applies", Hint: waitHint}
}
