package flux

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

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

// readTree lists the objects of the kinds in expected on a cluster. The lists of GitRepositories and Kustomizations
// were read before and are given.
func (c cluster) readTree(ctx context.Context, repositories, appliers objects, expected []gitops.Reconciler) (treeObjects, *promote.FleetError) {
	t := treeObjects{gitRepositories.kind: repositories, kustomizations.kind: appliers}
	for _, kind := range treeKinds[2:] {
		if !slices.ContainsFunc(expected, kind.is) {
			continue
		}
		items, err := list(ctx, c, kind)
		if err != nil && !errors.Is(err, errNoFlux) { // a cluster without the kind has no such objects
			return t, err
		}
		t[kind.kind] = items
	}
	return t, nil
}

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
			s.State, s.Message, s.Again = t.judge(r.Kind, found)
			s.Warning = waiting(r.Kind, found)
		}
		if s.Message != "" {
			s.Message = line(r.Kind+" "+name.String()) + ": " + s.Message
		}
		statuses = append(statuses, s)
	}
	return statuses
}

// nameOf returns the name of a reconciler of the tree on the cluster.
func (k *object) nameOf(r gitops.Reconciler) objectName {
	return objectName{Namespace: cmp.Or(k.Spec.TargetNamespace, r.Namespace), Name: r.Name}
}

// hasApplied reports whether a Kustomization has applied all objects of its commit, whether they are healthy or not.
func (k *object) hasApplied(state promote.State) bool {
	healthy := conditionOf(k.Status.Conditions, "Healthy")
	return state == promote.Compliant || conditionOf(k.Status.Conditions, "Ready").Reason == "HealthCheckFailed" ||
		healthy.Status == "Unknown" && k.observed(healthy)
}

// judge returns the state and the message of an object of the tree; again says that a pending object only reconciles
// again.
func (t treeObjects) judge(kind string, k *object) (state promote.State, message string, again bool) {
	if kind == "HelmRepository" && k.Spec.Type == "oci" { // Flux never reconciles it
		return promote.Compliant, "", false
	}
	source := &object{}
	if name, git := k.source(); git && kind == kustomizations.kind && t[gitRepositories.kind][name] != nil {
		source = t[gitRepositories.kind][name]
	}
	state, message, again = k.state(source)
	offered, ready := source.Status.Artifact.Revision, conditionOf(k.Status.Conditions, "Ready")
	switch {
	case source.Status.ObservedGeneration != source.Metadata.Generation && state != promote.Pending:
		return promote.Pending, "Flux has not seen the present spec of its GitRepository yet", false
	case offered != "" && offered != k.Status.LastAttemptedRevision && state != promote.Pending && !ready.noAttempt():
		return promote.Pending, fmt.Sprintf("it has not tried %s yet", line(offered)), false
	}
	return state, message, again
}

// waiting returns a warning if a Kustomization in the tree does not wait for the objects that it applies.
func waiting(kind string, k *object) promote.Warning {
	if kind != kustomizations.kind || k.Spec.Wait || len(k.Spec.HealthChecks) > 0 {
		return promote.Warning{}
	}
	return k.doesNotWait()
}

// waitingFor returns a warning if a Kustomization does not wait for the expected reconcilers, which it applies.
func (k *object) waitingFor(expected []gitops.Reconciler) promote.Warning {
	unwatched := func(r gitops.Reconciler) bool { return !slices.Contains(k.Spec.HealthChecks, k.nameOf(r)) }
	if k.Spec.Wait || !slices.ContainsFunc(expected, unwatched) {
		return promote.Warning{}
	}
	return k.doesNotWait()
}

func (k *object) doesNotWait() promote.Warning {
	return promote.Warning{Message: "Kustomization " + k.Metadata.String() + " does not wait for what it applies", Hint: waitHint}
}
