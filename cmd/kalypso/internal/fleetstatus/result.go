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
	Clusters []clusterResult `json:"clusters"`
}

// countsResult counts clusters.
type countsResult struct {
	Summary string `json:"summary"`
	// Clusters are all: those that were seen, and those that are missing.
	Clusters    int `json:"clusters"`
	Needed      int `json:"needed"`
	Deployed    int `json:"deployed"`
	Progressing int `json:"progressing"`
	Behind      int `json:"behind"`
	Failed      int `json:"failed"`
	Missing     int `json:"missing"`
}

// clusterResult is one cluster.
type clusterResult struct {
	Name        string               `json:"name"`
	Fleet       string               `json:"fleet"`
	ClusterType string               `json:"clusterType,omitempty"`
	Commit      string               `json:"commit,omitempty"`
	State       promote.ClusterState `json:"state"`
	Message     string               `json:"message,omitempty"`
}

// NewResult returns how a fleet stands, in JSON.
func NewResult(look promote.Snapshot) Result {
	r := Result{
		Counts: countsResult{
			Summary: countsLine(look), Clusters: look.Total(), Needed: look.Need,
			Deployed: look.Deployed, Progressing: look.Progressing, Behind: look.Behind, Failed: look.Failed, Missing: look.Missing,
		},
		QueryErrors: Harmless(look.QueryErrors), Clusters: make([]clusterResult, 0, len(look.Clusters)),
	}
	for _, c := range slices.SortedStableFunc(slices.Values(look.Clusters), byName) {
		r.Clusters = append(r.Clusters, clusterResult{
			Name: Harmless(c.Name), Fleet: Harmless(c.Fleet), ClusterType: Harmless(c.ClusterType), Commit: Harmless(c.Commit),
			State: c.State, Message: Harmless(c.Message),
		})
	}
	return r
}

// Harmless makes untrusted text harmless in JSON and YAML too: YAML cannot hold control characters, nor the two that
// are not characters at all, and a terminal obeys some that JSON leaves as they are.
func Harmless(text string) string {
	return strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`).Replace(diag.Safe(term.Beginning(text, term.MaxMessageBytes)))
}
