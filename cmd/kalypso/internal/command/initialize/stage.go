package initialize

import (
	"errors"
	"os"
	"path/filepath"
)

// inFolder puts what fill writes to a folder of its own into a folder, which is made if it is not there: all of it, or
// nothing if something fails. Nothing that is there is touched.
func inFolder(folder string, fill func(work string) error) (err error) {
	_, before := os.Lstat(folder)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return cannotMake(err)
	}
	work, err := os.MkdirTemp(folder, ".kalypso-init-")
	if err != nil {
		return cannotMake(err)
	}
	defer func() {
		err = errors.Join(err, os.RemoveAll(work))
		if err != nil && errors.Is(before, os.ErrNotExist) {
			_ = os.Remove(folder) // ours, and empty unless somebody else has put something there
		}
	}()
	if err := fill(work); err != nil {
		return cannotMake(err)
	}
	if err := moveUp(work, folder); err != nil {
		return cannotMake(err)
	}
	return nil
}

// moveUp moves all that is in a folder to the one that it is in, or nothing if something is in the way.
func moveUp(work, folder string) error {
	entries, err := os.ReadDir(work)
	if err != nil {
		return err
	}
	for i, entry := range entries {
		if err := moveNew(filepath.Join(work, entry.Name()), filepath.Join(folder, entry.Name())); err != nil {
			for _, moved := range entries[:i] {
				err = errors.Join(err, os.Rename(filepath.Join(folder, moved.Name()), filepath.Join(work, moved.Name())))
			}
			return err
		}
	}
	return nil
}

// moveNew moves a file or folder to where nothing is. Somebody else may put something there at this very moment: a
// folder that is not empty is never replaced, and no file of ours is made where another could matter.
func moveNew(from, to string) error {
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, &os.PathError{Op: "make", Path: to, Err: os.ErrExist})
	}
	return os.Rename(from, to)
}
