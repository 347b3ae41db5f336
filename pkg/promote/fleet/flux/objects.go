package flux

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

// object has the fields of an object of Flux that are read; they mean the same in all kinds. The spec is mostly that of
// a Kustomization, https://fluxcd.io/flux/components/kustomize/kustomizations/
type object struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		// URL and Ref are those of a GitRepository: https://fluxcd.io/flux/components/source/gitrepositories/
		URL       string       `json:"url"`
		Ref       gitReference `json:"ref"`
		Path      string       `json:"path"`
		Suspend   bool         `json:"suspend"`
		SourceRef struct {
			Kind string `json:"kind"`
			types.NamespacedName
		} `json:"sourceRef"`
		// TargetNamespace is the namespace of all objects that it applies; empty if the files set it.
		TargetNamespace string `json:"targetNamespace"`
		// Wait makes it wait until all objects that it applies are healthy, HealthChecks until these objects are.
		Wait         bool                   `json:"wait"`
		HealthChecks []types.NamespacedName `json:"healthChecks"`
		// Type is the type of a HelmRepository, such as "oci"; empty for other kinds.
		Type string `json:"type"`
	} `json:"spec"`
	Status status `json:"status"`
}

// objects are the objects of one kind on a cluster, by name.
type objects map[types.NamespacedName]*object

// gitReference is the reference that a GitRepository follows.
type gitReference struct {
	Branch string `json:"branch"`
	Tag    string `json:"tag"`
	SemVer string `json:"semver"`
	Name   string `json:"name"`
	Commit string `json:"commit"`
}

// branch returns the branch that is followed; empty if it is none, but a tag or a fixed commit. What counts is the
// commit, else the name, the version, the tag, the branch, and last the default of Flux.
func (r gitReference) branch() string {
	name, isBranch := strings.CutPrefix(r.Name, "refs/heads/")
	if r.Commit != "" || r.Name != "" && !isBranch || r.Name == "" && r.SemVer+r.Tag != "" {
		return ""
	}
	return cmp.Or(name, r.Branch, "master")
}

// status is the status of an object of Flux.
type status struct {
	ObservedGeneration int64       `json:"observedGeneration"`
	Conditions         []condition `json:"conditions"`
	// Artifact is the last fetched artifact of a source.
	Artifact struct {
		Revision string `json:"revision"`
	} `json:"artifact"`
	// LastAppliedRevision is set once the applied objects are healthy, LastAttemptedRevision before they are applied.
	LastAppliedRevision   string `json:"lastAppliedRevision"`
	LastAttemptedRevision string `json:"lastAttemptedRevision"`
	// History has the results of reconciliations, the newest first. Flux 2.7 and newer sets it, for Kustomizations
	// only.
	History []struct {
		LastReconciledStatus string            `json:"lastReconciledStatus"`
		Metadata             map[string]string `json:"metadata"`
	} `json:"history"`
}

// source returns the name of the GitRepository of an object; false if the source is of another kind.
func (k *object) source() (types.NamespacedName, bool) {
	name := k.Spec.SourceRef.NamespacedName
	name.Namespace = cmp.Or(name.Namespace, k.Metadata.Namespace)
	return name, k.Spec.SourceRef.Kind == gitRepositories.kind
}

type meta struct {
	types.NamespacedName
	Generation        int64  `json:"generation"`
	DeletionTimestamp string `json:"deletionTimestamp"`
}

// validName reports whether an API server can have accepted a name. Any other is not shown.
func validName(n types.NamespacedName) bool {
	return len(validation.IsDNS1123Label(n.Namespace)) == 0 && len(validation.IsDNS1123Subdomain(n.Name)) == 0
}

// condition is an aspect of an object's state: https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason"`
	// Message is for people. It may have many lines.
	Message            string `json:"message"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// conditionOf returns the condition of a type; the zero one if there is none.
func conditionOf(all []condition, kind string) condition {
	for _, c := range all {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}

const (
	// pageSize is the number of objects per page, maxPages the maximum number of pages of a kind.
	pageSize, maxPages = 100, 1000
	// maxAnswer is the maximum size of a page in bytes.
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

// resource returns the name of the kind in roles.
func (k kind) resource() string { return k.plural + "." + k.group }

// errNoFlux is wrapped by the error of a cluster that does not serve a kind.
var errNoFlux = errors.New("not installed")

// listPage is a part of a list: https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
type listPage struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []object `json:"items"`
}

// list returns all objects of a kind, in all namespaces. It tries the versions of the kind in order, which takes one
// request less than discovery on clusters with Flux 2.0 or newer.
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
	return nil, &promote.FleetError{Message: "has no Flux: it does not know " + kind.resource(), Err: errNoFlux}
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
			return nil, c.client.Unexpected("something other than a list of " + kind.plural)
		}
		for i := range page.Items {
			items[page.Items[i].Metadata.NamespacedName] = &page.Items[i]
		}
		if page.Metadata.Continue == "" {
			return items, nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
	return nil, &promote.FleetError{Message: fmt.Sprintf("does not finish listing its %s", kind.plural)}
}

// hints returns the hints for responses of an API server.
func hints() map[int]string {
	return map[int]string{
		api.Untrusted:           "check the certificate-authority of its cluster in the kubeconfig",
		http.StatusOK:           "the server of its cluster in the kubeconfig should be that of the API server itself",
		http.StatusUnauthorized: "log in again, or check the user of the context in the kubeconfig",
		http.StatusForbidden: "a ClusterRole with get and list on " + gitRepositories.resource() + " and " + kustomizations.resource() +
			" is needed, and on other kinds of Flux that the published tree contains",
	}
}
