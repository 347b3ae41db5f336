package fleetstatus

import (
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

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

// Harmless makes untrusted text harmless in JSON and YAML too: YAML cannot hold control characters, nor the two that
// are not characters at all, and a terminal obeys some that JSON leaves as they are.
func Harmless(text string) string {
	return strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`).Replace(diag.Safe(term.Beginning(text, term.MaxMessageBytes)))
}
