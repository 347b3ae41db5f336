package promote

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// fleetReport is the answer of one fleet about one deployment.
type fleetReport struct {
	fleet      string
	deployment Deployment
	statuses   []ReconcilerStatus
	// newer are the commits among those reported that the branch got after the wanted one.
	newer map[string]bool
	// err is why the fleet could not be asked.
	err error
}

// name names a deployment for people.
func (d Deployment) name() string { return d.Branch + " of " + d.Repo }

// aggregate makes a snapshot of the answers of all fleets.
func aggregate(all []fleetReport, rules Rules) Snapshot {
	clusters := map[clusterKey]Cluster{}
	warnings := map[string][]string{}
	for _, s := range all {
		for _, status := range slices.SortedFunc(slices.Values(s.statuses), ReconcilerStatus.Compare) {
			if !rules.counts(status) {
				continue
			}
			if w := status.Warning; w.Message != "" {
				warnings[w.Hint] = append(warnings[w.Hint], status.Cluster+": "+w.Message)
			}
			c := s.cluster(status)
			key := clusterKey{c.Fleet, c.Name}
			if known, found := clusters[key]; found {
				c = worse(known, c)
			}
			clusters[key] = c
		}
	}
	snapshot := Snapshot{Clusters: make([]Cluster, 0, len(clusters))}
	for _, c := range clusters {
		snapshot.Clusters = append(snapshot.Clusters, c)
		snapshot.count(c.State)
	}
	slices.SortFunc(snapshot.Clusters, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(a.Fleet, b.Fleet), cmp.Compare(a.Name, b.Name))
	})
	snapshot.NoReports = withoutReports(all)
	snapshot.Warnings = summarize(warnings)
	snapshot.Missing = max(0, rules.Expect-len(clusters))
	snapshot.Need = rules.need(snapshot.Total())
	return snapshot
}

// summarize returns one warning for each hint, because thousands of clusters may have the same problem.
func summarize(warnings map[string][]string) []Warning {
	var summary []Warning
	for _, hint := range slices.Sorted(maps.Keys(warnings)) {
		messages := warnings[hint]
		slices.Sort(messages)
		w := Warning{Message: messages[0], Hint: hint}
		if more := len(messages) - 1; more > 0 {
			w.Message += fmt.Sprintf(" (and %d more)", more)
		}
		summary = append(summary, w)
	}
	return summary
}

// silent names the fleets in which no reconciler is registered, and the deployments for which none is in any fleet: that
// all others are fine says nothing of them.
func withoutReports(all []fleetReport) []string {
	var names []string
	heard := map[string]bool{}
	note := func(name string, statuses int) {
		if _, known := heard[name]; !known {
			names = append(names, name)
		}
		heard[name] = heard[name] || statuses > 0
	}
	for _, s := range all {
		note(s.fleet, len(s.statuses))
		note(s.deployment.name(), len(s.statuses))
	}
	return slices.DeleteFunc(names, func(name string) bool { return heard[name] })
}

type clusterKey struct{ fleet, name string }

// cluster is what a status says of its cluster.
func (s fleetReport) cluster(status ReconcilerStatus) Cluster {
	c := Cluster{
		Name: status.Cluster, Fleet: s.fleet, ClusterType: status.ClusterType, Commit: status.Commit,
		State: s.state(status),
	}
	if c.State != Deployed { // else it has nothing to explain
		c.Message = status.Message
	}
	return c
}

// standing says how a reconciler stands to the commit. What it says of an older one, or of none that the branch
// has, tells nothing of this one.
func (s fleetReport) state(status ReconcilerStatus) ClusterState {
	switch {
	case status.Commit == "" || status.Commit != s.deployment.Commit && !s.newer[status.Commit]:
		return Behind
	case status.State == Compliant:
		return Deployed
	case status.State == Failed:
		return Broken
	default:
		return Progressing
	}
}

// worse returns a cluster as the worse of two reconcilers on it shows it.
func worse(a, b Cluster) Cluster {
	order := []ClusterState{Deployed, Progressing, Behind, Broken}
	kind := a.ClusterType
	if b.ClusterType != kind {
		kind = "" // it has several
	}
	if slices.Index(order, b.State) > slices.Index(order, a.State) {
		a = b
	}
	a.ClusterType = kind
	return a
}
