package fleetstatus

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// The commits of the clusters.
const (
	wantedCommit = "1111111111111111111111111111111111111111"
	olderCommit  = "2222222222222222222222222222222222222222"
)

// snapshotOf is a snapshot of clusters, of which all are needed.
func snapshotOf(clusters ...promote.Cluster) promote.Snapshot {
	snapshot := promote.Snapshot{Clusters: clusters, Need: len(clusters)}
	for _, c := range clusters {
		snapshot.Counts.Add(c.State)
	}
	return snapshot
}

// someClusters are one of each state.
func someClusters() []promote.Cluster {
	return []promote.Cluster{
		{Name: "berlin", Fleet: "flux:edge", ClusterType: "drone", Commit: wantedCommit, State: promote.Deployed},
		{Name: "oslo", Fleet: "flux:edge", ClusterType: "drone", Commit: olderCommit, State: promote.Behind},
		{Name: "paris-2", Fleet: "flux:edge", ClusterType: "large", Commit: wantedCommit, State: promote.Broken, Message: "Deployment shop/cart: not ready"},
		{Name: "rome", Fleet: "flux:edge", ClusterType: "large", Commit: wantedCommit, State: promote.Progressing, Message: "reconciling"},
	}
}

// manyClusters are n clusters of three types, of which a few are not deployed.
func manyClusters(n int) []promote.Cluster {
	clusters := make([]promote.Cluster, n)
	for i := range clusters {
		c := promote.Cluster{
			Name: fmt.Sprintf("edge-%04d", i), Fleet: "azure-resource-graph", ClusterType: fmt.Sprintf("type-%d", i%3), Commit: wantedCommit, State: promote.Deployed,
		}
		switch {
		case i%20 == 7:
			c.State, c.Commit = promote.Behind, olderCommit
		case i%200 == 11:
			c.State, c.Message = promote.Broken, "disk full"
		}
		clusters[i] = c
	}
	return clusters
}

// hostileTexts are names and messages of somebody who wants to be seen, or not to be.
func hostileTexts() []string {
	return []string{
		"\x1b[2J\x1b[31mred", "::error file=a::pwned", "##[error]pwned", "two\nlines\r::error::x", "\u202egnirts\u2066", "\u009b31m csi",
		"bell\a\b\x7f", "bad \xff\xfe utf-8", "|a|`b`<b>@acme/all #1 [x](https://evil.example)", strings.Repeat("long ", 5000),
		strings.Repeat("店", 3000), strings.Repeat("e\u0301", 3000), "\u2028\u2029\ufeff", "</details><script>", "%0A::error::x", "\t\v\f", "\ufffe\uffff\U000e0001",
	}
}

// hostileClusters have such texts wherever there can be one, in every state.
func hostileClusters() []promote.Cluster {
	var clusters []promote.Cluster
	for i, text := range hostileTexts() {
		state := []promote.ClusterState{promote.Deployed, promote.Progressing, promote.Behind, promote.Broken}[i%4]
		clusters = append(clusters, promote.Cluster{Name: text, Fleet: text, ClusterType: text, Commit: text, State: state, Message: text})
	}
	return clusters
}

func TestCountsLine(t *testing.T) {
	t.Parallel()
	counts := func(deployed, progressing, behind, failed, missing int) promote.Counts {
		return promote.Counts{Deployed: deployed, Progressing: progressing, Behind: behind, Failed: failed, Missing: missing}
	}
	for want, snapshot := range map[string]promote.Snapshot{
		"27 of 30 clusters deployed, 2 behind, 1 failed":                                           {Counts: counts(27, 0, 2, 1, 0), Need: 30},
		"30 of 30 clusters deployed":                                                               {Counts: counts(30, 0, 0, 0, 0), Need: 30},
		"1 of 1 cluster deployed":                                                                  {Counts: counts(1, 0, 0, 0, 0), Need: 1},
		"0 of 1 cluster deployed, 1 progressing":                                                   {Counts: counts(0, 1, 0, 0, 0), Need: 1},
		"27 of 30 clusters deployed (28 needed), 3 behind":                                         {Counts: counts(27, 0, 3, 0, 0), Need: 28},
		"3 of 3 clusters deployed (5 needed)":                                                      {Counts: counts(3, 0, 0, 0, 0), Need: 5},
		"2,814 of 3,000 clusters deployed, 12 progressing, 170 behind, 3 failed, 1 not registered": {Counts: counts(2814, 12, 170, 3, 1), Need: 3000},
		"26 of 30 clusters deployed, 4 not registered":                                             {Counts: counts(26, 0, 0, 0, 4), Need: 30},
		"1 of 2 clusters deployed, 1 behind":                                                       {Counts: counts(1, 0, 1, 0, 0)},
		"no cluster is registered":                                                                 {},
		"no cluster is registered (4 expected)":                                                    {Counts: counts(0, 0, 0, 0, 4), Need: 4},
		"no cluster state available; flux:edge: connection refused":                                {QueryErrors: "flux:edge: connection refused"},
		`1 of 1 cluster deployed; flux:edge: \x1b[31m gone`:                                        {Counts: counts(1, 0, 0, 0, 0), Need: 1, QueryErrors: "flux:edge:\n\x1b[31m gone"},
	} {
		assert.Equal(t, want, countsLine(snapshot))
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 12345: "12,345", 999999: "999,999", 1234567: "1,234,567", -5: "-5", -500: "-500", -1500: "-1,500"} {
		assert.Equal(t, want, thousands(n))
	}
}

func TestWorstFirst(t *testing.T) {
	t.Parallel()
	names := func(clusters []promote.Cluster) (names []string) {
		for _, c := range clusters {
			names = append(names, c.Name)
		}
		return names
	}
	clusters := append(someClusters(), promote.Cluster{Name: "atlantis", Fleet: "flux:edge", State: promote.Broken}, promote.Cluster{Name: "zoo", Fleet: "argocd", State: promote.Broken})
	assert.Equal(t, []string{"zoo", "atlantis", "paris-2", "oslo", "rome", "berlin"}, names(worstFirst(clusters)))
	waiting, deployed := undeployed(clusters)
	assert.Equal(t, []string{"zoo", "atlantis", "paris-2", "oslo", "rome"}, names(waiting))
	assert.Equal(t, []string{"berlin"}, names(deployed))
	assert.Equal(t, "berlin", clusters[0].Name, "what was given stays as it is")
	waiting, deployed = undeployed(nil)
	assert.Empty(t, waiting)
	assert.Empty(t, deployed)
}

func TestLineOf(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "two lines of words", term.Line(" two\r\n  lines\tof words\n", 80))
	assert.Equal(t, `\x1b[31m\u202e`, term.Line("\x1b[31m\u202e", 80))
	assert.Equal(t, "long lo…", term.Line(strings.Repeat("long ", 1<<20), 8))
	assert.Equal(t, strings.Repeat("店", 39)+"…", term.Word(strings.Repeat("店", 1000), 40))
	assert.Equal(t, "berlin", term.Word("berlin", 6))
}
