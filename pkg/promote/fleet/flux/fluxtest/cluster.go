package fluxtest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

var plurals = map[string]string{
	"Bucket": "buckets", "GitRepository": "gitrepositories", "HelmChart": "helmcharts", "HelmRelease": "helmreleases",
	"HelmRepository": "helmrepositories", "Kustomization": "kustomizations", "OCIRepository": "ocirepositories",
}

type key struct{ group, plural, name string }

// Cluster is the API server of a cluster. The zero value is not one: see NewFluxCluster.
type Cluster struct {
	mu       sync.Mutex
	token    string
	version  string
	denied   map[string]bool
	absent   map[string]bool
	objects  map[key]Object
	changes  int
	faults   []Fault
	requests []string
}

// Fault is what is done about a request instead of answering it; false if it is to be answered after all.
type Fault func(w http.ResponseWriter, r *http.Request) bool

// NewFluxCluster returns a cluster with Flux 2 and these objects, open to all.
func NewFluxCluster(objects ...Object) *Cluster {
	c := &Cluster{version: "v1", denied: map[string]bool{}, absent: map[string]bool{}, objects: map[key]Object{}}
	for _, o := range objects {
		c.Put(o)
	}
	return c
}

// Put adds an object, or replaces the one of its kind, namespace and name.
func (c *Cluster) Put(o Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objects[o.key()] = o.clone()
	c.changes++
}

// Delete takes an object out.
func (c *Cluster) Delete(o Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects, o.key())
	c.changes++
}

// Serve sets the version of Flux's API that is known; empty if Flux is not installed.
func (c *Cluster) Serve(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = version
}

// Require lets in only those with a bearer token.
func (c *Cluster) Require(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = token
}

// Deny forbids everybody to list objects, such as "kustomizations".
func (c *Cluster) Deny(plural string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied[plural] = true
}

// Without removes a kind from the API, given by its plural, such as "helmreleases".
func (c *Cluster) Without(plural string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.absent[plural] = true
}

// Fail has the next requests fail, one fault each.
func (c *Cluster) Fail(faults ...Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, faults...)
}

// Requests returns the paths and queries of the requests so far.
func (c *Cluster) Requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// ServeHTTP answers as an API server.
func (c *Cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if fault := c.arrived(r); fault != nil && fault(w, r) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case c.token != "" && r.Header.Get("Authorization") != "Bearer "+c.token:
		Refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
	case r.Method != http.MethodGet:
		Refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "the server does not allow this method on the requested resource")
	case len(parts) == 3 && parts[0] == "apis" && c.serves(parts[1], parts[2]):
		c.discover(w, parts[1])
	case len(parts) == 4 && parts[0] == "apis" && c.serves(parts[1], parts[2]) && slices.Contains(resources(parts[1]), parts[3]) && !c.absent[parts[3]]:
		c.list(w, r, parts[1], parts[3])
	default: // as API servers answer for groups that they do not know
		http.Error(w, "404 page not found", http.StatusNotFound)
	}
}

// arrived notes a request and returns the fault that is meant for it.
func (c *Cluster) arrived(r *http.Request) Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r.URL.RequestURI())
	if len(c.faults) == 0 {
		return nil
	}
	fault := c.faults[0]
	c.faults = c.faults[1:]
	return fault
}

func (c *Cluster) serves(group, version string) bool {
	return c.versionOf(group) == version && len(resources(group)) > 0
}

// versionOf returns the served version of a group: that of Helm is one higher.
func (c *Cluster) versionOf(group string) string {
	if group == "helm.toolkit.fluxcd.io" {
		return strings.NewReplacer("v1beta2", "v2beta2", "v1", "v2").Replace(c.version)
	}
	return c.version
}

func resources(group string) []string {
	switch group {
	case "source.toolkit.fluxcd.io":
		return []string{"buckets", "gitrepositories", "helmcharts", "helmrepositories", "ocirepositories"}
	case "helm.toolkit.fluxcd.io":
		return []string{"helmreleases"}
	case "kustomize.toolkit.fluxcd.io":
		return []string{"kustomizations"}
	}
	return nil
}

func kindOf(plural string) string {
	for kind, p := range plurals {
		if p == plural {
			return kind
		}
	}
	return ""
}

func (c *Cluster) discover(w http.ResponseWriter, group string) {
	var known []any
	for _, plural := range resources(group) {
		known = append(known, map[string]any{
			"name": plural, "singularName": strings.ToLower(kindOf(plural)), "namespaced": true,
			"kind": kindOf(plural), "verbs": []any{"get", "list", "watch"},
		})
	}
	answer(w, http.StatusOK, map[string]any{
		"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group + "/" + c.versionOf(group), "resources": known,
	})
}

// list answers with a page of the objects of a kind in order of their names.
func (c *Cluster) list(w http.ResponseWriter, r *http.Request, group, plural string) {
	if c.denied[plural] {
		Refuse(w, http.StatusForbidden, "Forbidden", fmt.Sprintf(
			`%s.%s is forbidden: User "kalypso" cannot list resource %q in API group %q at the cluster scope`, plural, group, plural, group))
		return
	}
	from, err := c.start(r.FormValue("continue"))
	if err != nil {
		Refuse(w, http.StatusGone, "Expired", "The provided continue parameter is too old to display a consistent list result.")
		return
	}
	items := c.sorted(group, plural)
	items = items[min(from, len(items)):]
	meta := map[string]any{"resourceVersion": strconv.Itoa(40_000 + c.changes)}
	if limit, err := strconv.Atoi(r.FormValue("limit")); err == nil && limit > 0 && limit < len(items) {
		meta["continue"] = c.token64(from + limit)
		meta["remainingItemCount"] = len(items) - limit
		items = items[:limit]
	}
	answer(w, http.StatusOK, map[string]any{
		"apiVersion": group + "/" + c.versionOf(group), "kind": kindOf(plural) + "List", "metadata": meta, "items": items,
	})
}

// token64 is what a client is to send for the rest of a list. Unlike a real one it lasts only until the next change.
func (c *Cluster) token64(from int) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"v":"meta.k8s.io/v1","rv":%d,"start":%d}`, c.changes, from))
}

func (c *Cluster) start(token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return 0, err
	}
	var at struct{ RV, Start int }
	if err := json.Unmarshal(text, &at); err != nil {
		return 0, err
	}
	if at.RV != c.changes {
		return 0, fmt.Errorf("revision %d is gone", at.RV)
	}
	return at.Start, nil
}

func (c *Cluster) sorted(group, plural string) []Object {
	items := []Object{}
	keys := slices.SortedFunc(maps.Keys(c.objects), func(a, b key) int { return cmp.Compare(a.name, b.name) })
	for _, k := range keys {
		if k.group == group && k.plural == plural {
			items = append(items, c.objects[k].With("apiVersion", group+"/"+c.versionOf(group)))
		}
	}
	return items
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
