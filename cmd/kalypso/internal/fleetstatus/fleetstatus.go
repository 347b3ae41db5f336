// Package fleetstatus shows how the clusters of a fleet stand: in a line, a table, JSON and Markdown, and while it is waited for.
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

// countsLine says in one line how far a fleet has come, the same everywhere: "27 of 30 clusters deployed, 2 behind,
// 1 failed". Clusters that were expected and not seen count among all.
func countsLine(look promote.Snapshot) string {
	return countsWithoutReason(look) + unaskedNote(look)
}

func countsWithoutReason(look promote.Snapshot) string {
	total := look.Total()
	switch {
	case look.Seen() > 0:
	case look.QueryErrors != "":
		return "no cluster was seen" // there may be some
	case look.Missing > 0:
		return fmt.Sprintf("no cluster is registered (%s expected)", thousands(look.Missing))
	default:
		return "no cluster is registered"
	}
	line := fmt.Sprintf("%s of %s deployed", thousands(look.Deployed), clusterCount(total))
	if look.Need > 0 && look.Need != total {
		line += fmt.Sprintf(" (%s needed)", thousands(look.Need))
	}
	for _, part := range []struct {
		n    int
		what string
	}{
		{look.Progressing, "progressing"},
		{look.Behind, "behind"},
		{look.Failed, "failed"},
		{look.Missing, "not registered"},
	} {
		if part.n > 0 {
			line += fmt.Sprintf(", %s %s", thousands(part.n), part.what)
		}
	}
	return line
}

// unaskedNote is what follows the counts if a fleet could not be asked: they are not those of all clusters.
func unaskedNote(look promote.Snapshot) string {
	if look.QueryErrors == "" {
		return ""
	}
	return "; " + term.Line(look.QueryErrors, term.MaxMessage)
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

// badness orders standings: what needs a look first comes first. One that is not known is like a failure.
func badness(s promote.ClusterState) int {
	return slices.Index([]promote.ClusterState{promote.Broken, promote.Behind, promote.Progressing, promote.Deployed}, s)
}

// worstFirst returns the clusters in the order in which people want to see them.
func worstFirst(clusters []promote.Cluster) []promote.Cluster {
	return slices.SortedStableFunc(slices.Values(clusters), func(a, b promote.Cluster) int {
		return cmp.Or(cmp.Compare(badness(a.State), badness(b.State)), byName(a, b))
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

// Result is how a fleet stands, in JSON.
type Result struct {
	Counts countsResult `json:"counts"`
	// QueryErrors says why a fleet could not be asked; then neither counts nor clusters are complete.
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

// NewResult returns how a fleet stands, in JSON.
func NewResult(look promote.Snapshot) Result {
	r := Result{
		Counts:      countsResult{countsLine(look), look.Total(), look.Need, look.Counts},
		QueryErrors: Harmless(look.QueryErrors), Clusters: append([]promote.Cluster{}, look.Clusters...),
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
