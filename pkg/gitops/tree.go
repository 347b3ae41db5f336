package gitops

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
)

// treeEntry is one name in a tree.
type treeEntry struct {
	// mode is as it is written there: one of those that parseMode knows.
	mode, name string
	id         plumbing.Hash
}

const idSize = len(plumbing.Hash{})

const (
	// maxTreeBytes bounds the list of one folder. That of half a million files is as large.
	maxTreeBytes = 16 << 20
	// maxWalk bounds how many entries are looked at below one path: a few small trees that hold each
	// other many times over can stand for more files than there are atoms.
	maxWalk = 1_000_000
	// maxDepth bounds how deep folders are nested.
	maxDepth = 64
)

func tooManyInFolder(size int64) error {
	return fmt.Errorf("a folder whose list has %s, more than %s", byteSize(size), byteSize(maxTreeBytes))
}

// parseTree reads a tree object and returns its entries sorted by name. Git's own order takes folders as if their names
// ended in a slash. It refuses what git would not have written: such names are made to leave the folder that they are
// written to.
func parseTree(data []byte) ([]treeEntry, error) {
	if len(data) > maxTreeBytes {
		return nil, tooManyInFolder(int64(len(data)))
	}
	entries := make([]treeEntry, 0, len(data)/40+1)
	for text := string(data); text != ""; {
		mode, rest, foundMode := strings.Cut(text, " ")
		name, rest, foundName := strings.Cut(rest, "\x00")
		if !foundMode || !foundName || len(rest) < idSize {
			return nil, errors.New("a tree that is cut off")
		}
		entry := treeEntry{mode: mode, name: name}
		copy(entry.id[:], rest)
		if err := entry.check(); err != nil {
			return nil, err
		}
		entries, text = append(entries, entry), rest[idSize:]
	}
	byName := func(a, b treeEntry) int { return cmp.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(entries, byName) {
		slices.SortFunc(entries, byName)
	}
	for i := 1; i < len(entries); i++ {
		if entries[i].name == entries[i-1].name {
			return nil, fmt.Errorf("a tree with two entries %q", entries[i].name)
		}
	}
	return entries, nil
}

func (e treeEntry) check() error {
	if err := checkTreeName(e.name); err != nil {
		return err
	}
	if e.id.IsZero() {
		return fmt.Errorf("a tree entry %q without an object", oneLine(e.name))
	}
	_, err := parseMode(e.mode)
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
		return 0, fmt.Errorf("a tree entry with the mode %q", oneLine(mode))
	}
}

// fileMode is fs.ModeDir, 0 for a regular file, fs.ModeSymlink, or fs.ModeIrregular for a submodule and for a name that is
// not UTF-8, which no path can name.
func (e treeEntry) fileMode() fs.FileMode {
	mode, err := parseMode(e.mode)
	if err != nil || !utf8.ValidString(e.name) {
		return fs.ModeIrregular
	}
	return mode
}

func checkTreeName(name string) error {
	if name == "" || name == "." || name == ".." || strings.EqualFold(name, ".git") || strings.Contains(name, "/") {
		return fmt.Errorf("a tree entry with the name %q", oneLine(name))
	}
	return nil
}

// commitObject is what is read of a commit.
type commitObject struct {
	tree    plumbing.Hash
	parents []plumbing.Hash
	// when is the committer's date.
	when time.Time
	// author is the name of the author; message is as it was written.
	author, message string
}

func parseCommit(data []byte) (commitObject, error) {
	var c commitObject
	header, message, _ := bytes.Cut(data, []byte("\n\n"))
	c.message = string(message)
	for line := range bytes.Lines(header) {
		key, value, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		switch key {
		case "tree":
			c.tree = plumbing.NewHash(value)
		case "parent":
			if !plumbing.IsHash(value) {
				return c, fmt.Errorf("a commit with the parent %q", oneLine(value))
			}
			c.parents = append(c.parents, plumbing.NewHash(value))
		case "author":
			c.author, _, _ = strings.Cut(value, " <")
		case "committer":
			c.when = parseDate(value)
		}
	}
	if c.tree.IsZero() {
		return c, errors.New("a commit without a tree")
	}
	return c, nil
}

// parseDate reads the end of "Name <address> 1700000000 +0100".
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
