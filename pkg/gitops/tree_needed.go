package gitops

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

const (
	// maxWalk bounds how many entries are looked at below one path: a few small trees that hold each
	// other many times over can stand for more files than there are atoms.
	maxWalk = 1_000_000
	// maxDepth bounds how deep folders are nested.
	maxDepth = 64
	// maxPathBytes is the maximum total length of the needed paths in bytes. 100,000 files need less than 10 MB.
	maxPathBytes = 32 << 20
)

const (
	ignoreFile      = ".sourceignore"
	environmentsDir = ".environments"
)

// isManifest reports whether a file is read for objects.
func isManifest(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// neededFiles lists the files that reading root needs: the manifests and the .sourceignore files
// below it, dot-folders other than .environments left out, and the .sourceignore files above it. A
// root that is a file is needed itself, whatever its name.
func neededFiles(fsys fs.FS, root string) ([]string, error) {
	w := needed{fsys: fsys}
	for dir := path.Dir(root); root != "."; dir = path.Dir(dir) {
		if err := w.ignoreFileIn(dir); err != nil {
			return nil, err
		}
		if dir == "." {
			break
		}
	}
	info, err := fs.Stat(fsys, root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return append(w.files, root), nil
	}
	below, err := fs.Sub(fsys, root)
	if err == nil {
		err = w.walk(below, root, 0)
	}
	return w.files, err
}

type needed struct {
	fsys  fs.FS
	files []string
	seen  int
	// length is the total length of the files' paths in bytes.
	length int
}

func (w *needed) ignoreFileIn(dir string) error {
	name := path.Join(dir, ignoreFile)
	info, err := fs.Stat(w.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode().IsRegular() {
		w.files = append(w.files, name)
	}
	return err
}

// walk adds the files of dir, which fsys is the content of: in a git tree going down a step at a
// time is much cheaper than finding each folder from the root.
func (w *needed) walk(fsys fs.FS, dir string, depth int) error {
	list, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return err
	}
	if w.seen += len(list); w.seen > maxWalk {
		return fmt.Errorf("more than %d files and folders below the path", maxWalk)
	}
	if depth > maxDepth {
		return fmt.Errorf("folders nested more than %d deep", maxDepth)
	}
	for _, entry := range list {
		name := entry.Name()
		switch {
		case entry.IsDir() && (name[0] != '.' || name == environmentsDir):
			below, err := fs.Sub(fsys, name)
			if err == nil {
				err = w.walk(below, path.Join(dir, name), depth+1)
			}
			if err != nil {
				return err
			}
		case entry.Type().IsRegular() && (isManifest(name) || name == ignoreFile):
			w.files = append(w.files, path.Join(dir, name))
			if w.length += len(dir) + len(name); w.length > maxPathBytes {
				return fmt.Errorf("files whose paths have more than %s in all", byteSize(maxPathBytes))
			}
		}
	}
	return nil
}
