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

// workTree has the files of a work tree without those that git ignores, and with those that a sparse checkout leaves out.
type workTree struct {
	*gitobject.FolderFS
	ignored map[string]bool
	// sparse are files that are not in the work tree and not deleted, and their folders: they are read from commit.
	sparse map[string]bool
	commit fs.FS
}

// holder returns the file system that has a path.
func (w workTree) holder(name string) fs.FS {
	if _, err := w.FolderFS.Stat(name); w.sparse[name] && errors.Is(err, fs.ErrNotExist) {
		return w.commit
	}
	return w.FolderFS
}

// Open implements fs.FS.
func (w workTree) Open(name string) (fs.File, error) { return w.holder(name).Open(name) }

// Stat implements fs.StatFS.
func (w workTree) Stat(name string) (fs.FileInfo, error) { return fs.Stat(w.holder(name), name) }

// ReadDir implements fs.ReadDirFS.
func (w workTree) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := w.FolderFS.ReadDir(name)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return w.ignored[path.Join(name, e.Name())] })
	if !w.sparse[name] || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return entries, err
	}
	committed, err := fs.ReadDir(w.commit, name)
	for _, e := range committed {
		same := func(o fs.DirEntry) bool { return o.Name() == e.Name() }
		if w.sparse[path.Join(name, e.Name())] && !slices.ContainsFunc(entries, same) {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// leaveOut notes that a sparse checkout leaves a file out.
func (w workTree) leaveOut(name string) {
	for w.sparse[name] = true; name != "."; w.sparse[name] = true {
		name = path.Dir(name)
	}
}

// Uncommitted returns the files of the work tree, which root is, and the names of those below a path that reading would
// need and that differ from the commit, sorted; nil is no commit. New files count unless git ignores them. Only files that would be read
// are looked at, so that a large clone costs nothing.
func (r *Repository) Uncommitted(root *os.Root, commit fs.FS, below string) (fs.FS, []string, error) {
	work := workTree{&gitobject.FolderFS{Root: root}, map[string]bool{}, map[string]bool{}, commit}
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
	var unreadable error
	stateOf := func(name string) int {
		states, err := tracked()
		if err != nil {
			unreadable = err
			return untracked
		}
		return states(name)
	}
	for _, name := range committed {
		switch {
		case !has(present, name) && stateOf(name) == leftOut:
			work.leaveOut(name)
		case !has(present, name) || !sameText(work, commit, name):
			changed = append(changed, name)
		}
	}
	for _, name := range present {
		switch {
		case has(committed, name):
		case ignored(work, r.WorkTree, name) && stateOf(name) == untracked:
			work.ignored[name] = true
		default:
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return work, changed, unreadable
}

// The states of a file in the index.
const (
	untracked = iota
	inWorkTree
	leftOut
)

// tracked reads the index and returns the state in it of a file. Without the index, files that a sparse checkout leaves out
// would look deleted.
func (r *Repository) tracked() (func(name string) int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	states := map[string]int{}
	index, err := r.storage.Index()
	if err != nil && !errors.Is(err, gitindex.ErrUnknownExtension) { // a sparse index has one, after all entries
		return nil, fmt.Errorf("the index: %w", err)
	}
	for _, entry := range index.Entries {
		states[entry.Name] = inWorkTree
		if entry.SkipWorktree {
			states[entry.Name] = leftOut
		}
	}
	return func(name string) int {
		state, found := states[name]
		for dir := name; !found && dir != "."; { // a sparse index has folders that are left out
			dir = path.Dir(dir)
			state, found = states[dir+"/"]
		}
		return state
	}, nil
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
	if errX != nil || errY != nil { // symbolic links are not followed, so their targets do not count
		return errors.Is(errX, gitobject.ErrSymlink) && errors.Is(errY, gitobject.ErrSymlink)
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
