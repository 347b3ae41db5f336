package gitobject

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

// GitDir is the directory of the repository in a work tree.
const GitDir = ".git"

// DirectoryFS is a local directory as a file system with the behaviour of TreeFS: symbolic links are listed and never
// followed, nested clones are submodules, and .git is hidden. No path leads out of the directory.
type DirectoryFS struct {
	Root *os.Root
	// plain caches the plain directories, so that the path of a deep one is not checked again for every file in it.
	plain sync.Map
}

var (
	_ fs.ReadDirFS = (*DirectoryFS)(nil)
	_ fs.StatFS    = (*DirectoryFS)(nil)
)

// lstat is os.Root.Lstat without symbolic links on the way, and with nested clones as submodules.
func (f *DirectoryFS) lstat(op, name string) (fs.FileInfo, error) {
	fail := func(err error) (fs.FileInfo, error) {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	info, err := f.Root.Lstat(".")
	if err != nil {
		return fail(giterror.Cause(err))
	}
	if name == "." {
		return info, nil
	}
	if strings.Count(name, "/") > MaxDepth {
		return fail(fmt.Errorf("directories nested more than %d deep", MaxDepth))
	}
	dir, rest := f.known(name)
	for part := range strings.SplitSeq(rest, "/") {
		if !info.IsDir() || strings.EqualFold(part, GitDir) {
			return fail(fs.ErrNotExist)
		}
		dir = path.Join(dir, part)
		if info, err = f.Root.Lstat(dir); err != nil {
			return fail(giterror.Cause(err))
		}
		if info, err = f.asSubmodule(dir, info); err != nil {
			return fail(giterror.Cause(err))
		}
		if info.IsDir() {
			f.plain.Store(dir, true)
		}
	}
	return info, nil
}

// known splits a path after the directory that holds its last part, if that is known to be a plain one.
func (f *DirectoryFS) known(name string) (dir, rest string) {
	dir, rest = path.Split(name)
	if _, ok := f.plain.Load(path.Clean(dir)); ok {
		return path.Clean(dir), rest
	}
	return ".", name
}

// asSubmodule returns the information of a submodule for a nested clone, as in git.
func (f *DirectoryFS) asSubmodule(name string, info fs.FileInfo) (fs.FileInfo, error) {
	if !info.IsDir() {
		return info, nil
	}
	_, err := f.Root.Lstat(path.Join(name, GitDir))
	if errors.Is(err, fs.ErrNotExist) {
		return info, nil
	}
	return submodule{info}, err
}

// Open implements fs.FS.
func (f *DirectoryFS) Open(name string) (fs.File, error) {
	info, err := f.lstat("open", name)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		list, err := f.ReadDir(name)
		if err != nil {
			return nil, err
		}
		return &openDir{info: info, name: name, entries: list}, nil
	case info.Mode()&fs.ModeSymlink != 0:
		err = ErrSymlink
	case !info.Mode().IsRegular():
		// Opening a named pipe would wait for a writer.
		err = ErrIrregular
	default:
		file, openErr := f.Root.Open(name)
		if openErr == nil {
			return file, nil
		}
		err = giterror.Cause(openErr)
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: err}
}

// Stat implements fs.StatFS. It does not follow symbolic links.
func (f *DirectoryFS) Stat(name string) (fs.FileInfo, error) { return f.lstat("stat", name) }

// ReadDir implements fs.ReadDirFS.
func (f *DirectoryFS) ReadDir(name string) ([]fs.DirEntry, error) {
	info, err := f.lstat("readdir", name)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	if err != nil {
		return nil, err
	}
	dir, err := f.Root.Open(name)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: giterror.Cause(err)}
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: giterror.Cause(err)}
	}
	slices.Sort(names)
	list := make([]fs.DirEntry, 0, len(names))
	for _, child := range names {
		if strings.EqualFold(child, GitDir) {
			continue
		}
		full := path.Join(name, child)
		info, err := f.Root.Lstat(full)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since it was listed
		}
		if err == nil {
			info, err = f.asSubmodule(full, info)
		}
		if err != nil {
			return nil, &fs.PathError{Op: "readdir", Path: full, Err: giterror.Cause(err)}
		}
		list = append(list, fs.FileInfoToDirEntry(info))
	}
	return list, nil
}

// submodule is the information of a nested clone.
type submodule struct{ fs.FileInfo }

func (submodule) Mode() fs.FileMode { return fs.ModeIrregular }
func (submodule) IsDir() bool       { return false }
func (submodule) Size() int64       { return 0 }
func (submodule) Sys() any          { return nil }

// BranchDirectory returns the directory of a branch in a plain directory that is used as a repository: the subdirectory
// of that name, else the directory itself.
func BranchDirectory(root *os.Root, branch string) (*os.Root, error) {
	if branch == "" || branch == "." || !fs.ValidPath(branch) {
		return root, nil
	}
	info, err := root.Stat(branch)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), err == nil && !info.IsDir():
		return root, nil
	case err != nil: // it is unknown whether there is one
		return nil, err
	}
	return root.OpenRoot(branch)
}
