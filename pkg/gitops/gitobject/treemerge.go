package gitobject

import (
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
)

// MergeTrees merges two trees by whole files, as git does without merging contents or renames, and returns the id of the
// result. clean is false, without an id, if git might have to merge those. A zero base is an empty tree.
func MergeTrees(from TreeSource, base, ours, theirs plumbing.Hash) (id plumbing.Hash, clean bool, err error) {
	m := treeMerge{treeWriter: newTreeWriter(from)}
	root := func(id plumbing.Hash) TreeEntry {
		if id == emptyTree {
			id = plumbing.ZeroHash
		}
		return TreeEntry{Mode: treeMode, ID: id}
	}
	merged, err := m.merge(mergeSides{root(base), root(ours), root(theirs)}, 0)
	if err != nil || m.conflict || m.gone && m.oneSided {
		return plumbing.ZeroHash, false, err
	}
	return m.built(merged.ID).ID, true, nil
}

// treeMerge is the state of one merge.
type treeMerge struct {
	*treeWriter
	conflict bool
	// gone is true if both sides removed the same file, or may have in a directory; oneSided if one of them made another
	// change. If that is a new file, git may detect a rename of the removed one: a conflict.
	gone, oneSided bool
	seen           int
}

// mergeSides are an entry in the three trees. The id is zero where it is not present.
type mergeSides [3]TreeEntry

const (
	mergeBase = iota
	// mergeOurs is one side of a merge.
	mergeOurs
	// mergeTheirs is the other side.
	mergeTheirs
)

func (s mergeSides) same(a, b int) bool {
	return s[a].ID == s[b].ID && (s[a].Mode == s[b].Mode || !s[a].present())
}

func (m *treeMerge) merge(s mergeSides, depth int) (TreeEntry, error) {
	switch {
	case s.same(mergeOurs, mergeTheirs):
		if s[mergeBase].present() && !s.same(mergeBase, mergeOurs) {
			m.gone = m.gone || s[mergeOurs].treeOrNothing()
		}
		return s[mergeOurs], nil
	case s.same(mergeBase, mergeOurs):
		m.oneSided = true
		return s[mergeTheirs], nil
	case s.same(mergeBase, mergeTheirs):
		m.oneSided = true
		return s[mergeOurs], nil
	case s[mergeOurs].treeOnly() && s[mergeTheirs].treeOnly() && s[mergeBase].treeOrNothing():
		return m.mergeTree(s, depth)
	default:
		m.conflict = true
		return TreeEntry{}, nil
	}
}

func (e TreeEntry) treeOnly() bool { return e.present() && e.isTree() }

func (e TreeEntry) treeOrNothing() bool { return !e.present() || e.isTree() }

func (m *treeMerge) mergeTree(s mergeSides, depth int) (TreeEntry, error) {
	var lists [3][]TreeEntry
	for side := range lists {
		var err error
		if lists[side], err = m.list(s[side].ID, depth); err != nil {
			return TreeEntry{}, err
		}
	}
	var result []TreeEntry
	for !m.conflict {
		sides, found := nextSides(&lists)
		if !found {
			break
		}
		entry, err := m.merge(sides, depth+1)
		if err != nil {
			return TreeEntry{}, err
		}
		if entry.present() {
			result = append(result, entry)
		}
	}
	if m.conflict {
		return TreeEntry{}, nil
	}
	id, err := m.write(result)
	return TreeEntry{treeMode, s[mergeOurs].Name, id}, err
}

// nextSides removes and returns the entries with the first of all names.
func nextSides(lists *[3][]TreeEntry) (sides mergeSides, found bool) {
	name := ""
	for _, list := range lists {
		if len(list) > 0 && (!found || list[0].Name < name) {
			name, found = list[0].Name, true
		}
	}
	for side, list := range lists {
		if len(list) > 0 && list[0].Name == name {
			sides[side], lists[side] = list[0], list[1:]
		}
	}
	return sides, found
}

// list returns the entries of a tree. It counts them, because a few small trees that contain each other many times can
// have any number of directories.
func (m *treeMerge) list(id plumbing.Hash, depth int) ([]TreeEntry, error) {
	entries, err := entriesOf(m.from, id)
	if err != nil {
		return nil, err
	}
	if m.seen += len(entries); m.seen > 3*MaxWalk {
		return nil, fmt.Errorf("more than %d files and directories to merge", MaxWalk)
	}
	if depth > MaxDepth {
		return nil, fmt.Errorf("directories nested more than %d deep", MaxDepth)
	}
	return entries, nil
}
