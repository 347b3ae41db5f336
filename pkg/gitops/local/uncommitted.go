package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	gitindex "github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// workTree has the files of a work tree without those that git ignores.
type workTree struct {
	*gitobject.DirectoryFS
	ignored map[string]bool
}

// ReadDir implements fs.ReadDirFS.
func (w workTree) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := w.DirectoryFS.ReadDir(name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return w.ignored[path.Join(name, e.Name())] }), err
}

// ErrSparse is a sparse checkout without files that are needed.
var ErrSparse = errors.New("it is a sparse checkout; get all files with `git sparse-checkout disable`")

// Uncommitted returns the files of the work tree, which root is, and the names of those below a path that reading would
// need and that differ from the commit, sorted; nil is no commit. New files count unless git ignores them. Only files
// that would be read are looked at, so that a large clone costs nothing.
func (r *Repository) Uncommitted(root *os.Root, commit fs.FS, below string) (fs.FS, []string, error) {
	work := workTree{&gitobject.DirectoryFS{Root: root}, map[string]bool{}}
	var committed []string
	if commit != nil {
		var err error
		if committed, err = gitobject.NeededNames(commit, below); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
	}
	present, err := gitobject.NeededNames(work, below)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	slices.Sort(committed)
	slices.Sort(present)
	var changed []string
	tracked := sync.OnceValues(r.tracked) // most working trees differ in no name
	for _, name := range committed {
		if !has(present, name) {
			if _, err := tracked(); err != nil { // it may not be deleted
				return nil, nil, err
			}
		}
		if !has(present, name) || !sameText(work, commit, name) {
			changed = append(changed, name)
		}
	}
	for _, name := range present {
		switch {
		case has(committed, name):
		case ignored(work, r.WorkTree, name):
			names, err := tracked()
			if err != nil {
				return nil, nil, err
			}
			if work.ignored[name] = !names[name]; names[name] {
				changed = append(changed, name)
			}
		default:
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return work, changed, nil
}

// tracked returns the names of the files in the index. The error is ErrSparse if files are left out of the work tree.
func (r *Repository) tracked() (map[string]bool, error) {
	index, err := r.storage.Index()
	if err != nil && !errors.Is(err, gitindex.ErrUnknownExtension) { // a sparse index has one, after all entries
		return nil, fmt.Errorf("the index: %w", err)
	}
	names := map[string]bool{}
	for _, entry := range index.Entries {
		if entry.SkipWorktree {
			return nil, ErrSparse
		}
		names[entry.Name] = true
	}
	return names, nil
}

func has(sorted []string, name string) bool {
	_, found := slices.BinarySearch(sorted, name)
	return found
}

// sameText compares a file in two trees. Line ends do not count: git converts them on the way.
func sameText(a, b fs.FS, name string) bool {
	x, errX := fs.ReadFile(a, name)
	y, errY := fs.ReadFile(b, name)
	if errX != nil || errY != nil { // symbolic links are not followed, so their targets do not count
		return errors.Is(errX, gitobject.ErrSymlink) && errors.Is(errY, gitobject.ErrSymlink)
	}
	return bytes.Equal(unixLines(x), unixLines(y))
}

func unixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// ignored reports whether the .gitignore files above a file, or .git/info/exclude, match it.
func ignored(work fs.FS, workTree, name string) bool {
	var patterns []gitignore.Pattern
	if data, err := os.ReadFile(filepath.Join(workTree, gitobject.GitDir, "info", "exclude")); err == nil {
		patterns = appendPatterns(patterns, data, nil)
	}
	parts := strings.Split(name, "/")
	for i := range parts {
		file := path.Join(path.Join(parts[:i]...), ".gitignore")
		if data, err := fs.ReadFile(work, file); err == nil {
			patterns = appendPatterns(patterns, data, parts[:i:i])
		}
	}
	return gitignore.NewMatcher(patterns).Match(parts, false)
}

func appendPatterns(patterns []gitignore.Pattern, data []byte, domain []string) []gitignore.Pattern {
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) != "" && line[0] != '#' {
			patterns = append(patterns, gitignore.ParsePattern(line, domain))
		}
	}
	return patterns
}
