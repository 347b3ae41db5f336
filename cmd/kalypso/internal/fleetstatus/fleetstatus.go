// Package fleetstatus shows the states of the clusters of a fleet: in a line, a table, JSON and Markdown, and during polling.
package fleetstatus

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// countsLine returns the counts of a fleet in one line: "27 of 30 clusters deployed, 2 behind,
// 1 failed". Clusters that were expected and not seen count among all.
func countsLine(snapshot promote.Snapshot) string {
	return countsWithoutReason(snapshot) + queryErrorsNote(snapshot)
}

func countsWithoutReason(snapshot promote.Snapshot) string {
	total := snapshot.Total()
	switch {
	case snapshot.Seen() > 0:
	case snapshot.QueryErrors != "":
		return "no cluster state available" // there may be some
	case snapshot.Missing > 0:
		return fmt.Sprintf("no cluster is registered (%s expected)", thousands(snapshot.Missing))
	default:
		return "no cluster is registered"
	}
	line := fmt.Sprintf("%s of %s deployed", thousands(snapshot.Deployed), clusterCount(total))
	if snapshot.Need > 0 && snapshot.Need != total {
		line += fmt.Sprintf(" (%s needed)", thousands(snapshot.Need))
	}
	for _, part := range []struct {
		n    int
		what string
	}{
		{snapshot.Progressing, "progressing"},
		{snapshot.Behind, "behind"},
		{snapshot.Failed, "failed"},
		{snapshot.Missing, "not registered"},
	} {
		if part.n > 0 {
			line += fmt.Sprintf(", %s %s", thousands(part.n), part.what)
		}
	}
	return line
}

// queryErrorsNote follows counts that are incomplete because a fleet could not be queried.
func queryErrorsNote(snapshot promote.Snapshot) string {
	if snapshot.QueryErrors == "" {
		return ""
	}
	return "; " + term.Line(snapshot.QueryErrors, term.MaxMessage)
}

// clusterCount writes a number of clusters: "1 cluster", "3,000 clusters".
func clusterCount(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return thousands(n) + " clusters"
}

// thousands writes a number with a comma after each group of three digits.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// severity orders states: the worst first. One that is not known is like a failure.
func severity(s promote.ClusterState) int {
	return slices.Index([]promote.ClusterState{promote.Broken, promote.Behind, promote.Progressing, promote.Deployed}, s)
}

// worstFirst returns the clusters in the order in which people want to see them.
func worstFirst(clusters []promote.Cluster) []promote.Cluster {
	return slices.SortedStableFunc(slices.Values(clusters), func(a, b promote.Cluster) int {
		return cmp.Or(cmp.Compare(severity(a.State), severity(b.State)), byName(a, b))
	})
}

// byName orders clusters by fleet and name.
func byName(a, b promote.Cluster) int {
	return cmp.Or(cmp.Compare(a.Fleet, b.Fleet), cmp.Compare(a.Name, b.Name))
}

// undeployed returns the clusters that are not deployed, the worst first, and those that are.
func undeployed(clusters []promote.Cluster) (waiting, deployed []promote.Cluster) {
	all := worstFirst(clusters)
	i := slices.IndexFunc(all, func(c promote.Cluster) bool { return c.State == promote.Deployed })
	if i < 0 {
		return all, nil
	}
	return all[:i], all[i:]
}

// severalFleets reports whether the clusters are not all of one fleet, so that a name alone does not say which is meant.
func severalFleets(clusters []promote.Cluster) bool {
	return slices.ContainsFunc(clusters, func(c promote.Cluster) bool { return c.Fleet != clusters[0].Fleet })
}

// Result is the state of a fleet in JSON.
type Result struct {
	Counts countsResult `json:"counts"`
	// QueryErrors is the reason why a fleet could not be queried; counts and clusters are then incomplete.
	QueryErrors string `json:"unasked,omitempty"`
	// Clusters are all, by fleet and name.
	Clusters []promote.Cluster `json:"clusters"`
}

// countsResult counts clusters.
type countsResult struct {
	Summary string `json:"summary"`
	// Clusters are all: those that were seen, and those that are missing.
	Clusters int `json:"clusters"`
	Needed   int `json:"needed"`
	promote.Counts
}

// NewResult returns the state of a fleet in JSON.
func NewResult(snapshot promote.Snapshot) Result {
	r := Result{
		Counts:      countsResult{countsLine(snapshot), snapshot.Total(), snapshot.Need, snapshot.Counts},
		QueryErrors: Harmless(snapshot.QueryErrors), Clusters: append([]promote.Cluster{}, snapshot.Clusters...),
	}
	slices.SortStableFunc(r.Clusters, byName)
	for i := range r.Clusters {
		c := &r.Clusters[i]
		for _, text := range []*string{&c.Name, &c.Fleet, &c.ClusterType, &c.Commit, &c.Message} {
			*text = Harmless(*text)
		}
	}
	return r
}

// Harmless is as much of an untrusted text as anybody reads, harmless to show.
func Harmless(text string) string { return diag.Safe(diag.Shorten(text, term.MaxMessageBytes)) }
