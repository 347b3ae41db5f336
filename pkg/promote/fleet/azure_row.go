package fleet

import (
	"fmt"
	"path"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// azureSeen is what a row says.
type azureSeen struct {
	cluster azureCluster
	promote.Sighting
}

// azureSighting reads a row: a Flux configuration as azureQuery asks for it. ours tells whether it pulls what is
// wanted. Of a stranger's row only the id, the URL and the branch must be right; the rest counts as not known if it is
// not. The resource is described in
// https://learn.microsoft.com/rest/api/kubernetesconfiguration/fluxconfigurations/flux-configurations/get
func azureSighting(row azureRow, wanted promote.Deployment) (seen azureSeen, ours bool, err error) {
	cluster, name, err := azureClusterOf(azureText(row, "id"))
	if err != nil {
		return azureSeen{}, false, err
	}
	repo, branch := azureText(row, "repository"), azureText(row, "branch")
	if repo == "" || branch == "" {
		return azureSeen{}, false, fmt.Errorf("the row of the Flux configuration %q on %q has no repository or branch", name, cluster.name)
	}
	if branch != wanted.Branch || !azureSameRepo(repo, wanted.Repo) {
		return azureSeen{}, false, nil
	}
	commit := azureCommit(azureText(row, "revision"))
	state, message := azureHealth(row, commit)
	return azureSeen{cluster, promote.Sighting{
		Reconciler:  name,
		ClusterType: azureClusterType(row, wanted.Path),
		Commit:      commit,
		State:       state,
		Message:     message,
	}}, true, nil
}

// azureSameRepo tells whether a URL, with or without a user, is of the repository that is wanted. Case does not
// matter, as it does not where such repositories are: a cluster too many is waited for in vain, and that is seen; one
// too few is not.
func azureSameRepo(raw, wanted string) bool {
	if scheme, rest, found := strings.Cut(raw, "://"); found {
		authority, file, _ := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(authority, '@'); at >= 0 {
			authority = authority[at+1:] // which may have a password in it, that NormalURL refuses
		}
		raw = scheme + "://" + authority + "/" + file
	}
	name, err := gitops.NormalURL(strings.TrimSpace(raw))
	return err == nil && strings.EqualFold(name, wanted)
}

// azureClusterType is the folder below root that all Kustomizations below it pull; empty if they pull several.
func azureClusterType(row azureRow, root string) string {
	kustomizations, _ := row["kustomizations"].(azureRow)
	found := ""
	for _, one := range kustomizations {
		kustomization, _ := one.(azureRow)
		below, inside := azureBelow(root, azureText(kustomization, "path"))
		folder, _, _ := strings.Cut(below, "/")
		switch _, around := azureBelow(azureText(kustomization, "path"), root); {
		case around, inside && found != "" && folder != found:
			return ""
		case inside:
			found = folder
		}
	}
	return found
}

// azureBelow is the path of folder from root, and whether it is in it or is it. Both count from the top of the
// repository, also if they begin with a slash.
func azureBelow(root, folder string) (string, bool) {
	root, folder = path.Join("/", root), path.Join("/", folder)
	if root == folder {
		return "", true
	}
	return strings.CutPrefix(folder, strings.TrimSuffix(root, "/")+"/")
}

// azureText is a column that is a text; empty if it is not.
func azureText(row azureRow, column string) string {
	text, _ := row[column].(string)
	return text
}

// azureRows are the objects of a list.
func azureRows(list any) []azureRow {
	all, _ := list.([]any)
	var rows []azureRow
	for _, one := range all {
		if row, isRow := one.(azureRow); isRow {
			rows = append(rows, row)
		}
	}
	return rows
}
