package remote

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

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// uncommitted returns the files below a path that reading would need and that differ between the
// work tree and the commit, sorted. New files count unless git ignores them. Only files that would
// be read are looked at, so that a large clone costs nothing.
func uncommitted(workTree string, commit fs.FS, below string) ([]string, error) {
	root, err := os.OpenRoot(workTree)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	work := &gitobject.FolderFS{Root: root}
	committed, err := gitobject.NeededFiles(commit, below)
	if err != nil {
		return nil, err
	}
	present, err := gitobject.NeededFiles(work, below)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	isPresent, isCommitted := setOf(present), setOf(committed)
	var changed []string
	for _, name := range committed {
		if !isPresent[name] || !sameText(work, commit, name) {
			changed = append(changed, name)
		}
	}
	for _, name := range present {
		if !isCommitted[name] && !ignored(work, workTree, name) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
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

// SomeFiles names the first of some files and how many more there are.
func SomeFiles(files []string) string {
	switch len(files) {
	case 1:
		return files[0]
	case 2:
		return files[0] + " and " + files[1]
	default:
		return fmt.Sprintf("%s and %d more", files[0], len(files)-1)
	}
}
