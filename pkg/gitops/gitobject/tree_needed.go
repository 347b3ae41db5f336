package gitobject

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// maxPathBytes is the maximum total length of the needed paths in bytes. 100,000 files need less than 10 MB.
const maxPathBytes = 32 << 20

const ignoreFile = ".sourceignore"

// IsManifest reports whether a file is read for objects.
func IsManifest(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// NeededFiles lists the files that reading root needs: the manifests and the .sourceignore files
// below it, dot-folders other than .environments left out, and the .sourceignore files above it. A
// root that is a file is needed itself, whatever its name.
func NeededFiles(fsys fs.FS, root string) ([]string, error) {
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
	if w.seen += len(list); w.seen > MaxWalk {
		return fmt.Errorf("more than %d files and folders below the path", MaxWalk)
	}
	if depth > MaxDepth {
		return fmt.Errorf("folders nested more than %d deep", MaxDepth)
	}
	for _, entry := range list {
		name := entry.Name()
		switch {
		case entry.IsDir() && (name[0] != '.' || name == model.EnvironmentsFolder):
			below, err := fs.Sub(fsys, name)
			if err == nil {
				err = w.walk(below, path.Join(dir, name), depth+1)
			}
			if err != nil {
				return err
			}
		case entry.Type().IsRegular() && (IsManifest(name) || name == ignoreFile):
			w.files = append(w.files, path.Join(dir, name))
			if w.length += len(dir) + len(name); w.length > maxPathBytes {
				return fmt.Errorf("files whose paths have more than %s in all", ByteSize(maxPathBytes))
			}
		}
	}
	return nil
}

// DescribePath says what is wrong with a path that a Ref names, or nil if it is a folder or a file.
func DescribePath(fsys fs.FS, repo, name string) *giterror.Error {
	if !fs.ValidPath(name) {
		return giterror.New(giterror.RulePathNotFound, "the path %q leads out of %s", name, repo)
	}
	info, err := fs.Stat(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e := giterror.New(giterror.RulePathNotFound, "%s has no path %q", repo, name)
		return e.WithHint(nearestPath(fsys, name))
	case err != nil:
		return giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %s", repo, giterror.OneLine(err.Error()))
	case info.Mode()&fs.ModeSymlink != 0:
		return giterror.New(giterror.RulePathNotFound, "%q in %s is a symbolic link, which is not followed", name, repo)
	case !info.IsDir() && !info.Mode().IsRegular():
		return giterror.New(giterror.RulePathNotFound, "%q in %s is a submodule or no regular file", name, repo)
	}
	return nil
}

// nearestPath suggests a name for the first part of a path that is not there.
func nearestPath(fsys fs.FS, name string) string {
	dir := "."
	for part := range strings.SplitSeq(name, "/") {
		next := path.Join(dir, part)
		if _, err := fs.Stat(fsys, next); err == nil {
			dir = next
			continue
		}
		list, err := fs.ReadDir(fsys, dir)
		if err != nil {
			return ""
		}
		var names []string
		for _, entry := range list {
			if entry.IsDir() || IsManifest(entry.Name()) {
				names = append(names, path.Join(dir, entry.Name()))
			}
		}
		return diag.DidYouMean(next, names)
	}
	return ""
}
