package promote

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

const (
	wantedCommit = "1111111111111111111111111111111111111111"
	newerCommit  = "2222222222222222222222222222222222222222"
	olderCommit  = "3333333333333333333333333333333333333333"
)

func reportOf(fleet string, statuses ...ReconcilerStatus) fleetReport {
	return fleetReport{fleet: fleet, deployment: Deployment{Commit: wantedCommit}, statuses: statuses, newer: map[string]bool{newerCommit: true, olderCommit: false}}
}

// TestC4StandingOfACommit: a commit that the branch got later counts, one that it had before or never does not.
func TestC4StandingOfACommit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		commit string
		state  State
		want   ClusterState
	}{
		"deployed":               {wantedCommit, Compliant, Deployed},
		"not healthy yet":        {wantedCommit, Pending, Progressing},
		"failed":                 {wantedCommit, Failed, Broken},
		"newer, deployed":        {newerCommit, Compliant, Deployed},
		"newer, failed":          {newerCommit, Failed, Broken},
		"older, healthy":         {olderCommit, Compliant, Behind},
		"older, failed":          {olderCommit, Failed, Behind},
		"nothing yet":            {"", Pending, Behind},
		"nothing, and healthy":   {"", Compliant, Behind},
		"of another branch":      {"4444444444444444444444444444444444444444", Compliant, Behind},
		"a state nobody knows":   {wantedCommit, "Blessed", Progressing},
		"the beginning of an id": {wantedCommit[:12], Compliant, Behind},
	} {
		got := aggregate([]fleetReport{reportOf("flux", ReconcilerStatus{Cluster: "a", Commit: test.commit, State: test.state})}, Rules{})
		assert.Equal(t, test.want, got.Clusters[0].State, name)
	}
}

// TestC2DistinctClusters: what counts are clusters, not rows of an answer.
func TestC2DistinctClusters(t *testing.T) {
	t.Parallel()
	deployed := ReconcilerStatus{Cluster: "edge-1", Reconciler: "apps", ClusterType: "edge", Commit: wantedCommit, State: Compliant}
	failed := ReconcilerStatus{Cluster: "edge-1", Reconciler: "infra", ClusterType: "edge", Commit: wantedCommit, State: Failed, Message: "no space"}
	other := ReconcilerStatus{Cluster: "edge-2", Commit: olderCommit, State: Compliant}
	snapshot := aggregate([]fleetReport{reportOf("azure", deployed, deployed, other), reportOf("flux", deployed), reportOf("azure", failed)}, Rules{Expect: 5})
	assert.Equal(t, Counts{Deployed: 1, Behind: 1, Failed: 1, Missing: 2}, snapshot.Counts)
	assert.Equal(t, []Cluster{
		{Name: "edge-1", Fleet: "azure", ClusterType: "edge", Commit: wantedCommit, State: Broken, Message: "no space"},
		{Name: "edge-2", Fleet: "azure", Commit: olderCommit, State: Behind},
		{Name: "edge-1", Fleet: "flux", ClusterType: "edge", Commit: wantedCommit, State: Deployed},
	}, snapshot.Clusters)
	assert.Equal(t, 5, snapshot.Need)
}

// TestC1SilentPart: that one fleet or GitOps repository is fine says nothing of another in which nothing is registered.
func TestC1SilentPart(t *testing.T) {
	t.Parallel()
	at := func(fleet, deployment string, statuses ...ReconcilerStatus) fleetReport {
		s := reportOf(fleet, statuses...)
		s.deployment.Repo, s.deployment.Branch = "acme", deployment
		return s
	}
	one := ReconcilerStatus{Cluster: "a", Commit: wantedCommit, State: Compliant}
	assert.Empty(t, aggregate([]fleetReport{at("flux", "gitops", one), at("azure", "gitops", one)}, Rules{}).NoReports)
	assert.Equal(t, []string{"azure"}, aggregate([]fleetReport{at("flux", "gitops", one), at("azure", "gitops")}, Rules{}).NoReports)
	assert.Equal(t, []string{"edge of acme"}, aggregate([]fleetReport{at("flux", "gitops", one), at("flux", "edge")}, Rules{}).NoReports)
	assert.Empty(t, aggregate([]fleetReport{at("flux", "gitops", one), at("flux", "edge"), at("azure", "gitops"), at("azure", "edge", one)}, Rules{}).NoReports)
	assert.Equal(t, []string{"flux", "gitops of acme"}, aggregate([]fleetReport{at("flux", "gitops")}, Rules{}).NoReports)
}

func TestWhoCounts(t *testing.T) {
	t.Parallel()
	rules := Rules{Counts: func(clusterType string) bool { return clusterType == "cloud" }}
	snapshot := aggregate([]fleetReport{reportOf(
		"flux",
		ReconcilerStatus{Cluster: "a", ClusterType: "cloud", Commit: wantedCommit, State: Compliant},
		ReconcilerStatus{Cluster: "a", ClusterType: "edge", Commit: wantedCommit, State: Failed},
		ReconcilerStatus{Cluster: "b", ClusterType: "edge", Commit: olderCommit, State: Pending},
		ReconcilerStatus{Cluster: "c", Commit: olderCommit, State: Pending},
	)}, rules)
	assert.Equal(t, Counts{Deployed: 1, Behind: 1}, snapshot.Counts, "one whose type is not known counts")
	assert.Equal(t, []string{"a", "c"}, []string{snapshot.Clusters[0].Name, snapshot.Clusters[1].Name})
}

// TestSurveyOrder: the order in which a fleet answers means nothing.
func TestSurveyOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var statuses []ReconcilerStatus
	for range 60 {
		statuses = append(statuses, ReconcilerStatus{
			Cluster: string(rune('a' + random.IntN(9))), Reconciler: string(rune('a' + random.IntN(3))),
			ClusterType: []string{"", "edge", "cloud"}[random.IntN(3)],
			Commit:      []string{"", wantedCommit, newerCommit, olderCommit}[random.IntN(4)],
			State:       []State{Compliant, Pending, Failed}[random.IntN(3)],
			Message:     string(rune('a' + random.IntN(26))),
		})
	}
	want := aggregate([]fleetReport{reportOf("flux", statuses...)}, Rules{})
	for range 50 {
		random.Shuffle(len(statuses), func(i, k int) { statuses[i], statuses[k] = statuses[k], statuses[i] })
		assert.Equal(t, want, aggregate([]fleetReport{reportOf("flux", statuses...)}, Rules{}))
	}
}

// TestWarningsAreSummed: of thousands of clusters with the same fault one is named.
func TestWarningsAreSummed(t *testing.T) {
	t.Parallel()
	var statuses []ReconcilerStatus
	for _, name := range []string{"c", "a", "b"} {
		statuses = append(statuses, ReconcilerStatus{Cluster: name, Commit: wantedCommit, State: Compliant, Warning: Warning{Message: "Kustomization x does not wait", Hint: "add wait"}})
	}
	statuses = append(statuses, ReconcilerStatus{Cluster: "a", Reconciler: "z", Commit: wantedCommit, State: Compliant, Warning: Warning{Message: "unseen", Hint: "ask another"}})
	snapshot := aggregate([]fleetReport{reportOf("flux", statuses...)}, Rules{})
	assert.Equal(t, []Warning{{"a: Kustomization x does not wait (and 2 more)", "add wait"}, {"a: unseen", "ask another"}}, snapshot.Warnings)
}

func TestBelow(t *testing.T) {
	t.Parallel()
	at := func(path string) gitops.Reconciler {
		return gitops.Reconciler{Kind: "Kustomization", Name: path, Path: path}
	}
	all := []gitops.Reconciler{at("cloud-2/a/reconciler.yaml"), at("cloud/a/reconciler.yaml"), at("cloud/b/reconciler.yaml")}
	for _, test := range []struct {
		root, directory string
		want            []gitops.Reconciler
	}{
		{".", "./cloud", all[1:]},
		{".", "/cloud/", all[1:]},
		{".", "cloud/b", all[2:]},
		{".", "../cloud-2", all[:1]},
		{".", "", all},
		{".", "./", all},
		{".", "edge", nil},
		{"out", "out/cloud", all[1:]},
		{"out", "out", all},
		{"out", ".", all},
		{"out", "cloud", nil},
	} {
		got := Deployment{Path: test.root, Reconcilers: all}.Below(test.directory)
		assert.Len(t, got, len(test.want), "%+v", test)
		assert.Subset(t, test.want, got, "%+v", test)
	}
}
