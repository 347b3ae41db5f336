package gitobject

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// NewRepository is a local git repository to create.
type NewRepository struct {
	// Bare creates one without a work tree; otherwise the first branch is checked out.
	Bare bool
	// Branches are created in this order, each with one commit without a parent. There is at least one.
	Branches []NewBranch
	// Origin is the URL of the remote "origin"; empty for none.
	Origin string
	// Cloned is true if the origin has the branches already, as after git clone; otherwise they are not pushed yet.
	Cloned bool
	// Settings are further settings of its configuration, by "section.key".
	Settings map[string]string
	// Author is the author of the commits, and When their date, which is written in UTC and whole seconds.
	Author Identity
	When   time.Time
}

// NewBranch is a branch of a NewRepository.
type NewBranch struct {
	Name    string
	Message string
	// Files returns the content of the branch by path. tips are the commits of the branches before.
	Files func(tips map[string]string) (map[string]string, error)
}

// CreateRepository creates a repository in a directory that does not exist yet and returns the commits of its branches.
// The same branches, author and time have the same commits. After an error, a partial repository remains.
func CreateRepository(dir string, r NewRepository) (tips map[string]string, err error) {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, err
	}
	at := dir
	if !r.Bare {
		at = filepath.Join(dir, GitDir)
		if err := os.Mkdir(at, 0o777); err != nil {
			return nil, err
		}
	}
	w := &repositoryWriter{storage: filesystem.NewStorage(osfs.New(at), cache.NewObjectLRUDefault()), tips: map[string]string{}}
	defer func() { err = errors.Join(err, w.storage.Close()) }()
	return w.tips, w.write(dir, r)
}

type repositoryWriter struct {
	storage *filesystem.Storage
	tips    map[string]string
}

func (w *repositoryWriter) write(dir string, r NewRepository) error {
	if err := w.storage.Init(); err != nil {
		return err
	}
	head := plumbing.NewBranchReferenceName(r.Branches[0].Name)
	if err := w.storage.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, head)); err != nil {
		return err
	}
	if err := w.storage.SetConfig(r.config()); err != nil {
		return err
	}
	for i, branch := range r.Branches {
		if _, twice := w.tips[branch.Name]; twice {
			return fmt.Errorf("duplicate branch %q", branch.Name)
		}
		files, err := branch.Files(maps.Clone(w.tips))
		if err != nil {
			return err
		}
		if err := w.branch(r, branch, files); err != nil {
			return fmt.Errorf("branch %s: %w", branch.Name, err)
		}
		if i == 0 && !r.Bare {
			if err := w.checkOut(dir, files); err != nil {
				return err
			}
		}
	}
	return nil
}

// config returns the configuration that git would write for such a repository.
func (r NewRepository) config() *config.Config {
	c := config.NewConfig()
	c.Core.IsBare = r.Bare
	for name, value := range r.Settings {
		section, key, _ := strings.Cut(name, ".")
		c.Raw.SetOption(section, "", key, value)
	}
	if r.Origin == "" {
		return c
	}
	c.Remotes["origin"] = &config.RemoteConfig{Name: "origin", URLs: []string{r.Origin}}
	if !r.Cloned {
		return c // git status would speak of branches that are gone
	}
	for _, branch := range r.Branches {
		c.Branches[branch.Name] = &config.Branch{Name: branch.Name, Remote: "origin", Merge: plumbing.NewBranchReferenceName(branch.Name)}
	}
	return c
}

func (w *repositoryWriter) branch(r NewRepository, branch NewBranch, files map[string]string) error {
	edits := make([]TreeEdit, 0, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		blob := NewRawObject(plumbing.BlobObject, []byte(files[name]))
		if err := w.object(blob); err != nil {
			return err
		}
		edits = append(edits, TreeEdit{Path: name, Blob: blob.ID})
	}
	tree, err := BuildTree(nil, plumbing.ZeroHash, ".", edits)
	if err != nil {
		return err
	}
	for _, object := range tree.Objects {
		if err := w.object(object); err != nil {
			return err
		}
	}
	commit, err := NewCommit{Tree: tree.ID, Author: r.Author, Committer: r.Author, When: r.When, Message: branch.Message}.Object()
	if err != nil {
		return err
	}
	if err := w.object(commit); err != nil {
		return err
	}
	w.tips[branch.Name] = commit.ID.String()
	names := []plumbing.ReferenceName{plumbing.NewBranchReferenceName(branch.Name)}
	if r.Cloned {
		names = append(names, plumbing.NewRemoteReferenceName("origin", branch.Name))
	}
	for _, name := range names {
		if err := w.storage.SetReference(plumbing.NewHashReference(name, commit.ID)); err != nil {
			return err
		}
	}
	return nil
}

func (w *repositoryWriter) object(object NewObject) error {
	encoded := &plumbing.MemoryObject{}
	encoded.SetType(object.Kind)
	if _, err := encoded.Write(object.Content.Append(nil)); err != nil {
		return err
	}
	_, err := w.storage.SetEncodedObject(encoded)
	return err
}

func (w *repositoryWriter) checkOut(dir string, files map[string]string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	entries := &index.Index{Version: 2}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
			return err
		}
		if err := root.WriteFile(name, []byte(files[name]), 0o666); err != nil {
			return err
		}
		// The times are missing, so git reads each file once and then records them.
		entries.Entries = append(entries.Entries, &index.Entry{
			Name: name, Mode: filemode.Regular, Hash: HashOf(plumbing.BlobObject, []byte(files[name])),
		})
	}
	return w.storage.SetIndex(entries)
}
