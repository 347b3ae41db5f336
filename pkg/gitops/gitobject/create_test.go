package gitobject

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

func newRepository() NewRepository {
	return NewRepository{
		Origin: "https://github.com/acme/control-plane", Settings: map[string]string{"user.name": "Bo"}, Author: Identity{"Ada", "ada@example.com"},
		When: time.Date(2026, 1, 5, 9, 0, 0, 7, time.FixedZone("", 3600)),
		Branches: []NewBranch{
			{"main", "Begin", func(map[string]string) (map[string]string, error) {
				return map[string]string{"a/b/c.yaml": "c: 1\n", "README.md": "# A\n", ".github/workflows/x.yaml": ""}, nil
			}},
			{"dev", "Begin dev", func(tips map[string]string) (map[string]string, error) {
				return map[string]string{"base": tips["main"]}, nil
			}},
		},
	}
}

// TestCreateRepository asks git what it thinks of a repository.
func TestCreateRepository(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*NewRepository){
		"to push": func(*NewRepository) {},
		"cloned":  func(r *NewRepository) { r.Cloned = true },
		"bare":    func(r *NewRepository) { r.Bare, r.Origin = true, "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository()
			change(&r)
			dir := filepath.Join(t.TempDir(), "made")
			tips, err := CreateRepository(dir, r)
			require.NoError(t, err)
			git := func(args ...string) string {
				out, err := gitopstest.Git(dir, args...)
				require.NoError(t, err, out)
				return strings.TrimSpace(out)
			}
			git("fsck", "--strict")
			assert.Equal(t, tips["main"], git("rev-parse", "main"))
			assert.Equal(t, tips["dev"], git("rev-parse", "dev"))
			assert.Equal(t, tips["main"], git("show", "dev:base"))
			assert.Equal(t, "main", git("symbolic-ref", "--short", "HEAD"))
			assert.Equal(t, ".github/workflows/x.yaml\nREADME.md\na/b/c.yaml", git("ls-tree", "-r", "--name-only", "main"))
			assert.Equal(t, "Ada <ada@example.com> 1767600000 +0000, Ada <ada@example.com> 1767600000 +0000: Begin",
				git("log", "-1", "--format=%an <%ae> %ad, %cn <%ce> %cd: %s", "--date=raw", "main"))
			if r.Bare {
				assert.Equal(t, "true", git("rev-parse", "--is-bare-repository"))
				return
			}
			assert.Empty(t, git("status", "--porcelain"))
			assert.Equal(t, "Bo", git("config", "--local", "user.name"))
			text, err := os.ReadFile(filepath.Join(dir, "a", "b", "c.yaml"))
			require.NoError(t, err)
			assert.Equal(t, "c: 1\n", string(text))
			assert.Equal(t, r.Origin, git("remote", "get-url", "origin"))
			if r.Cloned {
				assert.Equal(t, "origin/dev", git("rev-parse", "--abbrev-ref", "dev@{upstream}"))
			}
		})
	}
}

// TestCreateRepositoryTwice makes the same commits of the same content, and nothing over something else.
func TestCreateRepositoryTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := CreateRepository(filepath.Join(dir, "first"), newRepository())
	require.NoError(t, err)
	second, err := CreateRepository(filepath.Join(dir, "second"), newRepository())
	require.NoError(t, err)
	assert.Equal(t, first, second)
	_, err = CreateRepository(filepath.Join(dir, "first"), newRepository())
	require.ErrorIs(t, err, os.ErrExist)
}

func TestCreateRepositoryFails(t *testing.T) {
	t.Parallel()
	r := newRepository()
	r.Branches[1].Files = func(map[string]string) (map[string]string, error) { return nil, errors.New("no files today") }
	_, err := CreateRepository(filepath.Join(t.TempDir(), "made"), r)
	require.EqualError(t, err, "no files today")
	r.Branches[1].Files = func(map[string]string) (map[string]string, error) {
		return map[string]string{".git/config": "[core]\n"}, nil
	}
	_, err = CreateRepository(filepath.Join(t.TempDir(), "made"), r)
	require.ErrorContains(t, err, `branch dev: ".git/config" cannot be in a repository`)
	r = newRepository()
	r.Branches[1].Name = "main"
	_, err = CreateRepository(filepath.Join(t.TempDir(), "made"), r)
	require.EqualError(t, err, `duplicate branch "main"`)
}
