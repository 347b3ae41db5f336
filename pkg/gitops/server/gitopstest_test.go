package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// TestGitItself clones from the server and pushes to it with the git program, in chunks.
func TestGitItself(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, ids := server.Add("a/b",
		gitopstest.Commit{Files: gitopstest.Files{"x": "1"}},
		gitopstest.Commit{Files: gitopstest.Files{"y": "2"}, Links: map[string]string{"l": "y"}},
		gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"z": "3"}})
	clone := filepath.Join(t.TempDir(), "clone")
	require.NoError(t, gitopstest.Clone(url, clone))
	log, err := gitopstest.Git(clone, "log", "--format=%H", "main")
	require.NoError(t, err)
	assert.Equal(t, ids[1]+"\n"+ids[0]+"\n", log, "a branch is continued")
	_, err = os.Stat(filepath.Join(clone, "x"))
	assert.True(t, os.IsNotExist(err), "a commit is the whole tree")

	for i := range 200 {
		name := filepath.Join(clone, "f"+strings.Repeat("x", i))
		require.NoError(t, os.WriteFile(name, []byte(strings.Repeat(name, 10)), 0o600))
	}
	for _, args := range [][]string{
		{"add", "."}, {"commit", "--quiet", "-m", "more"}, {"-c", "http.postBuffer=1000", "push", "--quiet", "origin", "main"},
	} {
		_, err = gitopstest.Git(clone, args...)
		require.NoError(t, err)
	}
	pushed, err := gitopstest.Git(server.Dir("a/b"), "rev-parse", "main")
	require.NoError(t, err)
	local, err := gitopstest.Git(clone, "rev-parse", "main")
	require.NoError(t, err)
	assert.Equal(t, local, pushed)
}

func TestSameCommitsHaveTheSameIDs(t *testing.T) {
	t.Parallel()
	a, b := gitopstest.NewServer(t), gitopstest.NewServer(t)
	_, first := a.Add("x", gitopstest.Commit{Files: gitopstest.Files{"x": "1"}})
	_, second := b.Add("y", gitopstest.Commit{Files: gitopstest.Files{"x": "1"}})
	assert.Equal(t, first, second)
	_, more := b.Add("y", gitopstest.Commit{Files: gitopstest.Files{"x": "2"}})
	assert.NotEqual(t, second, more)
}

func TestBasicAuth(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t, func(next http.Handler) http.Handler { return gitopstest.BasicAuth("secret", next) })
	url, _ := server.Add("x", gitopstest.Commit{Files: gitopstest.Files{"x": "1"}})
	_, err := gitopstest.Git("", "ls-remote", url)
	require.Error(t, err)
	out, err := gitopstest.Git("", "ls-remote", strings.Replace(url, "http://", "http://me:secret@", 1))
	require.NoError(t, err)
	assert.Contains(t, out, "refs/heads/main")
	assert.NotEmpty(t, server.Requests()[len(server.Requests())-1].Authorization)
}

func TestFromFS(t *testing.T) {
	t.Parallel()
	files, err := gitopstest.FromFS(fstest.MapFS{"a/b.yaml": {Data: []byte("b")}, "c": {Data: []byte("c")}})
	require.NoError(t, err)
	assert.Equal(t, gitopstest.Files{"a/b.yaml": "b", "c": "c"}, files)
}
