package gitops

import (
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
)

// TestNewestOfOursIsTheEnvironments passes over what was published of other environments.
func TestNewestOfOursIsTheEnvironments(t *testing.T) {
	t.Parallel()
	id := func(n byte) plumbing.Hash { return plumbing.Hash{n} }
	message := func(environment string) string {
		return message.PromotionCommit(message.Promotion{Version: "v1", Environment: environment})
	}
	graph := gitobject.Graph{
		id(1): {Message: message("stage"), Parents: []plumbing.Hash{id(2)}},
		id(2): {Message: message("dev")},
	}
	assert.Equal(t, "dev", newestOfOurs(graph, id(1), "dev").Environment)
	assert.Equal(t, "stage", newestOfOurs(graph, id(1), "stage").Environment)
	assert.Nil(t, newestOfOurs(graph, id(1), "prod"))
}
