package gitops

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// TestTipsWhileGitWrites: the lock of a branch that git writes is an empty file for a moment.
func TestTipsWhileGitWrites(t *testing.T) {
	t.Parallel()
	p := newPress(t, gitopstest.Files{"x": "1"})
	repo := p.publication(tree(twoTargets("a: 1\n")...)).repo
	lock := filepath.Join(p.dir, "refs", "heads", "new.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o600))
	listed := make(chan error)
	go func() {
		tips, err := repo.tipsNow(t.Context())
		if err == nil {
			assert.Equal(t, p.git("rev-parse", "dev"), tips["dev"].String())
		}
		listed <- err
	}()
	require.NoError(t, os.Remove(lock))
	require.NoError(t, <-listed)
}
