// Package local reads and writes Git repositories on this machine.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
)

// Repository is a bare repository or a clone on this machine. It is read with go-git's storage, without the git program and
// hooks. Its branches are those of the time of Open.
type Repository struct {
	// name is the name for messages.
	name string
	// dir is the directory with HEAD.
	dir string
	// WorkTree is the directory that holds .git; empty for a bare repository.
	WorkTree string
	// Parsed caches trees.
	Parsed gitobject.TreeCache

	storage *filesystem.Storage
	refs    references
	// limit is the maximum size of an object in bytes.
	limit int64

	// mu guards objects, which is not safe for concurrent use.
	mu      sync.Mutex
	objects *filesystem.ObjectStorage
}

// ID is the path of the repository.
func (r *Repository) ID() string { return r.dir }

// String returns the name for messages.
func (r *Repository) String() string { return r.name }

// Open opens what is at a path, under the name that messages call it: a repository, or a plain directory that stands for
// one. The other one is nil. limit is the maximum size of an object in bytes.
func Open(name, file string, limit int64) (*Repository, *os.Root, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, giterror.New(giterror.RuleInvalidRepository, "%s: not found", name).WithCause(fs.ErrNotExist).WithHint(giturl.HintForPath(name))
	case err != nil:
		return nil, nil, giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %v", name, giterror.Cause(err))
	case !info.IsDir():
		return nil, nil, giterror.New(giterror.RuleInvalidRepository, "%s is a file, not a directory or a repository", name)
	}
	dir, workTree, err := findRepo(file)
	if err != nil {
		return nil, nil, invalid(name, err)
	}
	if dir != "" {
		repo := &Repository{name: name, dir: dir, WorkTree: workTree, limit: limit, Parsed: gitobject.TreeCache{Small: true}}
		if err := repo.open(); err != nil {
			return nil, nil, invalid(name, errors.Join(err, repo.Close()))
		}
		return repo, nil, nil
	}
	root, err := os.OpenRoot(file)
	if err != nil {
		return nil, nil, giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %v", name, giterror.Cause(err))
	}
	return nil, root, nil
}

// findRepo returns the repository that a directory is (a bare one) or has (a clone); dir is empty if it
// is a plain directory. In a work tree of `git worktree add` and in a submodule, .git is a file that says where it is.
func findRepo(file string) (dir, workTree string, err error) {
	dir = filepath.Join(file, gitobject.GitDir)
	_, err = os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && isGitDir(file):
		return file, "", nil
	case errors.Is(err, fs.ErrNotExist):
		return "", "", nil
	case err != nil:
		return "", "", giterror.Cause(err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.IsDir() {
		return dir, file, err
	}
	target, err := pointer(dir, "gitdir: ")
	return within(file, target), file, err
}

func invalid(name string, err error) *giterror.Error {
	return giterror.New(giterror.RuleInvalidRepository, "%s cannot be read as a git repository: %s", name, giterror.OneLine(err.Error()))
}

func pointer(file, prefix string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", giterror.Cause(err)
	}
	target, found := strings.CutPrefix(strings.TrimSpace(string(data)), prefix)
	if !found || target == "" {
		return "", fmt.Errorf("the file %s does not contain the path of the repository", filepath.Base(file))
	}
	return filepath.FromSlash(target), nil
}

func within(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

func isGitDir(dir string) bool {
	head, headErr := os.Stat(filepath.Join(dir, "HEAD"))
	objects, objectsErr := os.Stat(filepath.Join(dir, "objects"))
	_, refsErr := os.Stat(filepath.Join(dir, "refs"))
	return headErr == nil && objectsErr == nil && refsErr == nil && head.Mode().IsRegular() && objects.IsDir()
}

func (r *Repository) open() error {
	common := r.dir
	var commonFS billy.Filesystem
	if _, err := os.Stat(filepath.Join(r.dir, "commondir")); err == nil {
		target, err := pointer(filepath.Join(r.dir, "commondir"), "")
		if err != nil {
			return err
		}
		common = within(r.dir, target)
		commonFS = osfs.New(common)
	}
	if _, err := os.Stat(filepath.Join(common, "objects")); err != nil {
		return errors.New("it has no objects; is it incomplete?")
	}
	if _, err := os.Stat(filepath.Join(common, "objects", "info", "alternates")); err == nil {
		return errors.New("it shares the objects of another repository (git clone --shared or --reference); use a clone with its own")
	}
	files := dotgit.NewRepositoryFilesystem(osfs.New(r.dir), commonFS)
	r.storage = filesystem.NewStorage(withoutLocks{files}, cache.NewObjectLRUDefault())
	if err := r.supported(); err != nil {
		return err
	}
	options := filesystem.Options{KeepDescriptors: true, LargeObjectThreshold: r.limit}
	r.objects = filesystem.NewObjectStorageWithOptions(dotgit.New(osfs.New(common)), cache.NewObjectLRUDefault(), options)
	var err error
	r.refs, err = r.readReferences()
	return err
}

// supported refuses the formats that go-git would misread. Other extensions (a partial clone,
// configuration per work tree) change nothing for reading.
func (r *Repository) supported() error {
	config, err := r.storage.Config()
	if err != nil {
		return err
	}
	extensions := config.Raw.Section("extensions")
	if format := extensions.Option("objectformat"); format != "" && !strings.EqualFold(format, "sha1") {
		return fmt.Errorf("its object format %s is not supported", format)
	}
	if format := extensions.Option("refstorage"); format != "" && !strings.EqualFold(format, "files") {
		return fmt.Errorf("its reference format %s is not supported", format)
	}
	return nil
}

// Close closes the files that are kept open.
func (r *Repository) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.objects == nil {
		return nil
	}
	return r.objects.Close()
}

// TreesAt returns the trees and files of a commit.
func (r *Repository) TreesAt(plumbing.Hash) gitobject.Store { return r }

// CommitAt returns the commit with an id.
func (r *Repository) CommitAt(_ context.Context, id plumbing.Hash, _ string) (gitobject.CommitObject, error) {
	data, err := r.object(plumbing.CommitObject, id)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return gitobject.CommitObject{}, giterror.New(giterror.RuleCommitNotFound, "commit %s not found in %s", id, r.name).WithHint(r.CutHint())
	}
	if err != nil {
		return gitobject.CommitObject{}, invalid(r.name, err)
	}
	commit, err := gitobject.ParseCommit(data)
	if err != nil {
		return gitobject.CommitObject{}, invalid(r.name, err)
	}
	return commit, nil
}

// CutHint is the hint for a shallow history; it is empty if the clone is not shallow.
func (r *Repository) CutHint() string {
	if shallow, err := r.storage.Shallow(); err != nil || len(shallow) == 0 {
		return ""
	}
	return "the clone is shallow; `git fetch --unshallow` gets the rest of its history"
}

// object reads an object whole. The error is plumbing.ErrObjectNotFound if it is not there, and a
// TooLargeError if it is beyond the limit.
func (r *Repository) object(kind plumbing.ObjectType, id plumbing.Hash) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	object, err := r.objects.EncodedObject(kind, id)
	if err != nil {
		return nil, err
	}
	if object.Size() > r.limit {
		return nil, &gitobject.TooLargeError{Size: object.Size(), Limit: r.limit}
	}
	if kind == plumbing.TreeObject && object.Size() > gitobject.MaxTreeBytes {
		return nil, gitobject.TooManyInDirectory(object.Size())
	}
	reader, err := object.Reader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	data := make([]byte, object.Size())
	_, err = io.ReadFull(reader, data)
	return data, err
}

// Tree implements gitobject.Store.
func (r *Repository) Tree(id plumbing.Hash) ([]byte, error) {
	return r.present(plumbing.TreeObject, id)
}

// Blob implements gitobject.Store.
func (r *Repository) Blob(_ context.Context, id plumbing.Hash) ([]byte, error) {
	return r.present(plumbing.BlobObject, id)
}

func (r *Repository) present(kind plumbing.ObjectType, id plumbing.Hash) ([]byte, error) {
	data, err := r.object(kind, id)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, fmt.Errorf("the %s %s is missing: the clone is partial or damaged", kind, id)
	}
	return data, err
}

// Size implements gitobject.Store.
func (r *Repository) Size(id plumbing.Hash) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	object, err := r.objects.EncodedObject(plumbing.BlobObject, id) // EncodedObjectSize leaves loose objects open
	if err != nil {
		return -1
	}
	return object.Size()
}

// Load implements gitobject.Store. The error, an *Error, says that files are missing.
func (r *Repository) Load(_ context.Context, ids []plumbing.Hash) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if r.objects.HasEncodedObject(id) != nil {
			return giterror.New(giterror.RuleInvalidRepository, "%s does not have all files: the clone is partial or damaged", r.name).
				WithHint("`git fetch --refetch --no-filter` gets all files of a clone with --filter")
		}
	}
	return nil
}
