package azure

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// clusterID is the cluster of a Flux configuration.
type clusterID struct{ subscription, group, kind, name string }

// clusterOf takes the id of a Flux configuration apart. Case differs even between ids of the same resource.
func clusterOf(id string) (cluster clusterID, configuration string, err error) {
	parts := strings.Split(strings.Trim(id, "/"), "/")
	fixed := map[int]string{
		0: "subscriptions", 2: "resourcegroups", 4: "providers",
		8: "providers", 9: "microsoft.kubernetesconfiguration", 10: "fluxconfigurations",
	}
	const count = 12
	if len(parts) != count {
		return clusterID{}, "", errors.New("a row has an id that is not of a Flux configuration: " + cut(id))
	}
	for i, part := range parts {
		if want, is := fixed[i]; part == "" || is && !strings.EqualFold(part, want) {
			return clusterID{}, "", errors.New("a row has an id that is not of a Flux configuration: " + cut(id))
		}
	}
	return clusterID{subscription: parts[1], group: parts[3], kind: parts[5] + "/" + parts[6], name: parts[7]}, parts[11], nil
}

// key is the same for all spellings of the same cluster.
func (c clusterID) key() string {
	return strings.ToLower(c.subscription + "/" + c.group + "/" + c.kind + "/" + c.name)
}

// named names the clusters of sightings: by their own name, and where several have it, by as much of
// subscription, resource group and kind as it takes. They are returned in the order of their names.
func named(seen []clusterSighting) []promote.Sighting {
	clusters, known := map[string][]clusterID{}, map[string]bool{} // by name, each once
	for _, one := range seen {
		if key := one.cluster.key(); !known[key] {
			known[key] = true
			name := strings.ToLower(one.cluster.name)
			clusters[name] = append(clusters[name], one.cluster)
		}
	}
	names := map[string]string{} // by key, in the spelling that came first
	for _, same := range clusters {
		way := naming(same)
		for _, cluster := range same {
			names[cluster.key()] = way(cluster)
		}
	}
	sightings := make([]promote.Sighting, 0, len(seen))
	for _, one := range seen {
		one.Cluster = names[one.cluster.key()]
		sightings = append(sightings, one.Sighting)
	}
	slices.SortStableFunc(sightings, func(a, b promote.Sighting) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Reconciler, b.Reconciler))
	})
	return sightings
}

// naming is the shortest way to name clusters so that no two have the same name.
func naming(clusters []clusterID) func(clusterID) string {
	for _, way := range []func(clusterID) string{
		func(c clusterID) string { return c.name },
		func(c clusterID) string { return c.group + "/" + c.name },
		func(c clusterID) string { return c.subscription + "/" + c.group + "/" + c.name },
	} {
		names := map[string]bool{}
		for _, cluster := range clusters {
			names[strings.ToLower(way(cluster))] = true
		}
		if len(names) == len(clusters) {
			return way
		}
	}
	return func(c clusterID) string { return c.subscription + "/" + c.group + "/" + c.kind + "/" + c.name }
}
