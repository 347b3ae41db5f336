package flux

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

const (
	// pageSize is how many objects are asked for at once, maxPages how many pages of a kind are read.
	pageSize, maxPages = 100, 1000
	// maxAnswer bounds a page in bytes.
	maxAnswer = 64 << 20
)

// kind is a kind of objects of Flux, in the versions of its API that are understood, the best first. Both say the
// same in the fields that matter here.
type kind struct {
	group, plural, kind string
	// versions are the API versions, the preferred first; none means v1 and v1beta2.
	versions []string
}

var (
	gitRepositories = kind{group: "source.toolkit.fluxcd.io", plural: "gitrepositories", kind: "GitRepository"}
	kustomizations  = kind{group: "kustomize.toolkit.fluxcd.io", plural: "kustomizations", kind: "Kustomization"}
)

// resource names the kind as roles do.
func (k kind) resource() string { return k.plural + "." + k.group }

// errNoFlux is behind the error of a cluster that knows no objects of a kind.
var errNoFlux = errors.New("not installed")

// listPage is a part of a list: https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
type listPage struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []object `json:"items"`
}

// list returns all objects of a kind, in all namespaces. A cluster that serves v1, as Flux does from 2.0 on, is
// asked for nothing else; one that knows no v1 is asked for v1beta2. Discovery would be a request more on each cluster.
func list(ctx context.Context, c cluster, kind kind) (objects, *promote.FleetError) {
	versions := kind.versions
	if versions == nil {
		versions = []string{"v1", "v1beta2"}
	}
	for _, version := range versions {
		items, err := listVersion(ctx, c, kind, version)
		if api.StatusOf(err).Status != http.StatusNotFound {
			return items, err
		}
	}
	return nil, &promote.FleetError{Message: "has no Flux: it knows no " + kind.resource(), Err: errNoFlux}
}

// listVersion reads a list page by page.
func listVersion(ctx context.Context, c cluster, kind kind, version string) (objects, *promote.FleetError) {
	items := objects{}
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for range maxPages {
		address := c.base.JoinPath("apis", kind.group, version, kind.plural)
		address.RawQuery = query.Encode()
		var page listPage
		_, err := c.client.Get(ctx, address.String(), nil, "a list of "+kind.plural, &page)
		if err != nil {
			err.Temporary = err.Temporary || api.StatusOf(err).Status == http.StatusGone // the token of the next page is too old
			return nil, err
		}
		if page.Kind != kind.kind+"List" {
			return nil, c.client.Unexpected("what is not a list of " + kind.plural)
		}
		for i := range page.Items {
			items[page.Items[i].Metadata.NamespacedName] = &page.Items[i]
		}
		if page.Metadata.Continue == "" {
			return items, nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
	return nil, &promote.FleetError{Message: fmt.Sprintf("does not come to the end of its %s", kind.plural)}
}

// hints say what to do about answers of an API server.
func hints() map[int]string {
	return map[int]string{
		api.Untrusted:           "check the certificate-authority of its cluster in the kubeconfig",
		http.StatusOK:           "the server of its cluster in the kubeconfig should be that of the API server itself",
		http.StatusUnauthorized: "log in again, or check the user of the context in the kubeconfig",
		http.StatusForbidden: "a ClusterRole with get and list on " + gitRepositories.resource() + " and " + kustomizations.resource() +
			" is needed, and on other kinds of Flux that the published tree contains",
	}
}
