package remote

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// hostileRepo writes a repository with a tree that git would refuse to make.
func hostileRepo(t *testing.T, name string) string {
	t.Helper()
	dir, _ := gitopstest.NewBare(t, gitopstest.Commit{Files: gitopstest.Files{"a.yaml": "a: 1\n"}})
	blob := gitopstest.RunGit(t, dir, "rev-parse", "main:a.yaml")
	file := filepath.Join(t.TempDir(), "tree")
	id := plumbing.NewHash(blob)
	require.NoError(t, os.WriteFile(file, append([]byte("100644 "+name+"\x00"), id[:]...), 0o600))
	tree := gitopstest.RunGit(t, dir, "hash-object", "-t", "tree", "-w", "--literally", file)
	commit := gitopstest.RunGit(t, dir, "commit-tree", "-m", "evil", tree)
	gitopstest.RunGit(t, dir, "update-ref", "refs/heads/main", commit)
	return dir
}

func TestS4HostileTreeIsRefused(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	local := hostileRepo(t, "../evil.yaml")
	require.NoError(t, os.Rename(local, server.Dir("evil")))
	for _, repo := range []string{server.Dir("evil"), server.URL + "/evil.git"} {
		d := readError(t, newReader(t, Options{}), model.Ref{Repo: repo, Branch: "main"})
		assert.Equal(t, giterror.RuleInvalidRepository, d.Rule)
		assert.Contains(t, d.Message, `is refused: a tree entry with the name "../evil.yaml"`)
	}
}

// odd has what is listed and never followed.
func odd() gitopstest.Commit {
	return gitopstest.Commit{
		Files: gitopstest.Files{"a.yaml": "a: 1\n", "dir/b.yaml": "b: 2\n", "secret": "s\n"},
		Links: map[string]string{
			"etc.yaml": "/etc/hostname", "up.yaml": "../../secret", "inside.yaml": "a.yaml",
			"dirlink": "dir", "loop.yaml": "loop.yaml",
		},
		Submodules: map[string]string{"sub": strings.Repeat("1", 40)},
	}
}

// oddFolder is odd as a plain folder.
func oddFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	gitopstest.Write(t, dir, odd().Files)
	for name, target := range odd().Links {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	gitopstest.Write(t, dir, gitopstest.Files{"sub/.git": "gitdir: ../.git/modules/sub\n", "sub/c.yaml": "c: 3\n"})
	return dir
}

func TestS4LinksAndSubmodulesAreListedAndNotFollowed(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, _ := server.Add("odd", odd())
	for name, repo := range map[string]string{"http": url, "bare": server.Dir("odd"), "folder": oddFolder(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReader(t, Options{})
			fsys := readOne(t, r, model.Ref{Repo: repo, Branch: "main"}).FS
			list, err := fs.ReadDir(fsys, ".")
			require.NoError(t, err)
			got := map[string]fs.FileMode{}
			for _, entry := range list {
				got[entry.Name()] = entry.Type()
			}
			assert.Equal(t, map[string]fs.FileMode{
				"a.yaml": 0, "dir": fs.ModeDir, "secret": 0, "etc.yaml": fs.ModeSymlink, "up.yaml": fs.ModeSymlink,
				"inside.yaml": fs.ModeSymlink, "dirlink": fs.ModeSymlink, "loop.yaml": fs.ModeSymlink, "sub": fs.ModeIrregular,
			}, got)
			for _, link := range []string{"etc.yaml", "up.yaml", "inside.yaml", "dirlink", "loop.yaml"} {
				_, err := fs.ReadFile(fsys, link)
				require.ErrorIs(t, err, gitobject.ErrSymlink, link)
			}
			_, err = fs.ReadFile(fsys, "sub")
			require.ErrorIs(t, err, gitobject.ErrIrregular)
			for _, beyond := range []string{"dirlink/b.yaml", "sub/c.yaml", "a.yaml/x", ".git", "sub/.git"} {
				_, err := fs.Stat(fsys, beyond)
				require.ErrorIs(t, err, fs.ErrNotExist, beyond)
			}
			for _, invalid := range []string{"../x", "/etc/hostname", "dir/../a.yaml", "dir/", ""} {
				_, err := fsys.Open(invalid)
				require.ErrorIs(t, err, fs.ErrInvalid, invalid)
			}
			for _, path := range []string{"etc.yaml", "dirlink", "sub"} {
				d := readError(t, r, model.Ref{Repo: repo, Branch: "main", Path: path, At: diag.Place{}})
				assert.Equal(t, giterror.RulePathNotFound, d.Rule)
				assert.Regexp(t, "which is not followed|is a submodule", d.Message)
			}
			assert.Equal(t, giterror.RulePathNotFound, readError(t, r, model.Ref{Repo: repo, Branch: "main", Path: "dir/../../x"}).Rule)
		})
	}
}

func TestFileSystemsBehave(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	files := gitopstest.Files{"a.yaml": "a: 1\n", "a/b/c.yaml": "c\n", "a/d.txt": "d\n", "a.b": "x", "empty": ""}
	url, _ := server.Add("repo", gitopstest.Commit{Files: files})
	folder := t.TempDir()
	gitopstest.Write(t, folder, files)
	for _, repo := range []string{url, server.Dir("repo"), folder} {
		fsys := readOne(t, newReader(t, Options{}), model.Ref{Repo: repo, Branch: "main"}).FS
		var names []string
		for name := range files {
			names = append(names, name)
		}
		require.NoError(t, gitobject.Prefetch(t.Context(), fsys, names))
		require.NoError(t, fstest.TestFS(fsys, names...), repo)
	}
}

func TestObjectIDs(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, _ := server.Add("out", gitopstest.Commit{Files: gitopstest.Files{"a/x.yaml": "x\n", "b/y.yaml": "y\n"}, Time: 1234567890})
	source := readOne(t, newReader(t, Options{}), model.Ref{Repo: url, Branch: "main", Path: "not/there/yet", Role: model.Output})
	require.Len(t, server.Requests(), 2, "no file of the output is fetched to begin with")

	info, err := fs.Stat(source.FS, "a/x.yaml")
	require.NoError(t, err)
	assert.Equal(t, gitobject.ObjectID(gitobject.HashOf(plumbing.BlobObject, []byte("x\n")).String()), info.Sys())
	assert.EqualValues(t, 1234567890, info.ModTime().Unix())
	sub, err := fs.Sub(source.FS, "b")
	require.NoError(t, err)
	require.NoError(t, gitobject.Prefetch(t.Context(), sub, []string{"y.yaml"}))
	require.NoError(t, gitobject.Prefetch(t.Context(), source.FS, []string{"a/x.yaml", "b/y.yaml", "a"}))
	assert.Len(t, server.Requests(), 4)
	assert.Equal(t, "y\n", gitopstest.Content(t, sub, "y.yaml"))
	assert.Equal(t, "x\n", gitopstest.Content(t, source.FS, "a/x.yaml"))
	assert.Len(t, server.Requests(), 4)
	require.NoError(t, gitobject.Prefetch(t.Context(), fstest.MapFS{}, []string{"x"}))
}

func TestTooLargeFile(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, _ := server.Add("big", gitopstest.Commit{Files: gitopstest.Files{"big.yaml": strings.Repeat("x", 5000), "a.yaml": "a\n"}})
	server.Add("full", gitopstest.Commit{Files: gitopstest.Files{"big.yaml": strings.Repeat("x", 5000), "a.yaml": "a\n"}})
	server.Configure("full", "uploadpack.allowFilter", "false")
	for _, repo := range []string{url, server.Dir("big"), server.URL + "/full"} {
		r := newReader(t, Options{Limits: wire.Limits{Object: 4096}})
		source := readOne(t, r, model.Ref{Repo: repo, Branch: "main"})
		assert.Equal(t, "a\n", gitopstest.Content(t, source.FS, "a.yaml"))
		_, err := fs.ReadFile(source.FS, "big.yaml")
		var tooLarge *gitobject.TooLargeError
		require.ErrorAs(t, err, &tooLarge, repo)
		assert.Equal(t, gitobject.TooLargeError{Size: 5000, Limit: 4096}, *tooLarge)
		require.EqualError(t, err, "read big.yaml: 5000 bytes, larger than 4 KiB")
		info, err := fs.Stat(source.FS, "big.yaml")
		require.NoError(t, err)
		assert.EqualValues(t, 5000, info.Size())
	}
}

// TestTreeBomb reads a tree of 12 objects that stands for 10^12 files.
func TestTreeBomb(t *testing.T) {
	t.Parallel()
	if gitopstest.Race {
		t.Skip("nothing here is done at once")
	}
	for file, said := range map[string]string{"a.txt": "more than 1000000 files and directories", "a.yaml": "files whose paths have more than 32 MiB in all"} {
		d := readError(t, newReader(t, Options{}), model.Ref{Repo: treeBomb(t, file), Branch: "main"})
		assert.Equal(t, giterror.RuleInvalidRepository, d.Rule)
		assert.Contains(t, d.Message, said)
	}
}

// treeBomb is a repository whose tree of 12 objects holds a file in 10^12 folders.
func treeBomb(t *testing.T, name string) (dir string) {
	t.Helper()
	dir, _ = gitopstest.NewBare(t, gitopstest.Commit{Files: gitopstest.Files{name: "a: 1\n"}})
	tree := gitopstest.RunGit(t, dir, "rev-parse", "main^{tree}")
	for range 12 {
		var list strings.Builder
		for i := range 10 {
			list.WriteString("040000 tree " + tree + "\tfolder-" + string(rune('0'+i)) + "\n")
		}
		tree = mktree(t, dir, list.String())
	}
	gitopstest.RunGit(t, dir, "update-ref", "refs/heads/main", gitopstest.RunGit(t, dir, "commit-tree", "-m", "bomb", tree))
	return dir
}

func mktree(t *testing.T, dir, list string) string {
	t.Helper()
	var raw bytes.Buffer
	for line := range strings.Lines(list) {
		head, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		id := plumbing.NewHash(head[len(head)-40:])
		raw.WriteString("40000 " + name + "\x00")
		raw.Write(id[:])
	}
	file := filepath.Join(t.TempDir(), "tree")
	require.NoError(t, os.WriteFile(file, raw.Bytes(), 0o600))
	return gitopstest.RunGit(t, dir, "hash-object", "-t", "tree", "-w", file)
}

// A folder with a list that is too long is refused before it is read.
func TestS8FolderWithAMillionFiles(t *testing.T) {
	t.Parallel()
	if gitopstest.Race {
		t.Skip("nothing here is done at once")
	}
	dir, _ := gitopstest.NewBare(t, gitopstest.Commit{Files: gitopstest.Files{"a.yaml": "a: 1\n"}})
	blob := plumbing.NewHash(gitopstest.RunGit(t, dir, "rev-parse", "main:a.yaml"))
	var raw bytes.Buffer
	for i := 1_000_000; i < 2_000_000; i++ {
		raw.WriteString("100644 f")
		raw.WriteString(strconv.Itoa(i))
		raw.WriteString(".yaml\x00")
		raw.Write(blob[:])
	}
	file := filepath.Join(t.TempDir(), "tree")
	require.NoError(t, os.WriteFile(file, raw.Bytes(), 0o600))
	tree := gitopstest.RunGit(t, dir, "-c", "core.looseCompression=0", "hash-object", "-t", "tree", "-w", file)
	gitopstest.RunGit(t, dir, "update-ref", "refs/heads/main", gitopstest.RunGit(t, dir, "commit-tree", "-m", "many", tree))
	d := readError(t, newReader(t, Options{}), model.Ref{Repo: dir, Branch: "main"})
	assert.Equal(t, giterror.RuleInvalidRepository, d.Rule)
	assert.Contains(t, d.Message, "a directory whose list has")
}

// Folders far within each other are refused, in a plain folder as in a repository.
func TestS8DeepFolders(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("d/", gitobject.MaxDepth+2)
	dir := t.TempDir()
	gitopstest.Write(t, dir, gitopstest.Files{deep + "a.yaml": "a: 1\n"})
	source := readOne(t, newReader(t, Options{}), model.Ref{Repo: dir, Branch: "main"})
	_, err := fs.Stat(source.FS, deep+"a.yaml")
	require.ErrorContains(t, err, "nested more than 64 deep")

	repo, _ := gitopstest.NewBare(t, gitopstest.Commit{Files: gitopstest.Files{deep + "a.yaml": "a: 1\n"}})
	d := readError(t, newReader(t, Options{}), model.Ref{Repo: repo, Branch: "main"})
	assert.Contains(t, d.Message, "nested more than 64 deep")
}
