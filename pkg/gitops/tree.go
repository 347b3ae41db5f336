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
	name string
	// mode is fs.ModeDir, 0 for a regular file, fs.ModeSymlink, or fs.ModeIrregular for a submodule
	// and for a name that is not UTF-8, which no path can name.
	mode fs.FileMode
	id   plumbing.Hash
}

const idSize = len(plumbing.Hash{})

// parseTree reads a tree object and returns its entries sorted by name. It refuses what git would
// not have written: such names are made to leave the folder that they are written to.
func parseTree(data []byte) ([]treeEntry, error) {
	entries := make([]treeEntry, 0, len(data)/40)
	text := string(data)
	for len(text) > 0 {
		raw, rest, err := cutEntry(text)
		if err != nil {
			return nil, err
		}
		entry := treeEntry{name: raw.name, id: raw.id}
		if entry.mode, err = parseMode(raw.mode); err != nil {
			return nil, err
		}
		if !utf8.ValidString(entry.name) {
			entry.mode = fs.ModeIrregular
		}
		entries = append(entries, entry)
		text = rest
	}
	return sortEntries(entries, func(e treeEntry) string { return e.name })
}

// rawEntry is one name in a tree with its mode as it is written there.
type rawEntry struct {
	mode, name string
	id         plumbing.Hash
}

// cutEntry reads the first entry of a tree that is not empty, and returns what follows it.
func cutEntry(text string) (entry rawEntry, rest string, err error) {
	mode, rest, foundMode := strings.Cut(text, " ")
	name, rest, foundName := strings.Cut(rest, "\x00")
	if !foundMode || !foundName || len(rest) < idSize {
		return rawEntry{}, "", errors.New("a tree that is cut off")
	}
	entry = rawEntry{mode: mode, name: name}
	copy(entry.id[:], rest)
	return entry, rest[idSize:], checkTreeName(name)
}

// sortEntries orders by name. Git's own order takes folders as if their names ended in a slash.
func sortEntries[E any](entries []E, name func(E) string) ([]E, error) {
	byName := func(a, b E) int { return cmp.Compare(name(a), name(b)) }
	if !slices.IsSortedFunc(entries, byName) {
		slices.SortFunc(entries, byName)
	}
	for i := 1; i < len(entries); i++ {
		if name(entries[i]) == name(entries[i-1]) {
			return nil, fmt.Errorf("a tree with two entries %q", name(entries[i]))
		}
	}
	return entries, nil
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
