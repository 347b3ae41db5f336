package azure

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

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
