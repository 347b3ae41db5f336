package flux

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

// cluster is the cluster of a context.
type cluster struct {
	name   string
	base   *url.URL
	client *api.Client
}

// read reads the objects that pull the branch of the deployment, and objects of the kinds in its published tree.
func (c cluster) read(ctx context.Context, wanted promote.Deployment) ([]promote.ReconcilerStatus, *promote.FleetError) {
	tree := treeObjects{}
	add := func(kind kind) (err *promote.FleetError) {
		tree[kind.kind], err = list(ctx, c, kind)
		return err
	}
	if err := add(gitRepositories); err != nil {
		return nil, err
	}
	ours := following(tree[gitRepositories.kind], wanted)
	if len(ours) == 0 {
		return nil, nil // nothing there pulls the branch
	}
	// A cluster may lack any other kind: sources without anything that applies them are reported as such.
	if err := add(kustomizations); err != nil && !errors.Is(err, errNoFlux) {
		return nil, err
	}
	var expected []gitops.Reconciler
	for _, k := range tree[kustomizations.kind] {
		if source, git := k.source(); git && ours[source] != nil {
			expected = append(expected, wanted.Below(k.Spec.Path)...)
		}
	}
	for _, kind := range treeKinds[2:] {
		if !slices.ContainsFunc(expected, kind.is) {
			continue
		}
		if err := add(kind); err != nil && !errors.Is(err, errNoFlux) {
			return nil, err
		}
	}
	return c.statuses(ours, tree, wanted), nil
}

// following returns the GitRepositories of the repository and branch of the deployment.
func following(repositories objects, wanted promote.Deployment) objects {
	ours := objects{}
	for name, r := range repositories {
		address, err := giturl.NormalURL(r.Spec.URL)
		if err == nil && address == wanted.Repo && r.Spec.Ref.branch() == wanted.Branch && validName(name) {
			ours[name] = r
		}
	}
	return ours
}

// statuses returns one status for each Kustomization that applies one of our repositories, one for each reconciler of the
// published tree that it has applied, and one for each repository that none does, in order of their names.
func (c cluster) statuses(ours objects, tree treeObjects, wanted promote.Deployment) []promote.ReconcilerStatus {
	var statuses []promote.ReconcilerStatus
	applied := map[types.NamespacedName]bool{}
	for name, k := range tree[kustomizations.kind] {
		source, git := k.source()
		if !git || ours[source] == nil || !validName(name) {
			continue
		}
		applied[source] = true
		s := reconcilerStatus(k, ours[source])
		s.Cluster, s.ClusterType = c.name, clusterType(k.Spec.Path, wanted.Path)
		s.Warning = k.waitingFor(wanted.Below(k.Spec.Path))
		statuses = append(append(statuses, s), tree.statuses(s, k, wanted)...)
	}
	for name, repository := range ours {
		if !applied[name] {
			statuses = append(statuses, promote.ReconcilerStatus{
				Cluster:    c.name,
				Reconciler: gitRepositories.kind + "/" + name.String(),
				State:      promote.Pending,
				Message:    cmp.Or(sourceProblem(repository), "no Kustomization applies it"),
			})
		}
	}
	slices.SortFunc(statuses, promote.ReconcilerStatus.Compare)
	return statuses
}

// clusterType returns the first directory of a Kustomization's path below that of the output; empty if there is none, or
// it cannot be the name of a cluster type.
func clusterType(directory, output string) string {
	first, _ := statustext.DirectoryBelow(directory, output)
	if len(validation.IsDNS1123Subdomain(first)) > 0 {
		return ""
	}
	return first
}
