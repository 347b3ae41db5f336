// Package fluxtest fakes the API servers of clusters with Flux: it answers list calls as a Kubernetes API server
// does, page by page, with its errors. Its objects, of the shape that Flux writes, can be changed while it runs. It is
// for tests of any package.
package fluxtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// resources are the kinds by plural and group, as in a path.
var resources = map[string]string{
	"buckets.source.toolkit.fluxcd.io":           "Bucket",
	"gitrepositories.source.toolkit.fluxcd.io":   "GitRepository",
	"helmcharts.source.toolkit.fluxcd.io":        "HelmChart",
	"helmreleases.helm.toolkit.fluxcd.io":        "HelmRelease",
	"helmrepositories.source.toolkit.fluxcd.io":  "HelmRepository",
	"kustomizations.kustomize.toolkit.fluxcd.io": "Kustomization",
	"ocirepositories.source.toolkit.fluxcd.io":   "OCIRepository",
}

// Cluster is the API server of a cluster. The zero value is not one: see NewFluxCluster.
type Cluster struct {
	mu      sync.Mutex
	token   string
	version string
	// denied and absent are plurals of kinds that must not be listed, and that are not served.
	denied, absent map[string]bool
	// objects are by kind, namespace and name.
	objects  map[string]Object
	changes  int
	faults   []Fault
	requests []string
}

// Fault is what is done about a request instead of answering it; false if it is to be answered after all.
type Fault func(w http.ResponseWriter, r *http.Request) bool

// NewFluxCluster returns a cluster with Flux 2 and these objects, open to all.
func NewFluxCluster(objects ...Object) *Cluster {
	c := &Cluster{version: "v1", denied: map[string]bool{}, absent: map[string]bool{}, objects: map[string]Object{}}
	for _, o := range objects {
		c.Put(o)
	}
	return c
}

func (c *Cluster) locked(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	c.changes++
}

// Put adds an object, or replaces the one of its kind, namespace and name.
func (c *Cluster) Put(o Object) { c.locked(func() { c.objects[o.key()] = o.clone() }) }

// Delete removes an object.
func (c *Cluster) Delete(o Object) { c.locked(func() { delete(c.objects, o.key()) }) }

// Serve sets the version of Flux's API that is served; empty if Flux is not installed.
func (c *Cluster) Serve(version string) { c.locked(func() { c.version = version }) }

// Require accepts only requests with a bearer token.
func (c *Cluster) Require(token string) { c.locked(func() { c.token = token }) }

// Deny forbids everybody to list objects, such as "kustomizations".
func (c *Cluster) Deny(plural string) { c.locked(func() { c.denied[plural] = true }) }

// Without removes a kind from the API, given by its plural, such as "helmreleases".
func (c *Cluster) Without(plural string) { c.locked(func() { c.absent[plural] = true }) }

// Fail has the next requests fail, one fault each.
func (c *Cluster) Fail(faults ...Fault) { c.locked(func() { c.faults = append(c.faults, faults...) }) }

// Requests returns the paths and queries of the requests so far.
func (c *Cluster) Requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// ServeHTTP answers as an API server.
func (c *Cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.requests = append(c.requests, r.URL.RequestURI())
	var fault Fault
	if len(c.faults) > 0 {
		fault, c.faults = c.faults[0], c.faults[1:]
	}
	c.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := append(strings.Split(strings.Trim(r.URL.Path, "/"), "/"), "", "", "", "")
	group, version, plural := parts[1], parts[2], parts[3]
	kind := resources[plural+"."+group]
	switch {
	case c.token != "" && r.Header.Get("Authorization") != "Bearer "+c.token:
		Refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
	case parts[0] != "apis" || kind == "" || c.absent[plural] || version != c.versionOf(kind):
		http.Error(w, "404 page not found", http.StatusNotFound) // as API servers answer for groups that they do not know
	case c.denied[plural]:
		Refuse(w, http.StatusForbidden, "Forbidden", fmt.Sprintf(
			`%s.%s is forbidden: User "kalypso" cannot list resource %q in API group %q at the cluster scope`, plural, group, plural, group))
	default:
		c.list(w, r, group+"/"+version, kind)
	}
}

// versionOf returns the served version of a kind: that of Helm is one higher.
func (c *Cluster) versionOf(kind string) string {
	if kind == "HelmRelease" {
		return strings.NewReplacer("v1beta2", "v2beta2", "v1", "v2").Replace(c.version)
	}
	return c.version
}

// list answers with a page of the objects of a kind in order of their names. Unlike a real one, the token for the next
// page lasts only until the next change.
func (c *Cluster) list(w http.ResponseWriter, r *http.Request, apiVersion, kind string) {
	var from, changes int
	if token := r.FormValue("continue"); token != "" {
		if _, err := fmt.Sscanf(token, "%d-%d", &changes, &from); err != nil || changes != c.changes {
			Refuse(w, http.StatusGone, "Expired", "The provided continue parameter is too old to display a consistent list result.")
			return
		}
	}
	items := []Object{}
	for _, key := range slices.SortedFunc(maps.Keys(c.objects), cmp.Compare[string]) {
		if o := c.objects[key]; o.text("kind") == kind {
			items = append(items, o.With("apiVersion", apiVersion))
		}
	}
	items = items[min(from, len(items)):]
	meta := map[string]any{"resourceVersion": strconv.Itoa(40_000 + c.changes)}
	if limit, err := strconv.Atoi(r.FormValue("limit")); err == nil && limit > 0 && limit < len(items) {
		meta["continue"] = fmt.Sprintf("%d-%d", c.changes, from+limit)
		meta["remainingItemCount"] = len(items) - limit
		items = items[:limit]
	}
	answer(w, http.StatusOK, map[string]any{"apiVersion": apiVersion, "kind": kind + "List", "metadata": meta, "items": items})
}

// Refuse answers with a Status object, as API servers do.
func Refuse(w http.ResponseWriter, code int, reason, message string) {
	answer(w, code, map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{},
		"status": "Failure", "message": message, "reason": reason, "code": code,
	})
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a client that is gone needs no answer
}
