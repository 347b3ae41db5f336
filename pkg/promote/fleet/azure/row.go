package azure

import (
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

// row is a Flux configuration as queryFor asks for it. The resource is described in
// https://learn.microsoft.com/rest/api/kubernetesconfiguration/fluxconfigurations/flux-configurations/get
type row struct {
	ID         string `json:"id"`
	Repository string `json:"repository"`
	Branch     string `json:"branch"`
	// Revision is that of its source.
	Revision       string         `json:"revision"`
	Compliance     compliance     `json:"compliance"`
	Suspended      bool           `json:"suspended"`
	Problem        string         `json:"problem"`
	Statuses       []objectStatus `json:"statuses"`
	Kustomizations map[string]struct {
		Path string `json:"path"`
	} `json:"kustomizations"`
}

// objectStatus is the status of an object of the configuration, or of one that such an object has applied.
type objectStatus struct {
	Kind       string     `json:"kind"`
	Namespace  string     `json:"namespace"`
	Name       string     `json:"name"`
	Compliance compliance `json:"complianceState"`
	AppliedBy  *struct{}  `json:"appliedBy"`
	Conditions []struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"statusConditions"`
}

// clusterStatus is what a row says.
type clusterStatus struct {
	cluster clusterNames
	promote.ReconcilerStatus
}

// read returns the status of a row; ours reports whether it pulls what is wanted. Of other rows only the id, the URL and
// the branch must be right.
func (r *row) read(wanted promote.Deployment) (seen clusterStatus, ours bool, err error) {
	cluster, name, err := clusterOf(r.ID)
	if err != nil {
		return clusterStatus{}, false, err
	}
	if r.Repository == "" || r.Branch == "" {
		return clusterStatus{}, false, fmt.Errorf("the row of the Flux configuration %q on %q has no repository or branch", name, cluster[0])
	}
	if r.Branch != wanted.Branch || !sameRepo(r.Repository, wanted.Repo) {
		return clusterStatus{}, false, nil
	}
	commit := statustext.Commit(r.Revision)
	state, message := r.health(commit)
	return clusterStatus{cluster, promote.ReconcilerStatus{
		Reconciler:  name,
		ClusterType: r.clusterType(wanted.Path),
		Commit:      commit,
		State:       state,
		Message:     message,
	}}, true, nil
}

// sameRepo reports whether a URL, with or without a user, is of the repository that is wanted. Case does not
// matter, as it does not where such repositories are: a cluster too many is waited for in vain, and that is seen; one
// too few is not.
func sameRepo(raw, wanted string) bool {
	if scheme, rest, found := strings.Cut(raw, "://"); found {
		authority, file, _ := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(authority, '@'); at >= 0 {
			authority = authority[at+1:] // which may have a password in it, that NormalURL refuses
		}
		raw = scheme + "://" + authority + "/" + file
	}
	name, err := giturl.NormalURL(strings.TrimSpace(raw))
	return err == nil && strings.EqualFold(name, wanted)
}

// clusterType is the folder below root that all Kustomizations below it pull; empty if they pull several.
func (r *row) clusterType(root string) string {
	found := ""
	for _, kustomization := range r.Kustomizations {
		folder, inside := statustext.FolderBelow(kustomization.Path, root)
		switch _, around := statustext.FolderBelow(root, kustomization.Path); {
		case around, inside && found != "" && folder != found:
			return ""
		case inside:
			found = folder
		}
	}
	return found
}
