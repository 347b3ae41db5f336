package flux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
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
type listPage[T any] struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []T `json:"items"`
}

// list returns all objects of a kind, in all namespaces. A cluster that serves v1, as Flux does from 2.0 on, is
// asked for nothing else; one that knows no v1 is asked for v1beta2. Discovery would be a request more on each cluster.
func list[T any](ctx context.Context, c *client, kind kind) ([]T, *promote.FleetError) {
	versions := kind.versions
	if versions == nil {
		versions = []string{"v1", "v1beta2"}
	}
	for _, version := range versions {
		items, err := listVersion[T](ctx, c, kind, version)
		var r *refusal
		if errors.As(err, &r) && r.status == http.StatusNotFound {
			continue
		}
		return items, fleetError(c, kind, err)
	}
	return nil, &promote.FleetError{
		Message: fmt.Sprintf("has no Flux: it knows no %s", kind.resource()),
		Err:     errNoFlux,
	}
}

func fleetError(c *client, kind kind, err error) *promote.FleetError {
	var known *promote.FleetError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	}
	return c.explain(kind, err)
}

// listVersion reads a list page by page. The token for the next page is good for some minutes; once it is not any
// more, which is 410, the list is begun anew, but only once.
func listVersion[T any](ctx context.Context, c *client, kind kind, version string) ([]T, error) {
	var items []T
	next, again := "", true
	for range c.limits.pages {
		page, err := getPage[T](ctx, c, kind, pageAt{version: version, token: next})
		var r *refusal
		if next != "" && again && errors.As(err, &r) && r.status == http.StatusGone {
			items, next, again = nil, "", false
			continue
		}
		if err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if page.Metadata.Continue == "" {
			return items, nil
		}
		if len(items) > c.limits.objects {
			break
		}
		next = page.Metadata.Continue
	}
	return nil, &promote.FleetError{Message: fmt.Sprintf("does not come to the end of its %s", kind.plural)}
}

// pageAt tells a page from others.
type pageAt struct{ version, token string }

func getPage[T any](ctx context.Context, c *client, kind kind, at pageAt) (*listPage[T], error) {
	query := url.Values{"limit": {strconv.Itoa(c.limits.page)}}
	if at.token != "" {
		query.Set("continue", at.token)
	}
	body, err := c.get(ctx, "/apis/"+kind.group+"/"+at.version+"/"+kind.plural, query)
	if err != nil {
		return nil, err
	}
	page := &listPage[T]{}
	if err := json.Unmarshal(body, page); err != nil || page.Kind != kind.kind+"List" {
		return nil, &promote.FleetError{
			Message: fmt.Sprintf("answers something else than its %s", kind.plural),
			Hint:    "check that the server of its cluster in the kubeconfig is an API server of Kubernetes",
			Err:     err,
		}
	}
	return page, nil
}
