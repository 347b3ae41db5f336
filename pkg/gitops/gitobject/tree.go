// Package gitobject has the objects of Git in memory: commits, trees, packs and signatures.
package gitobject

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
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

// TreeEntry is one name in a tree.
type TreeEntry struct {
	// mode is as it is written there: one of those that parseMode knows.
	Mode, Name string
	ID         plumbing.Hash
}

const idSize = len(plumbing.Hash{})

const (
	// MaxTreeBytes bounds the list of one folder. That of half a million files is as large.
	MaxTreeBytes = 16 << 20
	// MaxWalk bounds how many entries are looked at below one path: a few small trees that hold each
	// other many times over can stand for more files than there are atoms.
	MaxWalk = 1_000_000
	// MaxDepth bounds how deep folders are nested.
	MaxDepth = 64
)

// TooManyInFolder returns the error of a tree object of that many bytes.
func TooManyInFolder(size int64) error {
	return fmt.Errorf("a folder whose list has %s, more than %s", ByteSize(size), ByteSize(MaxTreeBytes))
}

// parseTree reads a tree object and returns its entries sorted by name. Git's own order takes folders as if their names
// ended in a slash. It refuses what git would not have written: such names are made to leave the folder that they are
// written to.
func parseTree(data []byte) ([]TreeEntry, error) {
	if len(data) > MaxTreeBytes {
		return nil, TooManyInFolder(int64(len(data)))
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

// fileMode is fs.ModeDir, 0 for a regular file, fs.ModeSymlink, or fs.ModeIrregular for a submodule and for a name that is
// not UTF-8, which no path can name.
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

// CommitObject is what is read of a commit.
type CommitObject struct {
	Tree    plumbing.Hash
	Parents []plumbing.Hash
	// When is the committer's date.
	When time.Time
	// author is the name of the author; message is as it was written.
	Author, Message string
}

// ParseCommit reads a commit object.
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
