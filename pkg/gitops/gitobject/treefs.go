package gitobject

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// ObjectID is what fs.FileInfo.Sys returns for a file or directory of a commit: the id of the git
// object that it is, as 40 hexadecimal digits. Equal ids are equal contents.
type ObjectID string

// TooLargeError is the error of a file that exceeds Limits.Object or TenantLimits.File and was not loaded. It wraps
// model.ErrTooLarge.
type TooLargeError struct {
	// Size is the size of the file in bytes; -1 if unknown.
	Size int64
	// Limit is the limit in bytes.
	Limit int64
}

func (e *TooLargeError) Error() string {
	if e.Size < 0 {
		return "larger than " + ByteSize(e.Limit)
	}
	return fmt.Sprintf("%s, larger than %s", ByteSize(e.Size), ByteSize(e.Limit))
}

// Is implements errors.Is.
func (e *TooLargeError) Is(target error) bool { return target == model.ErrTooLarge }

// The errors of opening a path that is not a regular file.
var (
	ErrSymlink   = errors.New("a symbolic link, which is not followed")
	ErrIrregular = errors.New("not a regular file")
)

// Store is the source of the content of a TreeFS.
type Store interface {
	// Tree returns the content of a tree.
	Tree(id plumbing.Hash) ([]byte, error)
	// Blob returns the content of a file, and fetches it if necessary. It must not be modified.
	Blob(ctx context.Context, id plumbing.Hash) ([]byte, error)
	// Size returns the size of a file without fetching it, or -1.
	Size(id plumbing.Hash) int64
	// Load fetches files, as many as possible in one request. A file that is too large is not an error.
	Load(ctx context.Context, ids []plumbing.Hash) error
}

// TreeFS is the tree of a commit as a file system. Symbolic links and submodules are listed and
// cannot be opened. All its times are the commit's.
type TreeFS struct {
	// ctx is the context for fetching files that were not prefetched.
	ctx     context.Context
	objects Store
	root    plumbing.Hash
	when    time.Time
	Parsed  *TreeCache
}

var (
	_ fs.ReadDirFS = (*TreeFS)(nil)
	_ fs.StatFS    = (*TreeFS)(nil)
	_ fs.SubFS     = (*TreeFS)(nil)
)

// NewTreeFS returns the tree of a commit as a file system. ctx is the context for fetching files.
func NewTreeFS(ctx context.Context, objects Store, commit CommitObject) *TreeFS {
	return &TreeFS{ctx: ctx, objects: objects, root: commit.Tree, when: commit.When, Parsed: &TreeCache{}}
}

// smallDirectory is the maximum number of entries of a directory in memory that is not cached but parsed each time.
// Most directories of a large fleet are those of targets, with a few files: caching them would take three times the
// memory of a comparison and save hardly any time.
const smallDirectory = 8

// TreeCache keeps the entries of trees by id: unchanged directories are the same tree in every branch.
type TreeCache struct {
	// Small caches small directories, too, so that trees on disk are read once.
	Small bool
	mu    sync.Mutex
	trees map[plumbing.Hash][]TreeEntry
}

func (c *TreeCache) entries(source Store, id plumbing.Hash) ([]TreeEntry, error) {
	c.mu.Lock()
	entries, ok := c.trees[id]
	c.mu.Unlock()
	if ok {
		return entries, nil
	}
	data, err := source.Tree(id)
	if err != nil {
		return nil, err
	}
	if entries, err = parseTree(data); err != nil || len(entries) <= smallDirectory && !c.Small {
		return entries, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trees == nil {
		c.trees = map[plumbing.Hash][]TreeEntry{}
	}
	c.trees[id] = entries
	return entries, nil
}

// Find returns the entry at a path.
func (t *TreeFS) Find(op, name string) (TreeEntry, error) {
	fail := func(err error) (TreeEntry, error) {
		return TreeEntry{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	at := TreeEntry{treeMode, ".", t.root}
	if name == "." {
		return at, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if !at.isTree() {
			return fail(fs.ErrNotExist)
		}
		entries, err := t.Parsed.entries(t.objects, at.ID)
		if err != nil {
			return fail(err)
		}
		i, found := slices.BinarySearchFunc(entries, part, func(e TreeEntry, name string) int {
			return cmp.Compare(e.Name, name)
		})
		if !found {
			return fail(fs.ErrNotExist)
		}
		at = entries[i]
	}
	return at, nil
}

// Open implements fs.FS.
func (t *TreeFS) Open(name string) (fs.File, error) {
	entry, err := t.Find("open", name)
	if err != nil {
		return nil, err
	}
	var data []byte
	switch mode := entry.fileMode(); {
	case mode.IsDir():
		list, err := t.ReadDir(name)
		return &openDir{info: t.info(entry), name: name, entries: list}, err
	case mode.IsRegular():
		data, err = t.objects.Blob(t.ctx, entry.ID)
	case mode&fs.ModeSymlink != 0:
		err = ErrSymlink
	default:
		err = ErrIrregular
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return &openFile{Reader: bytes.NewReader(data), info: t.info(entry)}, nil
}

// ReadDir implements fs.ReadDirFS.
func (t *TreeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entry, err := t.Find("readdir", name)
	if err == nil && !entry.isTree() {
		err = &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	if err != nil {
		return nil, err
	}
	entries, err := t.Parsed.entries(t.objects, entry.ID)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	list := make([]fs.DirEntry, len(entries))
	for i, e := range entries {
		list[i] = fs.FileInfoToDirEntry(t.info(e))
	}
	return list, nil
}

// Stat implements fs.StatFS. The size of a file that was not loaded is -1.
func (t *TreeFS) Stat(name string) (fs.FileInfo, error) {
	entry, err := t.Find("stat", name)
	if err != nil {
		return nil, err
	}
	return t.info(entry), nil
}

// Sub implements fs.SubFS.
func (t *TreeFS) Sub(dir string) (fs.FS, error) {
	entry, err := t.Find("sub", dir)
	if err == nil && !entry.isTree() {
		err = &fs.PathError{Op: "sub", Path: dir, Err: errors.New("not a directory")}
	}
	if err != nil {
		return nil, err
	}
	sub := *t
	sub.root = entry.ID
	return &sub, nil
}

func (t *TreeFS) info(entry TreeEntry) fs.FileInfo { return treeInfo{entry: entry, fs: t} }

// Prefetch loads files, as many as possible in one request, so that opening them is fast. It ignores paths that are not
// regular files, and does nothing for local file systems.
func Prefetch(ctx context.Context, fsys fs.FS, paths []string) error {
	t, ok := fsys.(*TreeFS)
	if !ok {
		return nil
	}
	ids := make([]plumbing.Hash, 0, len(paths))
	for _, name := range paths {
		entry, err := t.Find("open", name)
		if err != nil {
			return err
		}
		if entry.fileMode().IsRegular() {
			ids = append(ids, entry.ID)
		}
	}
	return t.objects.Load(ctx, ids)
}

// treeInfo is the fs.FileInfo of an entry. The size is read when it is needed.
type treeInfo struct {
	entry TreeEntry
	fs    *TreeFS
}

func (i treeInfo) Name() string       { return i.entry.Name }
func (i treeInfo) ModTime() time.Time { return i.fs.when }
func (i treeInfo) IsDir() bool        { return i.entry.fileMode().IsDir() }
func (i treeInfo) Sys() any           { return ObjectID(i.entry.ID.String()) }

func (i treeInfo) Mode() fs.FileMode {
	mode := i.entry.fileMode()
	if mode.IsDir() {
		return mode | 0o555
	}
	return mode | 0o444
}

func (i treeInfo) Size() int64 {
	if !i.entry.fileMode().IsRegular() {
		return 0
	}
	return i.fs.objects.Size(i.entry.ID)
}

type openFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	info    fs.FileInfo
	name    string
	entries []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: errors.New("is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(d.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.entries) {
		n = len(d.entries)
	}
	list := d.entries[:n:n]
	d.entries = d.entries[n:]
	return list, nil
}
