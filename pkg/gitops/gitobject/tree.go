// Package gitobject reads and creates Git objects in memory: commits, trees, packs and signatures.
package gitobject

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// TreeEntry is one name in a tree.
type TreeEntry struct {
	// Mode is the mode as written in the tree: one that parseMode accepts.
	Mode, Name string
	ID         plumbing.Hash
}

const idSize = len(plumbing.Hash{})

const (
	// MaxTreeBytes is the maximum size of the list of one directory, which is sufficient for half a million files.
	MaxTreeBytes = 16 << 20
	// MaxWalk is the maximum number of entries that are read below one path: a few small trees that contain each other
	// many times can have an astronomical number of files.
	MaxWalk = 1_000_000
	// MaxDepth is the maximum nesting depth of directories.
	MaxDepth = 64
)

// TooManyInDirectory returns the error of a tree object of that many bytes.
func TooManyInDirectory(size int64) error {
	return fmt.Errorf("a directory whose list has %s, more than %s", ByteSize(size), ByteSize(MaxTreeBytes))
}

// parseTree parses a tree object and returns its entries sorted by name; in Git's order the names of directories end in a
// slash. It rejects names that git never writes, which could lead out of the directory.
func parseTree(data []byte) ([]TreeEntry, error) {
	if len(data) > MaxTreeBytes {
		return nil, TooManyInDirectory(int64(len(data)))
	}
	entries := make([]TreeEntry, 0, len(data)/40+1)
	for text := string(data); text != ""; {
		mode, rest, foundMode := strings.Cut(text, " ")
		name, rest, foundName := strings.Cut(rest, "\x00")
		if !foundMode || !foundName || len(rest) < idSize {
			return nil, errors.New("a tree that is cut off")
		}
		entry := TreeEntry{Mode: mode, Name: name}
		copy(entry.ID[:], rest)
		if err := entry.check(); err != nil {
			return nil, err
		}
		entries, text = append(entries, entry), rest[idSize:]
	}
	byName := func(a, b TreeEntry) int { return cmp.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(entries, byName) {
		slices.SortFunc(entries, byName)
	}
	for i := 1; i < len(entries); i++ {
		if entries[i].Name == entries[i-1].Name {
			return nil, fmt.Errorf("a tree with two entries %q", entries[i].Name)
		}
	}
	return entries, nil
}

func (e TreeEntry) check() error {
	if err := checkTreeName(e.Name); err != nil {
		return err
	}
	if e.ID.IsZero() {
		return fmt.Errorf("a tree entry %q without an object", giterror.OneLine(e.Name))
	}
	_, err := parseMode(e.Mode)
	return err
}

func parseMode(mode string) (fs.FileMode, error) {
	switch strings.TrimPrefix(mode, "0") {
	case "40000":
		return fs.ModeDir, nil
	case "100644", "100755", "100664":
		return 0, nil
	case "120000":
		return fs.ModeSymlink, nil
	case "160000":
		return fs.ModeIrregular, nil
	default:
		return 0, fmt.Errorf("a tree entry with the mode %q", giterror.OneLine(mode))
	}
}

// fileMode is fs.ModeDir, 0 for a regular file, fs.ModeSymlink, or fs.ModeIrregular for a submodule and for a name that
// is not UTF-8, which no path can name.
func (e TreeEntry) fileMode() fs.FileMode {
	mode, err := parseMode(e.Mode)
	if err != nil || !utf8.ValidString(e.Name) {
		return fs.ModeIrregular
	}
	return mode
}

func checkTreeName(name string) error {
	if name == "" || name == "." || name == ".." || strings.EqualFold(name, ".git") || strings.Contains(name, "/") {
		return fmt.Errorf("a tree entry with the name %q", giterror.OneLine(name))
	}
	return nil
}

// CommitObject is the parsed part of a commit.
type CommitObject struct {
	Tree    plumbing.Hash
	Parents []plumbing.Hash
	// When is the committer's date.
	When time.Time
	// Author is the name of the author; Message is unchanged.
	Author, Message string
	// Signed is true if it has a signature, which is not verified.
	Signed bool
}

// ParseCommit parses a commit object.
func ParseCommit(data []byte) (CommitObject, error) {
	var c CommitObject
	header, message, _ := bytes.Cut(data, []byte("\n\n"))
	c.Message = string(message)
	for line := range bytes.Lines(header) {
		key, value, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		switch key {
		case "tree":
			c.Tree = plumbing.NewHash(value)
		case "parent":
			if !plumbing.IsHash(value) {
				return c, fmt.Errorf("a commit with the parent %q", giterror.OneLine(value))
			}
			c.Parents = append(c.Parents, plumbing.NewHash(value))
		case "gpgsig", "gpgsig-sha256":
			c.Signed = true
		case "author":
			c.Author, _, _ = strings.Cut(value, " <")
		case "committer":
			c.When = parseDate(value)
		}
	}
	if c.Tree.IsZero() {
		return c, errors.New("a commit without a tree")
	}
	return c, nil
}

// parseDate parses the end of "Name <address> 1700000000 +0100".
func parseDate(signature string) time.Time {
	fields := strings.Fields(signature[strings.LastIndexByte(signature, '>')+1:])
	if len(fields) == 0 {
		return time.Time{}
	}
	seconds, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// maxPathBytes is the maximum total length of the needed paths in bytes. 100,000 files need less than 10 MB.
const maxPathBytes = 32 << 20

const ignoreFile = ".sourceignore"

// IsManifest reports whether a file is read as a manifest.
func IsManifest(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// NeededFiles lists the files that are needed to read root: the manifests and the .sourceignore files below it, except
// in hidden directories other than .environments, and the .sourceignore files above it. If root is a file, it is
// needed, too.
func NeededFiles(fsys fs.FS, root string) ([]string, error) {
	return needed{fsys: fsys}.list(root)
}

// NeededNames is NeededFiles with the symbolic links between the files. They are not followed, but reported.
func NeededNames(fsys fs.FS, root string) ([]string, error) {
	return needed{fsys: fsys, links: true}.list(root)
}

func (w needed) list(root string) ([]string, error) {
	fsys := w.fsys
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
	links bool
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

// walk adds the files of dir, whose content is fsys: descending step by step in a git tree is much faster than finding
// each directory from the root.
func (w *needed) walk(fsys fs.FS, dir string, depth int) error {
	list, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return err
	}
	if w.seen += len(list); w.seen > MaxWalk {
		return fmt.Errorf("more than %d files and directories below the path", MaxWalk)
	}
	if depth > MaxDepth {
		return fmt.Errorf("directories nested more than %d deep", MaxDepth)
	}
	for _, entry := range list {
		name := entry.Name()
		switch {
		case entry.IsDir() && (name[0] != '.' || name == model.EnvironmentsDirectory):
			below, err := fs.Sub(fsys, name)
			if err == nil {
				err = w.walk(below, path.Join(dir, name), depth+1)
			}
			if err != nil {
				return err
			}
		case entry.Type().IsRegular() && (IsManifest(name) || name == ignoreFile), w.links && isNeededLink(entry):
			w.files = append(w.files, path.Join(dir, name))
			if w.length += len(dir) + len(name); w.length > maxPathBytes {
				return fmt.Errorf("files whose paths have more than %s in all", ByteSize(maxPathBytes))
			}
		}
	}
	return nil
}

// isNeededLink reports whether an entry is a symbolic link that could lead to manifests.
func isNeededLink(entry fs.DirEntry) bool {
	return entry.Type()&fs.ModeSymlink != 0 && (IsManifest(entry.Name()) || path.Ext(entry.Name()) == "")
}

// DescribePath returns the problem of the path of a Ref, nil if it is a directory or a file.
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

// nearestPath suggests a name for the first part of a path that does not exist.
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
