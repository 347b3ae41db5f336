package promote

import (
	"fmt"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Snapshot is what the fleet showed at one time, cluster by cluster.
type Snapshot struct {
	// Clusters are all that count, in order of fleet and name.
	Clusters []Cluster
	// Counts are those of Clusters.
	Counts
	// Need is how many must be deployed.
	Need int
	// NoReports are the fleets and GitOps repositories of which no reconciler was seen, as texts for people.
	NoReports []string
	// QueryErrors says why a fleet could not be asked; then Clusters are those of the others. Empty if all were.
	QueryErrors string
	// Warnings are about reconcilers with incomplete reports, one for each hint.
	Warnings []Warning
}

// Cluster is one cluster as it stands. If several reconcilers of it were seen it is as the worst of them.
type Cluster struct {
	// Name is unique within its fleet; Fleet is as --fleet names it.
	Name, Fleet string
	// ClusterType is empty if it is not known.
	ClusterType string
	// Commit is what it last reported; empty for none.
	Commit string
	State  ClusterState
	// Message is why it is not deployed, a line of untrusted text; it may be empty.
	Message string
}

// ClusterState is how a cluster stands to the commit that is wanted, or a newer one of the branch.
type ClusterState string

// The standings, the best first.
const (
	// Deployed: it has the commit, and is healthy.
	Deployed ClusterState = "deployed"
	// Progressing: it has the commit, and is not healthy yet.
	Progressing ClusterState = "progressing"
	// Behind: it has another commit, or none yet.
	Behind ClusterState = "behind"
	// Broken: it has the commit, and says that it failed.
	Broken ClusterState = "failed"
)

// Counts are how many clusters stand how.
type Counts struct {
	// Deployed, Progressing, Behind and Failed add up to all that were seen.
	Deployed, Progressing, Behind, Failed int
	// Missing are those that were expected and not seen.
	Missing int
}

func (c *Counts) count(s ClusterState) {
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
