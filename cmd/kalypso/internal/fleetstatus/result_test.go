package fleetstatus

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

func TestFleetResult(t *testing.T) {
	t.Parallel()
	snapshot := snapshotOf(someClusters()[:3]...)
	snapshot.Missing, snapshot.Need, snapshot.QueryErrors = 1, 4, "argocd: connection refused"
	snapshot.Clusters[2].Name, snapshot.Clusters[2].Fleet = "edge", "azure-resource-graph"
	snapshot.Clusters[1].Commit = ""
	slices.Reverse(snapshot.Clusters)
	var out bytes.Buffer
	require.NoError(t, results.Print(&out, results.JSON, NewResult(snapshot)))
	assert.Equal(t, `{
  "counts": {
    "summary": "1 of 4 clusters deployed, 1 behind, 1 failed, 1 not registered; argocd: connection refused",
    "clusters": 4,
    "needed": 4,
    "deployed": 1,
    "progressing": 0,
    "behind": 1,
    "failed": 1,
    "missing": 1
  },
  "unasked": "argocd: connection refused",
  "clusters": [
    {
      "name": "edge",
      "fleet": "azure-resource-graph",
      "clusterType": "large",
      "commit": "1111111111111111111111111111111111111111",
      "state": "failed",
      "message": "Deployment shop/cart: not ready"
    },
    {
      "name": "berlin",
      "fleet": "flux:edge",
      "clusterType": "drone",
      "commit": "1111111111111111111111111111111111111111",
      "state": "deployed"
    },
    {
      "name": "oslo",
      "fleet": "flux:edge",
      "clusterType": "drone",
      "state": "behind"
    }
  ]
}
`, out.String())
}

func TestFleetResultOfNothing(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(NewResult(promote.Snapshot{}))
	require.NoError(t, err)
	assert.JSONEq(t, `{"counts": {"summary": "no cluster is registered", "clusters": 0, "needed": 0, "deployed": 0,
		"progressing": 0, "behind": 0, "failed": 0, "missing": 0}, "clusters": []}`, string(text))
}

func TestC7FleetResultHasAll(t *testing.T) {
	t.Parallel()
	assert.Len(t, NewResult(snapshotOf(manyClusters(3000)...)).Clusters, 3000)
}

func TestFleetResultHoldsNoEscapes(t *testing.T) {
	t.Parallel()
	snapshot := snapshotOf(hostileClusters()...)
	for _, format := range []string{results.JSON, results.YAML} {
		var out bytes.Buffer
		require.NoError(t, results.Print(&out, format, NewResult(snapshot)))
		assertHarmless(t, out.String())
		assert.False(t, term.HoldsCommand(out.Bytes()), format)
	}
}
