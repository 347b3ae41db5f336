package promote

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Rules define when a fleet has deployed a commit.
type Rules struct {
	// Need returns how many of total clusters must have deployed it; nil means all.
	Need func(total int) int
	// Expect is how many clusters there are at least; those that are not seen are missing.
	Expect int
	// AllowNone lets it count as deployed if no cluster is registered, in all or for a fleet or GitOps repository.
	AllowNone bool
	// Counts reports whether the clusters of a type count; nil means all. One whose type is not known counts.
	Counts func(clusterType string) bool
	// Timeout limits the polling of the fleet, and Interval is the time between two polls.
	Timeout, Interval time.Duration
	// Grace is how long a failure must persist.
	Grace time.Duration
	// Once polls a single time: then neither success nor failure has to persist.
	Once bool
}

// need is how many clusters must have deployed the commit, of those that exist or should exist.
func (r Rules) need(total int) int {
	switch {
	case total == 0 && r.AllowNone:
		return 0
	case r.Need == nil:
		return max(total, 1)
	default:
		return max(r.Need(total), 1)
	}
}

// RolloutState is the state of a rollout.
type RolloutState string

// The states.
const (
	// Waiting: nothing is decided yet. With Rules.Once it is final: neither deployed nor failed.
	Waiting RolloutState = "waiting"
	// Succeeded: enough clusters have deployed the commit.
	Succeeded RolloutState = "succeeded"
	// Rejected: so many clusters have failed that the others are not enough.
	Rejected RolloutState = "failed"
	// NoClusters: timed out, and no cluster was ever registered.
	NoClusters RolloutState = "no-clusters"
	// TimedOut: timed out.
	TimedOut RolloutState = "timed-out"
	// Unreachable: timed out, and the last query of the fleet failed.
	Unreachable RolloutState = "unreachable"
)

// successesRequired is the number of snapshots in a row that must have enough deployed clusters: a fleet may report
// a new commit before it reports that it fails.
const successesRequired = 2

// evaluator derives the rollout state from consecutive snapshots.
type evaluator struct {
	rules   Rules
	started time.Time
	// good is how many snapshots in a row had enough deployed clusters.
	good int
	// failing is since when too many have failed; zero if they have not.
	failing time.Time
}

// evaluate returns the rollout state after another snapshot.
func (j *evaluator) evaluate(snapshot Snapshot, now time.Time) RolloutState {
	if snapshot.QueryErrors == "" && snapshot.Deployed >= snapshot.Need && snapshot.Missing == 0 && (len(snapshot.NoReports) == 0 || j.rules.AllowNone) {
		j.good++
	} else {
		j.good = 0
	}
	switch failed := snapshot.Failed > 0 && snapshot.Total()-snapshot.Failed < snapshot.Need; {
	case !failed:
		j.failing = time.Time{}
	case j.failing.IsZero():
		j.failing = now
	}
	switch {
	case j.good >= successesRequired, j.good > 0 && j.rules.Once:
		return Succeeded
	case !j.failing.IsZero() && (j.rules.Once || now.Sub(j.failing) >= j.rules.Grace):
		return Rejected
	case !j.rules.Once && now.Sub(j.started) < j.rules.Timeout:
		return Waiting
	case snapshot.QueryErrors != "":
		return Unreachable
	case snapshot.Seen() == 0:
		return NoClusters
	case j.rules.Once:
		return Waiting
	default:
		return TimedOut
	}
}

// reason returns why a commit is not deployed, in one line.
func (r Rules) reason(state RolloutState, snapshot Snapshot) string {
	counts, after := snapshot.Counts.String(), ""
	if !r.Once {
		after = fmt.Sprintf(" after %v", r.Timeout)
	}
	if snapshot.Seen() == 0 {
		counts = "no cluster state available"
	}
	switch state {
	case NoClusters:
		return "no cluster is registered" + after
	case Unreachable:
		return fmt.Sprintf("%s%s; %s", counts, after, snapshot.QueryErrors)
	case TimedOut:
		return counts + lacking(snapshot) + after + firstOf(snapshot)
	default:
		return counts + firstOf(snapshot)
	}
}

// lacking returns the missing fleets and clusters.
func lacking(snapshot Snapshot) string {
	text := ""
	for _, name := range snapshot.NoReports {
		text += "; none for " + name
	}
	if snapshot.Missing > 0 && snapshot.Seen() > 0 {
		text += fmt.Sprintf("; %d not registered", snapshot.Missing)
	}
	if snapshot.Need > snapshot.Total() {
		text += fmt.Sprintf("; %d needed", snapshot.Need)
	}
	return text
}

// firstOf names the first cluster that failed, with its message.
func firstOf(snapshot Snapshot) string {
	at := slices.IndexFunc(snapshot.Clusters, func(c Cluster) bool { return c.State == Broken })
	if at < 0 {
		return ""
	}
	failed := snapshot.Clusters[at]
	if failed.Message == "" {
		return "; " + failed.Name
	}
	return fmt.Sprintf("; %s: %s", failed.Name, diag.Safe(failed.Message))
}

// Snapshot has the states of all clusters at one time.
type Snapshot struct {
	// Clusters are all that count, in order of fleet and name.
	Clusters []Cluster
	// Counts are those of Clusters.
	Counts
	// Need is how many must be deployed.
	Need int
	// NoReports are the fleets and GitOps repositories of which no reconciler was seen, as texts for people.
	NoReports []string
	// QueryErrors is the reason why a fleet could not be queried; Clusters are then those of the others.
	QueryErrors string
	// Warnings are about reconcilers with incomplete reports, one for each hint.
	Warnings []Warning
}

// Cluster is the state of one cluster: that of the worst of its reconcilers.
type Cluster struct {
	// Name is unique within its fleet; Fleet is as --fleet names it.
	Name  string `json:"name"`
	Fleet string `json:"fleet"`
	// ClusterType is empty if it is not known.
	ClusterType string `json:"clusterType,omitempty"`
	// Commit is what it last reported; empty for none.
	Commit string       `json:"commit,omitempty"`
	State  ClusterState `json:"state"`
	// Message is why it is not deployed, a line of untrusted text; it may be empty.
	Message string `json:"message,omitempty"`
}

// ClusterState is the state of a cluster with regard to the checked commit or a newer one of the branch.
type ClusterState string

// The states of a cluster, the best first.
const (
	// Deployed: it has the commit, and is healthy.
	Deployed ClusterState = "deployed"
	// Progressing: it has the commit, and is not healthy yet.
	Progressing ClusterState = "progressing"
	// Behind: it has another commit, or none yet.
	Behind ClusterState = "behind"
	// Broken: it has the commit and reports a failure.
	Broken ClusterState = "failed"
)

// Counts are the numbers of clusters by state.
type Counts struct {
	// Deployed, Progressing, Behind and Failed add up to all that were seen.
	Deployed    int `json:"deployed"`
	Progressing int `json:"progressing"`
	Behind      int `json:"behind"`
	Failed      int `json:"failed"`
	// Missing are those that were expected and not seen.
	Missing int `json:"missing"`
}

// Add counts one cluster.
func (c *Counts) Add(s ClusterState) {
	switch s {
	case Deployed:
		c.Deployed++
	case Progressing:
		c.Progressing++
	case Broken:
		c.Failed++
	default:
		c.Behind++
	}
}

// Seen is how many clusters there are.
func (c Counts) Seen() int { return c.Deployed + c.Progressing + c.Behind + c.Failed }

// Total is how many there are, or should be.
func (c Counts) Total() int { return c.Seen() + c.Missing }

// String counts the clusters in a few words: "27 of 30 clusters".
func (c Counts) String() string {
	return fmt.Sprintf("%d of %s", c.Deployed, diag.Plural(c.Total(), "cluster"))
}

// fleetReport is the answer of one fleet about one deployment.
type fleetReport struct {
	fleet      string
	deployment Deployment
	statuses   []ReconcilerStatus
	// newer are the commits among those reported that the branch got after the wanted one.
	newer map[string]bool
	// err is why the fleet could not be queried.
	err error
}

// name names a deployment for people.
func (d Deployment) name() string { return d.Branch + " of " + d.Repo }

// aggregate makes a snapshot of the answers of all fleets.
func aggregate(all []fleetReport, rules Rules) Snapshot {
	type key struct{ fleet, name string }
	clusters := map[key]Cluster{}
	warnings := map[string][]string{}
	for _, s := range all {
		for _, status := range slices.SortedFunc(slices.Values(s.statuses), ReconcilerStatus.Compare) {
			if rules.Counts != nil && status.ClusterType != "" && !rules.Counts(status.ClusterType) {
				continue
			}
			if w := status.Warning; w.Message != "" {
				warnings[w.Hint] = append(warnings[w.Hint], status.Cluster+": "+w.Message)
			}
			c := s.cluster(status)
			if known, found := clusters[key{c.Fleet, c.Name}]; found {
				c = worse(known, c)
			}
			clusters[key{c.Fleet, c.Name}] = c
		}
	}
	snapshot := Snapshot{Clusters: slices.SortedFunc(maps.Values(clusters), func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(a.Fleet, b.Fleet), cmp.Compare(a.Name, b.Name))
	})}
	for _, c := range snapshot.Clusters {
		snapshot.Add(c.State)
	}
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

// withoutReports names the fleets without registered reconcilers, and the deployments without any in all fleets: that all
// others are healthy does not imply that they are.
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

// cluster returns the state of the cluster of a status.
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

// state returns the state of a reconciler with regard to the commit. Its report about an older commit, or about one
// that is not on the branch, does not count.
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
