package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
)

// Directory is an output directory. Files of a new directory can be staged while others are rendered.
type Directory struct {
	dir   string
	isNew bool
	// mutex protects staged and made.
	mutex sync.Mutex
	// staged is the directory of the files of a new directory until all of them are written; empty if there is none.
	staged string
	// made are the parent directories that were created for a new directory, the innermost first.
	made []string
	// writers are the unused writers of Stage.
	writers sync.Pool
}

// OpenDirectory returns the output directory dir, which may not exist.
func OpenDirectory(dir string) *Directory {
	if full, err := filepath.Abs(dir); err == nil { // else Write fails
		dir = full
	}
	_, err := os.Lstat(dir)
	return &Directory{dir: dir, isNew: errors.Is(err, fs.ErrNotExist)}
}

// FS returns the content of the directory.
func (f *Directory) FS() fs.FS { return os.DirFS(f.dir) }

// Stage writes files beside a new directory, and reports whether it did; Write writes the others. It is safe for
// concurrent use.
func (f *Directory) Stage(files []render.File) bool {
	if !f.isNew || f.begin() != nil {
		return false
	}
	w, _ := f.writers.Get().(*fileWriter)
	if w == nil {
		w = &fileWriter{dir: f.staged}
	}
	defer f.writers.Put(w)
	for _, file := range files {
		if w.write(file.Path, file.Content) != nil {
			return false
		}
	}
	return true
}

// begin creates the staging directory of a new directory.
func (f *Directory) begin() (err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.staged != "" {
		return nil
	}
	made, err := makeDirectories(filepath.Dir(f.dir))
	if err == nil {
		f.made = append(f.made, made...)
		f.staged, err = stagingDirectory(f.dir)
	}
	return err
}

// Discard removes staged files that were not moved in. After that, Stage does nothing.
func (f *Directory) Discard() error {
	err := os.RemoveAll(f.staged)
	removeEmpty(f.made)
	f.isNew, f.staged = false, ""
	return err
}

// Write updates the directory to the tree. Files that kalypso does not manage are kept, so it can be a checkout of the
// GitOps repository. The change is all or nothing: files are staged beside the directory and moved in when all of them
// are written.
func (f *Directory) Write(ctx context.Context, tree *render.Tree) (*change.Change, error) {
	info, err := os.Lstat(f.dir)
	if f.staged != "" || errors.Is(err, fs.ErrNotExist) {
		return f.writeNew(ctx, tree)
	}
	dir := f.dir
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if dir, err = filepath.EvalSymlinks(dir); err == nil {
			info, err = os.Stat(dir)
		}
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("the output directory %s is a file", dir)
	}
	return updateDirectory(ctx, dir, tree)
}

// writeNew stages the remaining files and moves the whole directory in.
func (f *Directory) writeNew(ctx context.Context, tree *render.Tree) (*change.Change, error) {
	diff, err := change.Compare(ctx, nil, tree)
	if err == nil {
		err = f.begin()
	}
	if err == nil {
		var rest []change.FileChange
		for i, file := range tree.Files { // the order of the change
			if !file.Staged {
				rest = append(rest, diff.Files[i])
			}
		}
		err = writeChanged(ctx, f.staged, rest)
	}
	if err == nil {
		err = os.Rename(f.staged, f.dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Discard())
	}
	f.staged, f.made = "", nil
	return diff, nil
}

// CheckDirectory returns an error if Directory.Write would refuse to write the tree to dir, because its paths have other
// content.
func CheckDirectory(dir string, tree *render.Tree) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is a file", dir)
	}
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return checkNotForeign(&gitobject.DirectoryFS{Root: root}, tree)
}

func makeDirectories(dir string) (made []string, err error) {
	for directory := dir; directory != filepath.Dir(directory); directory = filepath.Dir(directory) {
		if _, err := os.Lstat(directory); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, directory)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		removeEmpty(made)
		return nil, err
	}
	return made, nil
}

// removeEmpty removes directories, except those that others have used in the meantime.
func removeEmpty(directories []string) {
	for _, directory := range directories {
		_ = os.Remove(directory)
	}
}

// stagingDirectory creates the directory for staged files, beside dir.
//
// If files cannot be moved from there, because dir is a mount point or its parent is not writable, it is a hidden
// directory in dir.
func stagingDirectory(dir string) (string, error) {
	staged, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".kalypso-*")
	if err == nil && !movable(staged, dir) {
		if err := os.RemoveAll(staged); err != nil {
			return "", err
		}
		staged = ""
	}
	if staged == "" {
		beside := err
		staged, err = os.MkdirTemp(dir, ".kalypso-*")
		if errors.Is(err, fs.ErrNotExist) && beside != nil {
			err = beside // dir does not exist, so this is the reason
		}
	}
	if err != nil {
		return "", err
	}
	return staged, os.Chmod(staged, 0o755) // MkdirTemp makes it private
}

// movable reports whether files can be renamed from one directory into another, which may not exist.
func movable(from, to string) bool {
	if _, err := os.Stat(to); err != nil {
		return true
	}
	probe, err := os.MkdirTemp(from, "probe-*")
	if err != nil {
		return false
	}
	moved := filepath.Join(to, "."+filepath.Base(from))
	if err := os.Rename(probe, moved); err != nil {
		return false
	}
	return os.Remove(moved) == nil
}

// writeChanged writes added and changed files to a directory, on all cores.
func writeChanged(ctx context.Context, dir string, all []change.FileChange) error {
	const batch = 512
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for files := range slices.Chunk(all, batch) {
		work.Go(func() error {
			w := fileWriter{dir: dir}
			for _, file := range files {
				if err := ctx.Err(); err != nil {
					return err
				}
				if file.Action == change.Removed {
					continue
				}
				if err := w.write(file.Path, file.New); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return work.Wait()
}

// fileWriter writes files below a directory.
type fileWriter struct {
	dir string
	// made is the directory of the last file.
	made    string
	content []byte
}

func (w *fileWriter) write(name string, text content.Text) error {
	name = filepath.Join(w.dir, filepath.FromSlash(name))
	if directory := filepath.Dir(name); directory != w.made {
		if os.Mkdir(directory, 0o755) != nil { // it exists, or its parent does not
			if err := os.MkdirAll(directory, 0o755); err != nil {
				return err
			}
		}
		w.made = directory
	}
	w.content = text.Append(w.content[:0])
	return writeFile(name, w.content)
}

// writeFile is os.WriteFile without the five system calls that check whether a file can be polled: they take a fifth of
// the time for small files.
func writeFile(name string, content []byte) error {
	failed := func(action string, err error) error { return &fs.PathError{Op: action, Path: name, Err: err} }
	const flags = syscall.O_WRONLY | syscall.O_CREAT | syscall.O_TRUNC | syscall.O_CLOEXEC
	file, err := syscall.Open(name, flags, 0o644)
	for errors.Is(err, syscall.EINTR) {
		file, err = syscall.Open(name, flags, 0o644)
	}
	if err != nil {
		return failed("open", err)
	}
	for len(content) > 0 {
		n, err := syscall.Write(file, content)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			_ = syscall.Close(file)
			return failed("write", err)
		}
		content = content[max(n, 0):]
	}
	if err := syscall.Close(file); err != nil {
		return failed("close", err)
	}
	return nil
}

func updateDirectory(ctx context.Context, dir string, tree *render.Tree) (*change.Change, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	old := &gitobject.DirectoryFS{Root: root}
	if err := checkNotForeign(old, tree); err != nil {
		return nil, err
	}
	change, err := change.Compare(ctx, old, tree)
	if err != nil || change.Empty() {
		return change, err
	}
	staged, err := stagingDirectory(dir)
	if err == nil {
		err = writeChanged(ctx, staged, change.Files)
	}
	if err == nil {
		err = ctx.Err() // the last chance to cancel
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(staged))
	}
	err = swap(dir, staged, change)
	return change, errors.Join(err, os.RemoveAll(staged))
}

// checkNotForeign returns an error if a path of the tree has other content: a file or link instead of a directory, or a
// directory for something else.
func checkNotForeign(old fs.FS, tree *render.Tree) error {
	var errs []error
	checked := map[string]bool{}
	for _, file := range tree.Files {
		for directory := path.Dir(file.Path); directory != "."; directory = path.Dir(directory) {
			if !checked[directory] {
				checked[directory] = true
				errs = append(errs, mustBe(old, directory, fs.ModeDir))
			}
		}
		errs = append(errs, mustBe(old, file.Path, 0))
		switch directory, name := path.Split(file.Path); name {
		case render.ReadmeFile:
			errs = append(errs, checkClusterDirectory(old, path.Clean(directory)))
		case render.ReconcilerFile:
			errs = append(errs, checkTargetDirectory(old, path.Clean(directory)))
		}
	}
	return errors.Join(errs...)
}

// checkTargetDirectory returns an error for a directory named like a deployment target with other content, because a
// later run could remove it as stale.
func checkTargetDirectory(old fs.FS, directory string) error {
	info, err := fs.Stat(old, directory)
	if err != nil || !info.IsDir() {
		return nil //nolint:nilerr // it is new, or mustBe has reported it
	}
	entries, err := fs.ReadDir(old, directory)
	if err != nil || change.IsTarget(entries) {
		return err
	}
	for _, entry := range entries {
		switch entry.Name() {
		case render.ReconcilerFile, render.NamespaceFile, render.ConfigFileYAML, render.ConfigFileSh:
		default:
			return fmt.Errorf("the directory %s exists and contains %s, which was not written by kalypso: move it away", directory, entry.Name())
		}
	}
	return nil
}

func mustBe(old fs.FS, name string, want fs.FileMode) error {
	info, err := fs.Stat(old, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Type() == want {
		return nil
	}
	if err != nil {
		return err
	}
	kind := "file"
	if want == fs.ModeDir {
		kind = "directory"
	}
	return fmt.Errorf("%s exists and is not a regular %s; not replaced", name, kind)
}

// checkClusterDirectory returns an error for a directory named like a cluster type that kalypso does not manage.
func checkClusterDirectory(old fs.FS, directory string) error {
	entries, err := fs.ReadDir(old, directory)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if ours, err := (&change.Layout{FS: old}).IsReadme(path.Join(directory, render.ReadmeFile)); ours || err != nil {
		return err
	}
	if readme, err := fs.ReadFile(old, path.Join(directory, render.ReadmeFile)); err == nil && strings.TrimSpace(string(readme)) == render.Readme {
		return nil
	}
	for _, entry := range entries {
		if _, err := fs.Stat(old, path.Join(directory, entry.Name(), render.ReconcilerFile)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the directory %s exists and was not written by kalypso: rename it, or the cluster type", directory)
}

// swap moves the staged files in, and replaced and removed files out; if a step fails, all files are moved back.
func swap(dir, staged string, diff *change.Change) (err error) {
	out, err := os.MkdirTemp(staged, ".replaced-*")
	if err != nil {
		return err
	}
	type move struct{ from, to string }
	var done []move
	defer func() {
		if err != nil {
			for _, m := range slices.Backward(done) {
				err = errors.Join(err, os.Rename(m.to, m.from))
			}
			removeEmptyDirectories(dir, diff, change.Added)
		}
	}()
	do := func(from, to string) error {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
		done = append(done, move{from, to})
		return nil
	}
	for _, file := range diff.Files {
		name := filepath.FromSlash(file.Path)
		if file.Action != change.Added {
			if err := do(filepath.Join(dir, name), filepath.Join(out, name)); err != nil {
				return err
			}
		}
		if file.Action != change.Removed {
			if err := do(filepath.Join(staged, name), filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	removeEmptyDirectories(dir, diff, change.Removed)
	return nil
}

func removeEmptyDirectories(dir string, change *change.Change, action change.Action) {
	for _, file := range slices.Backward(change.Files) {
		if file.Action != action {
			continue
		}
		for directory := path.Dir(file.Path); directory != "."; directory = path.Dir(directory) {
			if os.Remove(filepath.Join(dir, filepath.FromSlash(directory))) != nil {
				break // not empty
			}
		}
	}
}
