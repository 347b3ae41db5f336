package azure

import (
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

// clusterStatus is what a row says.
type clusterStatus struct {
	cluster clusterNames
	promote.ReconcilerStatus
}

// readRow reads a row: a Flux configuration as queryFor asks for it. ours reports whether it pulls what is
// wanted. Of a row only the id, the URL and the branch must be right; the rest counts as not known if it is
// not. The resource is described in
// https://learn.microsoft.com/rest/api/kubernetesconfiguration/fluxconfigurations/flux-configurations/get
func readRow(row record, wanted promote.Deployment) (seen clusterStatus, ours bool, err error) {
	cluster, name, err := clusterOf(textOf(row, "id"))
	if err != nil {
		return clusterStatus{}, false, err
	}
	repo, branch := textOf(row, "repository"), textOf(row, "branch")
	if repo == "" || branch == "" {
		return clusterStatus{}, false, fmt.Errorf("the row of the Flux configuration %q on %q has no repository or branch", name, cluster[0])
	}
	if branch != wanted.Branch || !sameRepo(repo, wanted.Repo) {
		return clusterStatus{}, false, nil
	}
	commit := statustext.Commit(textOf(row, "revision"))
	state, message := healthOf(row, commit)
	return clusterStatus{cluster, promote.ReconcilerStatus{
		Reconciler:  name,
		ClusterType: clusterTypeOf(row, wanted.Path),
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

// clusterTypeOf is the folder below root that all Kustomizations below it pull; empty if they pull several.
func clusterTypeOf(row record, root string) string {
	kustomizations, _ := row["kustomizations"].(record)
	found := ""
	for _, one := range kustomizations {
		kustomization, _ := one.(record)
		folder, inside := statustext.FolderBelow(textOf(kustomization, "path"), root)
		switch _, around := statustext.FolderBelow(root, textOf(kustomization, "path")); {
		case around, inside && found != "" && folder != found:
			return ""
		case inside:
			found = folder
		}
	}
	return found
}

// textOf is a column that is a text; empty if it is not.
func textOf(row record, column string) string {
	text, _ := row[column].(string)
	return text
}

// recordsOf are the objects of a list.
func recordsOf(list any) []record {
	all, _ := list.([]any)
	var rows []record
	for _, one := range all {
		if row, isRow := one.(record); isRow {
			rows = append(rows, row)
		}
	}
	return rows
}
