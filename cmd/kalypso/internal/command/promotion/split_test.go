package promotion

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"a", "b c", "d", "e"}, cli.Split([]string{"a, b c ,,", "", "d,\n e\t"}))
	assert.Empty(t, cli.Split(nil))
	assert.Empty(t, cli.Split([]string{" , "}))
}
