package gitops

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
)

func folderFiles(t *testing.T, dir string) gitopstest.Files {
	t.Helper()
	files, err := gitopstest.FromFS(os.DirFS(dir))
	require.NoError(t, err)
	return files
}

func writeFiles(t *testing.T, dir string, files gitopstest.Files) {
	t.Helper()
	for path, content := range files {
		name := filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
	}
}

// assertNothingBeside makes sure that no staging folder is left.
func assertNothingBeside(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

var oneTarget = gitopstest.Tree("edge/"+gitopstest.Readme, "edge/a/namespace.yaml=n", "edge/a/reconciler.yaml=r")

func TestWriteFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	change, err := OpenDirectory(dir).Write(t.Context(), oneTarget)
	require.NoError(t, err)
	assert.Equal(t, "1 target on 1 cluster type, 1 assignment: +1 ~0 -0", change.Plan().String())
	want := gitopstest.Files{"edge/README.md": render.Readme, "edge/a/namespace.yaml": "n", "edge/a/reconciler.yaml": "r"}
	assert.Equal(t, want, folderFiles(t, dir))

	writeFiles(t, dir, gitopstest.Files{"docs/x.md": "x", ".git/config": "c", "edge/notes.md": "x"})
	change, err = OpenDirectory(dir).Write(t.Context(), gitopstest.Tree("core/"+gitopstest.Readme, "core/b/namespace.yaml=n", "core/b/reconciler.yaml=r"))
	require.NoError(t, err)
	assert.Equal(t, "1 target on 1 cluster type, 1 assignment: +1 ~0 -1", change.Plan().String())
	assert.Equal(t, gitopstest.Files{
		"core/README.md": render.Readme, "core/b/namespace.yaml": "n", "core/b/reconciler.yaml": "r",
		"docs/x.md": "x", ".git/config": "c", "edge/notes.md": "x",
	}, folderFiles(t, dir))
	assert.NoDirExists(t, filepath.Join(dir, "edge", "a"))
	assertNothingBeside(t, dir)
}

func TestWriteFolderRefusesWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files gitopstest.Files
		want  string
	}{
		"a directory of people":     {gitopstest.Files{"edge/readme.txt": "mine"}, "the directory edge exists and was not written by kalypso"},
		"a file for a directory":    {gitopstest.Files{"edge": "mine"}, "edge exists and is not a regular directory"},
		"a directory for a file":    {gitopstest.Files{"edge/a/namespace.yaml/x": "mine", "edge/a/reconciler.yaml": "r"}, "edge/a/namespace.yaml exists and is not a regular file"},
		"a README of somebody else": {gitopstest.Files{"edge/README.md": "mine"}, "the directory edge exists"},
		"a target's directory with something else": {
			gitopstest.Files{"edge/README.md": render.Readme, "edge/a/docs/runbook.md": "mine"},
			"the directory edge/a exists and contains docs",
		},
		"a target's directory half written": {
			gitopstest.Files{"edge/README.md": render.Readme, "edge/a/reconciler.yaml": "mine", "edge/a/notes.md": "mine"},
			"the directory edge/a exists and contains notes.md",
		},
		"a file where a target goes": {gitopstest.Files{"edge/README.md": render.Readme, "edge/a": "mine"}, "edge/a exists and is not a regular directory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "out")
			writeFiles(t, dir, test.files)
			require.ErrorContains(t, CheckDirectory(dir, oneTarget), test.want)
			_, err := OpenDirectory(dir).Write(t.Context(), oneTarget)
			require.ErrorContains(t, err, test.want)
			assert.Equal(t, test.files, folderFiles(t, dir))
			assertNothingBeside(t, dir)
		})
	}
}

// TestS4OutputFolderLinks makes sure that nothing is written through a link that leads out.
func TestS4OutputFolderLinks(t *testing.T) {
	t.Parallel()
	dir, elsewhere := filepath.Join(t.TempDir(), "out"), t.TempDir()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, "edge")))
	_, err := OpenDirectory(dir).Write(t.Context(), oneTarget)
	require.ErrorContains(t, err, "edge exists and is not a regular directory")
	assert.Empty(t, folderFiles(t, elsewhere))
}

func TestWriteFolderIsAFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.WriteFile(dir, nil, 0o644))
	_, err := OpenDirectory(dir).Write(t.Context(), oneTarget)
	require.ErrorContains(t, err, "is a file")
}

// TestWriteFolderTakesBackTheFoldersAround makes sure that not even an empty folder is left of what
// was not written.
func TestWriteFolderTakesBackTheFoldersAround(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	_, err := OpenDirectory(filepath.Join(parent, "a", "b", "out")).Write(t.Context(), gitopstest.Tree("edge/"+gitopstest.Readme, "edge/a=file", "edge/a/reconciler.yaml=r"))
	require.Error(t, err, "a file cannot be a directory too")
	assert.NoDirExists(t, filepath.Join(parent, "a"))

	_, err = OpenDirectory(filepath.Join(parent, "a", "b", "out")).Write(t.Context(), oneTarget)
	require.NoError(t, err)
	assertNothingBeside(t, filepath.Join(parent, "a", "b", "out"))
}

func TestWriteFolderCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, exists := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "out")
		if exists {
			writeFiles(t, dir, gitopstest.Files{"docs/x.md": "x"})
		}
		_, err := OpenDirectory(dir).Write(ctx, oneTarget)
		require.ErrorIs(t, err, context.Canceled)
		if exists {
			assert.Equal(t, gitopstest.Files{"docs/x.md": "x"}, folderFiles(t, dir))
			assertNothingBeside(t, dir)
		} else {
			assert.NoDirExists(t, dir)
		}
	}
}

// TestSwapMovesBack lets every single move fail in turn: the folder must be unchanged.
func TestSwapMovesBack(t *testing.T) {
	t.Parallel()
	change := &change.Change{Files: []change.FileChange{
		{Path: "core/b/reconciler.yaml", Action: change.Added},
		{Path: "edge/a/namespace.yaml", Action: change.Changed},
		{Path: "edge/a/reconciler.yaml", Action: change.Removed},
		{Path: "edge/c/reconciler.yaml", Action: change.Added},
	}}
	staged := gitopstest.Files{"core/b/reconciler.yaml": "new", "edge/a/namespace.yaml": "new", "edge/c/reconciler.yaml": "new"}
	before := gitopstest.Files{"edge/a/namespace.yaml": "old", "edge/a/reconciler.yaml": "old", "docs/x.md": "x"}
	for missing := range staged {
		parent := t.TempDir()
		dir, stage := filepath.Join(parent, "out"), filepath.Join(parent, "stage")
		writeFiles(t, dir, before)
		writeFiles(t, stage, staged)
		require.NoError(t, os.Remove(filepath.Join(stage, missing)))
		require.Error(t, swap(dir, stage, change), missing)
		assert.Equal(t, before, folderFiles(t, dir), missing)
	}
	dir := t.TempDir()
	stage := t.TempDir()
	writeFiles(t, stage, staged)
	require.Error(t, swap(dir, stage, change), "what is to be replaced is not there")
	assert.Empty(t, folderFiles(t, dir))
}

// TestFolderStage makes sure that staged files are part of what is written, and that nothing is left of those that are
// discarded.
func TestFolderStage(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "a", "out")
	staged := gitopstest.Tree("edge/"+gitopstest.Readme, "edge/a/namespace.yaml=n", "edge/a/reconciler.yaml=r")
	folder := OpenDirectory(dir)
	require.True(t, folder.Stage(staged.Files[1:]))
	assert.NoDirExists(t, dir)
	require.NoError(t, folder.Discard())
	assert.NoDirExists(t, filepath.Join(parent, "a"))
	assert.False(t, folder.Stage(staged.Files[1:]), "after it was discarded")

	folder = OpenDirectory(dir)
	require.True(t, folder.Stage(staged.Files[1:]))
	for i := range staged.Files[1:] {
		staged.Files[1+i].Content, staged.Files[1+i].Staged = content.Text{}, true
	}
	change, err := folder.Write(t.Context(), staged)
	require.NoError(t, err)
	assert.Equal(t, "1 target on 1 cluster type, 1 assignment: +1 ~0 -0", change.Plan().String())
	want := gitopstest.Files{"edge/README.md": render.Readme, "edge/a/namespace.yaml": "n", "edge/a/reconciler.yaml": "r"}
	assert.Equal(t, want, folderFiles(t, dir))
	assertNothingBeside(t, dir)
	require.NoError(t, folder.Discard())
	assert.Equal(t, want, folderFiles(t, dir), "nothing is discarded of what was written")

	assert.False(t, OpenDirectory(dir).Stage(oneTarget.Files), "a directory that is there")
}
