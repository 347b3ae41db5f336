package azure

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
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
	raw = strings.TrimSpace(raw)
	if u, err := url.Parse(raw); err == nil && u.User != nil {
		u.User = nil // it may have a password in it, that NormalURL refuses
		raw = u.String()
	}
	name, err := giturl.NormalURL(raw)
	return err == nil && strings.EqualFold(name, wanted)
}

// clusterType is the directory below root that all Kustomizations below it pull; empty if they pull several.
func (r *row) clusterType(root string) string {
	found := ""
	for _, kustomization := range r.Kustomizations {
		directory, inside := statustext.DirectoryBelow(kustomization.Path, root)
		switch _, around := statustext.DirectoryBelow(root, kustomization.Path); {
		case around, inside && found != "" && directory != found:
			return ""
		case inside:
			found = directory
		}
	}
	return found
}

// maxReasons is how many objects of a cluster a message names.
const maxReasons = 4

// compliance is a complianceState: Compliant, Non-Compliant, Pending, Suspended or Unknown.
type compliance string

func (c compliance) state() promote.State {
	switch strings.ToLower(string(c)) {
	case "compliant":
		return promote.Compliant
	case "non-compliant":
		return promote.Failed
	default:
		return promote.Pending
	}
}

// health is the state of a row at the commit of its source, and why it is not compliant. What is called compliant is
// pending until it is applied: the commit is that of the source, which is ahead of what applies it.
func (r *row) health(commit string) (promote.State, string) {
	state := r.Compliance.state()
	switch {
	case commit == "":
		return promote.Pending, r.reasons("no commit was fetched yet")
	case r.Suspended || strings.EqualFold(string(r.Compliance), "suspended"):
		return promote.Pending, "the Flux configuration is suspended"
	case state != promote.Compliant:
		return state, r.reasons("the Flux configuration is " + strings.ToLower(statustext.Line(cmp.Or(string(r.Compliance), "unknown"))))
	}
	for _, object := range r.Statuses {
		if at := object.applied(); at != "" && at != commit {
			return promote.Pending, fmt.Sprintf("Kustomization %s is still at %.7s", statustext.Line(object.Name), at)
		}
	}
	return promote.Compliant, ""
}

// applied is the commit that a Kustomization of the configuration itself says that it applied; empty if it does
// not say, or is one that was applied by another: that may pull another repository.
func (o *objectStatus) applied() string {
	revision, found := strings.CutPrefix(o.message(), "Applied revision: ")
	if !found || o.Kind != "Kustomization" || o.AppliedBy != nil {
		return ""
	}
	return statustext.Commit(strings.TrimSpace(revision))
}

// reasons is what the configuration and its objects say about not being compliant, and otherwise if they say
// nothing.
func (r *row) reasons(otherwise string) string {
	var reasons []string
	if problem := strings.TrimSpace(r.Problem); problem != "" {
		reasons = append(reasons, statustext.Line(problem))
	}
	for _, state := range []promote.State{promote.Failed, promote.Pending} {
		for _, o := range r.Statuses {
			if message := o.message(); message != "" && o.Compliance.state() == state && len(reasons) < maxReasons {
				reasons = append(reasons, statustext.Line(fmt.Sprintf("%s %s/%s: %s", o.Kind, o.Namespace, o.Name, message)))
			}
		}
	}
	return cmp.Or(strings.Join(reasons, "; "), otherwise)
}

// message is that of the condition Ready; empty if there is none.
func (o *objectStatus) message() string {
	for _, condition := range o.Conditions {
		if condition.Type == "Ready" {
			return condition.Message
		}
	}
	return ""
}

// clusterNames are the names of a cluster, from its own to one with subscription, resource group and kind. The last is
// unique.
type clusterNames [4]string

// fluxConfigurationID is the id of a Flux configuration: subscription, resource group, kind and name of the cluster, and
// its own name. Case differs even between ids of the same resource.
var fluxConfigurationID = regexp.MustCompile(`(?i)^/?subscriptions/([^/]+)/resourcegroups/([^/]+)/providers/([^/]+/[^/]+)/([^/]+)` +
	`/providers/microsoft\.kubernetesconfiguration/fluxconfigurations/([^/]+)/?$`)

// clusterOf takes the id of a Flux configuration apart.
func clusterOf(id string) (cluster clusterNames, configuration string, err error) {
	part := fluxConfigurationID.FindStringSubmatch(id)
	if part == nil {
		return clusterNames{}, "", errors.New("a row has an id that is not of a Flux configuration: " + statustext.Line(id))
	}
	subscription, group, kind, name := part[1], part[2], part[3], part[4]
	return clusterNames{
		name, group + "/" + name, subscription + "/" + group + "/" + name, subscription + "/" + group + "/" + kind + "/" + name,
	}, part[5], nil
}

// named gives each cluster its shortest name that no other cluster has, in the spelling that came first, and sorts by
// it.
func named(seen []clusterStatus) []promote.ReconcilerStatus {
	first, used := map[string]clusterNames{}, map[string]int{} // by id, and how many clusters have a name, in lower case
	for _, one := range seen {
		id := strings.ToLower(one.cluster[len(one.cluster)-1])
		if _, known := first[id]; known {
			continue
		}
		first[id] = one.cluster
		for _, name := range one.cluster {
			used[strings.ToLower(name)]++
		}
	}
	statuses := make([]promote.ReconcilerStatus, 0, len(seen))
	for _, one := range seen {
		names := first[strings.ToLower(one.cluster[len(one.cluster)-1])]
		at := slices.IndexFunc(names[:], func(name string) bool { return used[strings.ToLower(name)] == 1 })
		one.Cluster = names[at]
		statuses = append(statuses, one.ReconcilerStatus)
	}
	slices.SortFunc(statuses, promote.ReconcilerStatus.Compare)
	return statuses
}
