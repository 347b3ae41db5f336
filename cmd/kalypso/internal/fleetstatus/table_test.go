package fleetstatus

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

func tableOf(clusters []promote.Cluster) string {
	return strings.Join(tableLines(clusters, term.NewPalette(false)), "\n") + "\n"
}

func TestClusterTable(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `CLUSTER  TYPE   STATE        COMMIT        MESSAGE
paris-2  large  failed       111111111111  Deployment shop/cart: not ready
oslo     drone  behind       222222222222
rome     large  progressing  111111111111  reconciling
berlin   drone  deployed     111111111111
`, tableOf(someClusters()))
}

func TestClusterTableLeavesOutWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `CLUSTER  STATE
oslo     behind
berlin   deployed
`, tableOf([]promote.Cluster{
		{Name: "berlin", Fleet: "command:./a", State: promote.Deployed}, {Name: "oslo", Fleet: "command:./a", State: promote.Behind},
	}))
}

func TestClusterTableOfSeveralFleets(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `CLUSTER  FLEET  TYPE   STATE     COMMIT
edge     a      -      behind    -
edge     b      drone  deployed  111111111111
`, tableOf([]promote.Cluster{
		{Name: "edge", Fleet: "b", ClusterType: "drone", Commit: wantedCommit, State: promote.Deployed}, {Name: "edge", Fleet: "a", State: promote.Behind},
	}))
}

func TestClusterTableInColours(t *testing.T) {
	t.Parallel()
	got := strings.Join(tableLines(someClusters(), term.NewPalette(true)), "\n") + "\n"
	assert.Contains(t, got, "\x1b[1mCLUSTER  TYPE   STATE        COMMIT        MESSAGE\x1b[")
	for _, state := range []string{"\x1b[31mfailed\x1b[", "\x1b[33mbehind\x1b[", "\x1b[36mprogressing\x1b[", "\x1b[32mdeployed\x1b["} {
		assert.Contains(t, got, state)
	}
	assert.Equal(t, tableOf(someClusters()), regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(got, ""), "colours take no room")
}

func lookText(snapshot promote.Snapshot) string {
	var out bytes.Buffer
	Print(&out, snapshot, term.NewPalette(false))
	return out.String()
}

func TestPrintLook(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "1 of 4 clusters deployed, 1 progressing, 1 behind, 1 failed\n\n"+tableOf(someClusters()), lookText(snapshotOf(someClusters()...)))
	assert.Equal(t, "no cluster is registered\n", lookText(promote.Snapshot{}))
}

func TestC7PrintLookOfMany(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `2,835 of 3,000 clusters deployed, 150 behind, 15 failed

TYPE    CLUSTERS  DEPLOYED  PROGRESSING  BEHIND  FAILED
type-0  1,000     945       0            50      5
type-1  1,000     945       0            50      5
type-2  1,000     945       0            50      5

CLUSTER    TYPE    STATE   COMMIT        MESSAGE
edge-0011  type-2  failed  111111111111  disk full
edge-0211  type-1  failed  111111111111  disk full
edge-0411  type-0  failed  111111111111  disk full
edge-0611  type-2  failed  111111111111  disk full
edge-0811  type-1  failed  111111111111  disk full
edge-1011  type-0  failed  111111111111  disk full
edge-1211  type-2  failed  111111111111  disk full
edge-1411  type-1  failed  111111111111  disk full
edge-1611  type-0  failed  111111111111  disk full
edge-1811  type-2  failed  111111111111  disk full
… and 155 more (-o json has all)
`, lookText(snapshotOf(manyClusters(3000)...)))
}

func TestC7PrintLookIsBounded(t *testing.T) {
	t.Parallel()
	clusters := manyClusters(3000)
	for i := range clusters {
		clusters[i].ClusterType = clusters[i].Name
	}
	got := lookText(snapshotOf(clusters...))
	assert.Equal(t, 2+1+maxTableClusters+1+1+1+maxWorst+1, strings.Count(got, "\n"), got)
	assert.Contains(t, got, "… and 2,950 more cluster types\n")
	assert.Equal(t, 2+1+maxTableClusters, strings.Count(lookText(snapshotOf(clusters[:maxTableClusters]...)), "\n"))

	for i := range clusters {
		clusters[i].ClusterType, clusters[i].State = "", promote.Deployed
	}
	assert.Equal(t, "3,000 of 3,000 clusters deployed\n", lookText(snapshotOf(clusters...)))
}

func TestHostileClustersAreInert(t *testing.T) {
	t.Parallel()
	snapshot := snapshotOf(hostileClusters()...)
	snapshot.QueryErrors = strings.Join(hostileTexts(), " ")
	got := lookText(snapshot)
	assertHarmless(t, got)
	assert.Equal(t, 3+len(snapshot.Clusters), strings.Count(got, "\n"), "a line each")
	for line := range strings.Lines(got) {
		assert.Less(t, len(line), 8<<10)
	}
}

// assertHarmless fails if text could do more to a terminal than be read.
func assertHarmless(t *testing.T, text string) {
	t.Helper()
	assert.NotRegexp(t, `[\x00-\x09\x0b-\x1f\x7f-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}\x{2028}\x{2029}\x{feff}]`, text)
}
