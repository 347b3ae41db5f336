package local

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// workTree has the files of a work tree without those that git ignores.
type workTree struct {
	*gitobject.FolderFS
	ignored map[string]bool
}

// ReadDir implements fs.ReadDirFS.
func (w workTree) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := w.FolderFS.ReadDir(name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return w.ignored[path.Join(name, e.Name())] }), err
}

// Uncommitted returns the files of the work tree, which root is, and the names of those below a path that reading would
// need and that differ from the commit, sorted; nil is no commit. New files count unless git ignores them. Only files that would be read
// are looked at, so that a large clone costs nothing.
func (r *Repository) Uncommitted(root *os.Root, commit fs.FS, below string) (fs.FS, []string, error) {
	work := workTree{&gitobject.FolderFS{Root: root}, map[string]bool{}}
	var committed []string
	if commit != nil {
		var err error
		if committed, err = gitobject.NeededFiles(commit, below); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
	}
	present, err := gitobject.NeededFiles(work, below)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	slices.Sort(committed)
	slices.Sort(present)
	var changed []string
	for _, name := range committed {
		if !has(present, name) || !sameText(work, commit, name) {
			changed = append(changed, name)
		}
	}
	for _, name := range present {
		switch {
		case has(committed, name):
		case ignored(work, r.WorkTree, name):
			work.ignored[name] = true
		default:
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return work, changed, nil
}

func has(sorted []string, name string) bool {
	_, found := slices.BinarySearch(sorted, name)
	return found
}

// mostCompared is the size beyond which files are not read to be compared: no such file is read for
// objects either.
const mostCompared = 16 << 20

// sameText compares a file in two trees. Line ends do not count: git converts them on the way.
func sameText(a, b fs.FS, name string) bool {
	if sizeA, sizeB := sizeOf(a, name), sizeOf(b, name); max(sizeA, sizeB) > mostCompared {
		return sizeA == sizeB
	}
	x, errX := fs.ReadFile(a, name)
	y, errY := fs.ReadFile(b, name)
	if errX != nil || errY != nil {
		return false
	}
	return bytes.Equal(x, y) || bytes.Equal(unixLines(x), unixLines(y))
}

func sizeOf(fsys fs.FS, name string) int64 {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return 0
	}
	return info.Size()
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
