package githubtest

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest/openapitest"
)

// TestEveryOperationIsServed: what was kept of the description is what there are endpoints for.
func TestEveryOperationIsServed(t *testing.T) {
	t.Parallel()
	described, err := openapitest.Operations()
	require.NoError(t, err)
	table, err := routes()
	require.NoError(t, err)
	var served []string
	for _, r := range table {
		served = append(served, r.method+" "+r.path)
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(described)), served)
}
