package remote

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// manyFiles are more than are looked at.
func manyFiles() gitopstest.Files {
	files := gitopstest.Files{}
	for i := range gitobject.MaxCommitFiles + 1 {
		files[fmt.Sprintf("many/f%03d", i)] = "x"
	}
	return files
}

func TestCommitChanges(t *testing.T) {
	byAllServers(t, func(t *testing.T, dir, url string) {
		large := strings.Repeat("x", gitobject.MaxCommitFile)
		ids, err := gitopstest.Add(dir,
			gitopstest.Commit{Files: gitopstest.Files{"a.yaml": "1\n", "b/c.yaml": "1\n", "b/d.yaml": "1\n", "e": "1", "empty": ""}},
			gitopstest.Commit{Files: gitopstest.Files{"a.yaml": "2\n", "b/c.yaml": "1\n", "e/f": "1", "new/x": ""}},
			gitopstest.Commit{Files: gitopstest.Files{"a.yaml": "2\n", "b/c.yaml": "1\n", "e/f": large, "new/x": large + "x"}, Links: map[string]string{"link": "a.yaml"}},
			gitopstest.Commit{Files: manyFiles()})
		require.NoError(t, err)
		r := newReader(t, Options{})
		changes := func(commit string) CommitChanges {
			found, err := r.CommitChanges(t.Context(), model.Ref{Repo: url, Branch: "main", Commit: commit})
			require.NoError(t, err)
			return found
		}
		text := func(s string) []byte { return []byte(s) }
		assert.Equal(t, CommitChanges{Commit: ids[0], Files: []gitobject.CommitFile{
			{Path: "a.yaml", New: text("1\n")},
			{Path: "b/c.yaml", New: text("1\n")},
			{Path: "b/d.yaml", New: text("1\n")},
			{Path: "e", New: text("1")},
			{Path: "empty", New: text("")},
		}}, changes(ids[0]), "everything is added")
		assert.Equal(t, CommitChanges{Commit: ids[1], Parent: ids[0], Files: []gitobject.CommitFile{
			{Path: "a.yaml", Old: text("1\n"), New: text("2\n")},
			{Path: "b/d.yaml", Old: text("1\n")},
			{Path: "e", Old: text("1")},
			{Path: "e/f", New: text("1")},
			{Path: "empty", Old: text("")},
			{Path: "new/x", New: text("")},
		}}, changes(ids[1]))
		assert.Equal(t, []gitobject.CommitFile{
			{Path: "e/f", Old: text("1"), New: text(large)}, {Path: "link", Opaque: true}, {Path: "new/x", Opaque: true},
		}, changes(ids[2]).Files)
		many := changes(ids[3])
		assert.True(t, many.More)
		assert.Len(t, many.Files, gitobject.MaxCommitFiles)

		_, err = r.CommitChanges(t.Context(), model.Ref{Repo: url, Branch: "main", Commit: strings.Repeat("1", 40)})
		require.ErrorContains(t, err, "commit 111")
		_, err = r.CommitChanges(t.Context(), model.Ref{Repo: url, Branch: "main", Commit: "main"})
		require.ErrorContains(t, err, "is not a full commit SHA")
	})
}

// byAllServers runs a test for a repository on this machine, and for one on servers with all that git can do and with
// as little as possible.
func byAllServers(t *testing.T, test func(t *testing.T, dir, url string)) {
	t.Helper()
	for _, way := range []string{"path", "http", "http without filter", "ssh with little"} {
		t.Run(way, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "repo.git")
			_, err := gitopstest.Bare(dir)
			require.NoError(t, err)
			url := dir
			if strings.HasPrefix(way, "http") {
				server := gitopstest.NewServer(t)
				url, _ = server.Add("repo")
				dir = server.Dir("repo")
			}
			if strings.HasPrefix(way, "ssh") {
				server := gitopstest.NewSSHServer(t, root)
				t.Setenv("SSH_AUTH_SOCK", server.AgentSocket)
				t.Setenv("SSH_KNOWN_HOSTS", server.KnownHosts)
				url = server.URL + "/repo.git"
				gitopstest.RunGit(t, dir, "config", "uploadpack.allowAnySHA1InWant", "false")
			}
			if strings.Contains(way, "with") {
				gitopstest.RunGit(t, dir, "config", "uploadpack.allowFilter", "false")
			}
			test(t, dir, url)
		})
	}
}

// TestCommitChangesOfModes: a file that just became executable has changed, and its content has not.
func TestCommitChangesOfModes(t *testing.T) {
	t.Parallel()
	dir, ids := gitopstest.NewBare(t, gitopstest.Commit{Files: gitopstest.Files{"x": "1"}})
	blob := gitopstest.RunGit(t, dir, "rev-parse", "main:x")
	gitopstest.RunGit(t, dir, "update-index", "--add", "--cacheinfo", "100755,"+blob+",x")
	tree := gitopstest.RunGit(t, dir, "write-tree")
	id := gitopstest.RunGit(t, dir, "commit-tree", tree, "-p", ids[0], "-m", "mode")
	found, err := newReader(t, Options{}).CommitChanges(t.Context(), model.Ref{Repo: dir, Commit: id})
	require.NoError(t, err)
	assert.Equal(t, []gitobject.CommitFile{{Path: "x", Old: []byte("1"), New: []byte("1")}}, found.Files)
}

func TestCommitChangesOfMerge(t *testing.T) {
	t.Parallel()
	dir, _ := gitopstest.NewBare(t, gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"x": "1"}})
	gitopstest.RunGit(t, dir, "branch", "side", "dev")
	side, err := gitopstest.Add(dir, gitopstest.Commit{Branch: "side", Files: gitopstest.Files{"x": "1", "y": "1"}})
	require.NoError(t, err)
	dev, err := gitopstest.Add(dir, gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"x": "2"}})
	require.NoError(t, err)
	tree := gitopstest.RunGit(t, dir, "merge-tree", "--write-tree", "dev", "side")
	merge := gitopstest.RunGit(t, dir, "commit-tree", tree, "-p", dev[0], "-p", side[0], "-m", "Merge side")
	gitopstest.RunGit(t, dir, "update-ref", "refs/heads/dev", merge)
	found, err := newReader(t, Options{}).CommitChanges(t.Context(), model.Ref{Repo: dir, Branch: "dev", Commit: merge})
	require.NoError(t, err)
	assert.Equal(t, []gitobject.CommitFile{{Path: "y", New: []byte("1")}}, found.Files, "against the first parent")
}

func TestCommitChangesWithoutHistory(t *testing.T) {
	t.Parallel()
	_, err := newReader(t, Options{}).CommitChanges(t.Context(), model.Ref{Repo: t.TempDir(), Branch: "main"})
	require.ErrorContains(t, err, "has no history")
	dir, ids := gitopstest.NewBare(t, gitopstest.Commit{Files: gitopstest.Files{"x": "1"}}, gitopstest.Commit{Files: gitopstest.Files{"x": "2"}})
	clone := filepath.Join(t.TempDir(), "clone")
	_, err = gitopstest.Git("", "clone", "--quiet", "--depth=1", "file://"+dir, clone)
	require.NoError(t, err)
	_, err = newReader(t, Options{}).CommitChanges(t.Context(), model.Ref{Repo: clone, Branch: "main", Commit: ids[1]})
	var known *giterror.Error
	require.ErrorAs(t, err, &known)
	assert.Contains(t, known.Message, "commit "+ids[0]+" not found")
	assert.Contains(t, known.Hint, "git fetch --unshallow")
}
