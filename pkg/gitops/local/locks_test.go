package local

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// TestLocksAreNoBranches: the lock of a branch that git writes is an empty file, and stays if git is killed.
func TestLocksAreNoBranches(t *testing.T) {
	t.Parallel()
	dir, ids := gitopstest.NewBare(t, gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"x": "1"}})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "refs", "heads", "new.lock"), nil, 0o600))
	repo, _, err := Open("repo", dir, 1<<20)
	require.NoError(t, err)
	defer repo.Close()
	tips, err := repo.Tips(t.Context())
	require.NoError(t, err)
	require.Len(t, tips, 1)
	assert.Equal(t, ids[0], tips["dev"].String())
	_, err = repo.FindBranch("de")
	var e *giterror.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, giterror.RuleBranchNotFound, e.Rule)
	assert.Contains(t, e.Hint, "dev")
	assert.NotContains(t, e.Hint, "lock")
}

// vanishing is a file system in which an entry of a folder is gone before it is looked at, so many times.
type vanishing struct {
	billy.Filesystem
	times *int
}

func (f vanishing) ReadDir(path string) ([]os.FileInfo, error) {
	if *f.times > 0 {
		*f.times--
		return nil, &os.PathError{Op: "lstat", Path: path + "/dev.lock", Err: syscall.ENOENT}
	}
	return f.Filesystem.ReadDir(path)
}

// TestLocksThatVanish: a lock that git takes away while branches are listed does not hide the branches.
func TestLocksThatVanish(t *testing.T) {
	t.Parallel()
	dir, _ := gitopstest.NewBare(t, gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"x": "1"}})
	for times, whole := range map[int]bool{1: true, 50: true, 1 << 20: false} {
		files := withoutLocks{vanishing{osfs.New(dir), &times}}
		entries, err := files.ReadDir("refs/heads")
		if !whole {
			require.ErrorContains(t, err, "refs/heads: its contents keep changing")
			require.NotErrorIs(t, err, os.ErrNotExist, "that would be none")
			continue
		}
		require.NoError(t, err)
		require.Len(t, entries, 1)
		assert.Equal(t, "dev", entries[0].Name())
	}
	_, err := withoutLocks{osfs.New(dir)}.ReadDir("refs/none")
	require.ErrorIs(t, err, os.ErrNotExist)
}
