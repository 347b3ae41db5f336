// Package gitopstest makes git repositories and serves them on loopback, for tests. It needs the git
// program.
package gitopstest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Files are the regular files of a commit: path → content.
type Files map[string]string

// FromFS returns the regular files of a file system: os.DirFS, a txtar archive, fstest.MapFS.
func FromFS(fsys fs.FS) (Files, error) {
	files := Files{}
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		files[name] = string(data)
		return err
	})
	return files, err
}

// Commit is one commit: the whole tree of it, on top of what its branch had.
type Commit struct {
	// Branch is made if it is not there. Empty means "main".
	Branch string
	Files  Files
	// Links are symbolic links: path → target.
	Links map[string]string
	// Submodules are paths with the commit that they point to.
	Submodules map[string]string
	// Message is "test" if it is empty.
	Message string
	// Time is seconds since 1970; 0 means 1700000000 plus one for each commit before.
	Time int64
}

// settings are the configuration of a bare repository that can be fetched from and pushed to in every way that git allows,
// and that no push tidies up.
const settings = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
[uploadpack]
	allowFilter = true
	allowAnySHA1InWant = true
[http]
	receivepack = true
[receive]
	autogc = false
[gc]
	auto = 0
[maintenance]
	auto = false
`

// Bare makes a bare repository in dir with one commit after another, and returns their ids. HEAD is
// the branch of the first one. It can be fetched from and pushed to in every way that git allows;
// see Git for changing that.
func Bare(dir string, commits ...Commit) ([]string, error) {
	head := "main"
	if len(commits) > 0 {
		head = commits[0].branch()
	}
	for _, folder := range []string{"hooks", "objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return nil, err
		}
	}
	for name, content := range map[string]string{"HEAD": "ref: refs/heads/" + head + "\n", "config": settings} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return nil, err
		}
	}
	return Add(dir, commits...)
}

// Add adds commits to a bare repository and returns their ids. It runs no git, as processes take most of the time of
// tests that make many repositories.
func Add(dir string, commits ...Commit) ([]string, error) {
	repo := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
	objects := memory.NewStorage()
	tips := map[plumbing.ReferenceName]plumbing.Hash{}
	ids := make([]string, len(commits))
	for i, c := range commits {
		branch := plumbing.NewBranchReferenceName(c.branch())
		parent, seen := tips[branch]
		if !seen {
			if ref, err := repo.Reference(branch); err == nil {
				parent = ref.Hash()
			}
		}
		id, err := c.store(objects, parent, 1_700_000_000+int64(i))
		if err != nil {
			return nil, err
		}
		tips[branch], ids[i] = id, id.String()
	}
	if err := move(objects, repo); err != nil {
		return nil, err
	}
	for branch, tip := range tips {
		if err := repo.SetReference(plumbing.NewHashReference(branch, tip)); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (c Commit) branch() string { return cmp.Or(c.Branch, "main") }

// store stores the commit with all that is in it. Its time is when, unless it has one.
func (c Commit) store(objects storer.EncodedObjectStorer, parent plumbing.Hash, when int64) (plumbing.Hash, error) {
	entries := map[string]entry{}
	add := func(files map[string]string, mode string) error {
		for name, content := range files {
			id, err := encode(objects, plumbing.BlobObject, content)
			if err != nil {
				return err
			}
			entries[name] = entry{mode, id}
		}
		return nil
	}
	if err := errors.Join(add(c.Files, "100644"), add(c.Links, "120000")); err != nil {
		return plumbing.ZeroHash, err
	}
	for name, commit := range c.Submodules {
		entries[name] = entry{"160000", plumbing.NewHash(commit)}
	}
	tree, err := storeTree(objects, entries)
	if err != nil {
		return tree, err
	}
	text := fmt.Sprintf("tree %s\n", tree)
	if !parent.IsZero() {
		text += fmt.Sprintf("parent %s\n", parent)
	}
	for _, role := range []string{"author", "committer"} {
		text += fmt.Sprintf("%s Test <test@example.com> %d +0000\n", role, cmp.Or(c.Time, when))
	}
	return encode(objects, plumbing.CommitObject, text+"\n"+cmp.Or(c.Message, "test"))
}

// entry is what is in a tree under a name.
type entry struct {
	mode string
	id   plumbing.Hash
}

// storeTree stores a tree, by paths, with those below it.
func storeTree(objects storer.EncodedObjectStorer, entries map[string]entry) (plumbing.Hash, error) {
	direct, below := map[string]entry{}, map[string]map[string]entry{}
	for name, e := range entries {
		if folder, rest, nested := strings.Cut(name, "/"); !nested {
			direct[name] = e
		} else {
			if below[folder] == nil {
				below[folder] = map[string]entry{}
			}
			below[folder][rest] = e
		}
	}
	for folder, entries := range below {
		id, err := storeTree(objects, entries)
		if err != nil {
			return id, err
		}
		direct[folder+"/"] = entry{"40000", id} // as which git sorts it
	}
	var tree strings.Builder
	for _, name := range slices.Sorted(maps.Keys(direct)) {
		e := direct[name]
		fmt.Fprintf(&tree, "%s %s\x00%s", e.mode, strings.TrimSuffix(name, "/"), e.id[:])
	}
	return encode(objects, plumbing.TreeObject, tree.String())
}

func encode(objects storer.EncodedObjectStorer, kind plumbing.ObjectType, content string) (plumbing.Hash, error) {
	var o plumbing.MemoryObject
	o.SetType(kind)
	if _, err := io.WriteString(&o, content); err != nil {
		return plumbing.ZeroHash, err
	}
	return objects.SetEncodedObject(&o)
}

// fewObjects are stored as files, as git does; more of them in a pack.
const fewObjects = 100

// move stores all objects in a repository.
func move(from *memory.Storage, to *filesystem.Storage) error {
	if len(from.Objects) > fewObjects {
		w, err := to.PackfileWriter()
		if err != nil {
			return err
		}
		_, err = packfile.NewEncoder(w, from, false).Encode(slices.Collect(maps.Keys(from.Objects)), 0)
		return errors.Join(err, w.Close())
	}
	for _, o := range from.Objects {
		if _, err := to.SetEncodedObject(o); err != nil {
			return err
		}
	}
	return nil
}

// Clone clones a repository into dir, with a work tree.
func Clone(from, dir string) error {
	_, err := Git("", "clone", "--quiet", from, dir)
	return err
}

// Git runs git in a folder, without the configuration of the machine, and returns what it printed.
func Git(dir string, args ...string) (string, error) {
	cmd := command(dir, args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, problems.String())
	}
	return out.String(), nil
}

func command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "GIT_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, hermetic()...)
	cmd.Env = append(cmd.Env, identity()...)
	return cmd
}

// hermetic keeps the configuration of the machine out.
func hermetic() []string {
	return []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
	}
}

// identity makes the same commits have the same ids everywhere.
func identity() []string {
	return []string{
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com", "GIT_COMMITTER_DATE=1700000000 +0000",
	}
}
