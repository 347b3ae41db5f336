package promotion

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestDryPromotionNeedsNothingThatWrites: it runs before anybody has approved.
func TestDryPromotionNeedsNothingThatWrites(t *testing.T) {
	t.Parallel()
	for _, f := range []*promoteFlags{{dryRun: true}, {dryRun: true, pullRequest: true}, {dryRun: true, dispatch: "cd.yaml"}} {
		needs := f.needs()
		assert.Equal(t, map[string]string{"contents": "read", "statuses": "read"}, needs.Required)
		assert.Empty(t, needs.Optional)
	}
	assert.Equal(t, "write", (&promoteFlags{}).needs().Required["contents"])
}
