package gitops

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// TestLocksAreNoBranches: the lock of a branch that git writes is an empty file, and stays if git is killed.
func TestLocksAreNoBranches(t *testing.T) {
	t.Parallel()
	p := newPress(t, gitopstest.Files{"x": "1"})
	repo := p.publication(tree(twoTargets("a: 1\n")...)).repo
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "refs", "heads", "new.lock"), nil, 0o600))
	tips, err := repo.tipsNow(t.Context())
	require.NoError(t, err)
	require.Len(t, tips, 1)
	assert.Equal(t, p.git("rev-parse", "dev"), tips["dev"].String())
	d := readError(t, newReader(t, Options{}), model.Ref{Repo: p.dir, Branch: "de"})
	assert.Equal(t, RuleBranchNotFound, d.Rule)
	assert.Contains(t, d.Hint, "dev")
	assert.NotContains(t, d.Hint, "lock")
}
