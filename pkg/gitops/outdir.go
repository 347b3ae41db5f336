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

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// WriteFolder makes the output folder dir hold the tree. What is not ours in it stays, so a checkout
// of the GitOps repository is a fine place. Either all of the change is made or none: files are
// staged beside dir and moved in when all of them are written.
func WriteFolder(ctx context.Context, dir string, tree *render.Tree) (*Change, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return writeNewFolder(ctx, dir, tree)
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if dir, err = filepath.EvalSymlinks(dir); err == nil {
			info, err = os.Stat(dir)
		}
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("the output folder %s is a file", dir)
	}
	return updateFolder(ctx, dir, tree)
}

// CheckFolder finds out whether WriteFolder may write the tree to dir, as far as that can be known
// before: nothing of somebody else's may stand in its places.
func CheckFolder(dir string, tree *render.Tree) error {
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
	return checkNotForeign(&gitobject.FolderFS{Root: root}, tree)
}

// writeNewFolder stages the whole folder and renames it.
func writeNewFolder(ctx context.Context, dir string, tree *render.Tree) (*Change, error) {
	change, err := Compare(ctx, nil, tree)
	if err != nil {
		return nil, err
	}
	made, err := makeFolders(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	staged, err := stage(ctx, dir, change)
	if err != nil {
		removeMade(made)
		return nil, err
	}
	if err := os.Rename(staged, dir); err != nil {
		err = errors.Join(err, os.RemoveAll(staged))
		removeMade(made)
		return nil, err
	}
	return change, nil
}

// makeFolders makes a folder and those around it, and returns the ones that were not there, the
// innermost first.
func makeFolders(dir string) (made []string, err error) {
	for folder := dir; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, folder)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		removeMade(made)
		return nil, err
	}
	return made, nil
}

// removeMade removes folders that were made for nothing. One that somebody else has come to use, or
// that was never made, is none of our business.
func removeMade(folders []string) {
	for _, folder := range folders {
		_ = os.Remove(folder)
	}
}

// stage writes the files that are new or change into a folder beside dir.
//
// Where nothing can be moved from there, because dir is a mount point or the folder around it is not
// ours, it is a hidden folder in dir.
func stage(ctx context.Context, dir string, change *Change) (string, error) {
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
			err = beside // dir is yet to be made, so that is why it cannot be
		}
	}
	if err != nil {
		return "", err
	}
	if err := writeNew(ctx, staged, change); err != nil {
		return "", errors.Join(err, os.RemoveAll(staged))
	}
	return staged, nil
}

// movable reports whether files can be renamed from one folder into another, which may not exist.
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

// writeNew writes what is new or changes to a folder, on all cores.
func writeNew(ctx context.Context, dir string, change *Change) error {
	if err := os.Chmod(dir, 0o755); err != nil { // MkdirTemp makes it private
		return err
	}
	const batch = 512
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for files := range slices.Chunk(change.Files, batch) {
		work.Go(func() error { return writeBatch(ctx, dir, files) })
	}
	return work.Wait()
}

func writeBatch(ctx context.Context, dir string, files []FileChange) error {
	made := ""
	var content []byte
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if file.Action == Removed {
			continue
		}
		name := filepath.Join(dir, filepath.FromSlash(file.Path))
		if folder := filepath.Dir(name); folder != made {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
			made = folder
		}
		content = file.New.Append(content[:0])
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// updateFolder changes what is ours in a folder that exists.
func updateFolder(ctx context.Context, dir string, tree *render.Tree) (*Change, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	old := &gitobject.FolderFS{Root: root}
	if err := checkNotForeign(old, tree); err != nil {
		return nil, err
	}
	change, err := Compare(ctx, old, tree)
	if err != nil || change.Empty() {
		return change, err
	}
	staged, err := stage(ctx, dir, change)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // the last moment to turn back
		return nil, errors.Join(err, os.RemoveAll(staged))
	}
	err = swap(dir, staged, change)
	return change, errors.Join(err, os.RemoveAll(staged))
}

// checkNotForeign refuses to write where something stands that is not ours: a file or link in the
// place of a folder, or a folder that people made for something else.
func checkNotForeign(old fs.FS, tree *render.Tree) error {
	var errs []error
	checked := map[string]bool{}
	for _, file := range tree.Files {
		for folder := path.Dir(file.Path); folder != "."; folder = path.Dir(folder) {
			if !checked[folder] {
				checked[folder] = true
				errs = append(errs, mustBe(old, folder, fs.ModeDir))
			}
		}
		errs = append(errs, mustBe(old, file.Path, 0))
		switch folder, name := path.Split(file.Path); name {
		case render.ReadmeFile:
			errs = append(errs, checkClusterFolder(old, path.Clean(folder)))
		case render.ReconcilerFile:
			errs = append(errs, checkTargetFolder(old, path.Clean(folder)))
		}
	}
	return errors.Join(errs...)
}

// checkTargetFolder refuses a folder named like a deployment target that holds something else: what
// is ours later may go as a leftover.
func checkTargetFolder(old fs.FS, folder string) error {
	info, err := fs.Stat(old, folder)
	if err != nil || !info.IsDir() {
		return nil //nolint:nilerr // it is new, or mustBe has reported what it is
	}
	entries, err := fs.ReadDir(old, folder)
	if err != nil || isTarget(entries) {
		return err
	}
	for _, entry := range entries {
		switch entry.Name() {
		case render.ReconcilerFile, render.NamespaceFile, render.ConfigFileYAML, render.ConfigFileSh:
		default:
			return fmt.Errorf("the folder %s is there already and holds %s, which was not written by kalypso: move it away", folder, entry.Name())
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
		kind = "folder"
	}
	return fmt.Errorf("%s is there already and is no plain %s, so it is not kalypso's to replace", name, kind)
}

// checkClusterFolder refuses a folder named like a cluster type that has nothing of ours in it.
func checkClusterFolder(old fs.FS, folder string) error {
	entries, err := fs.ReadDir(old, folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if ours, err := (&published{FS: old}).isReadme(path.Join(folder, render.ReadmeFile)); ours || err != nil {
		return err
	}
	if readme, err := fs.ReadFile(old, path.Join(folder, render.ReadmeFile)); err == nil && strings.TrimSpace(string(readme)) == render.Readme {
		return nil
	}
	for _, entry := range entries {
		if _, err := fs.Stat(old, path.Join(folder, entry.Name(), render.ReconcilerFile)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the folder %s is there already and was not written by kalypso: rename it, or the cluster type", folder)
}

// swap moves the staged files in and the files that they replace, or that go, out; if anything
// fails, everything is moved back.
func swap(dir, staged string, change *Change) (err error) {
	out, err := os.MkdirTemp(staged, ".replaced-*")
	if err != nil {
		return err
	}
	var done []move
	defer func() {
		if err != nil {
			err = errors.Join(err, moveBack(done))
			removeEmptyFolders(dir, change, Added)
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
	for _, file := range change.Files {
		name := filepath.FromSlash(file.Path)
		if file.Action != Added {
			if err := do(filepath.Join(dir, name), filepath.Join(out, name)); err != nil {
				return err
			}
		}
		if file.Action != Removed {
			if err := do(filepath.Join(staged, name), filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	removeEmptyFolders(dir, change, Removed)
	return nil
}

type move struct{ from, to string }

func moveBack(done []move) error {
	var errs []error
	for _, m := range slices.Backward(done) {
		errs = append(errs, os.Rename(m.to, m.from))
	}
	return errors.Join(errs...)
}

// removeEmptyFolders removes the folders of files with an action that have nothing in them.
func removeEmptyFolders(dir string, change *Change, action Action) {
	for _, file := range slices.Backward(change.Files) {
		if file.Action != action {
			continue
		}
		for folder := path.Dir(file.Path); folder != "."; folder = path.Dir(folder) {
			if os.Remove(filepath.Join(dir, filepath.FromSlash(folder))) != nil {
				break // not empty
			}
		}
	}
}
