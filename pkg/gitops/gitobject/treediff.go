package gitobject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

const (
	// MaxCommitFiles is the maximum number of files of a commit that are read.
	MaxCommitFiles = 100
	// MaxCommitFile is the size in bytes of the largest file whose content is read.
	MaxCommitFile = 1 << 20
)

// CommitFile is one path that a commit changed.
type CommitFile struct {
	Path string
	// Old and New are the contents before and after; nil if there was, or is, no such file. They are equal if just the
	// mode has changed.
	Old, New []byte
	// Opaque is true if Old and New are left out because one of them is larger than MaxCommitFile or not a regular file.
	Opaque bool
}

// changedEntry is a path that differs between two trees. The id is zero where it does not exist.
type changedEntry struct {
	path     string
	old, new TreeEntry
}

// TreeDiff compares two trees. It reads only directories that differ.
type TreeDiff struct {
	trees      TreeSource
	files      []changedEntry
	most, seen int
	// More is true if there are more than most.
	More bool
}

// DiffTrees returns the files that differ between two trees, at most that many.
func DiffTrees(of Store, before, after plumbing.Hash, most int) (*TreeDiff, error) {
	d := &TreeDiff{trees: of, most: most}
	return d, d.compare(before, after, ".", 0)
}

// Paths returns the files that differ.
func (d *TreeDiff) Paths() map[string]bool {
	paths := map[string]bool{}
	for _, f := range d.files {
		paths[f.path] = true
	}
	return paths
}

func (d *TreeDiff) compare(before, after plumbing.Hash, directory string, depth int) error {
	if before == after {
		return nil
	}
	var lists [3][]TreeEntry // only two of the three sides are used
	for side, id := range [...]plumbing.Hash{mergeOurs: before, mergeTheirs: after} {
		entries, err := entriesOf(d.trees, id)
		if err != nil {
			return fmt.Errorf("read the tree of %q: %w", directory, err)
		}
		lists[side], d.seen = entries, d.seen+len(entries)
	}
	if d.seen > MaxWalk {
		return fmt.Errorf("more than %d files and directories to compare", MaxWalk)
	}
	if depth > MaxDepth {
		return fmt.Errorf("directories nested more than %d deep", MaxDepth)
	}
	for !d.More {
		sides, found := nextSides(&lists)
		if !found {
			break
		}
		if err := d.entry(sides[mergeOurs], sides[mergeTheirs], directory, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry compares the entries of one name in two directories, even if only one of them is a directory.
func (d *TreeDiff) entry(before, after TreeEntry, directory string, depth int) error {
	if before.ID == after.ID && before.Mode == after.Mode {
		return nil
	}
	name := path.Join(directory, cmp.Or(before.Name, after.Name))
	changed := changedEntry{path: name}
	var trees [2]plumbing.Hash
	for i, side := range []struct{ from, to *TreeEntry }{{&before, &changed.old}, {&after, &changed.new}} {
		if side.from.isTree() {
			trees[i] = side.from.ID
		} else {
			*side.to = *side.from
		}
	}
	if changed.old.present() || changed.new.present() {
		if d.More = len(d.files) == d.most; d.More {
			return nil
		}
		d.files = append(d.files, changed)
	}
	return d.compare(trees[0], trees[1], name, depth+1)
}

// Read reads the contents of the differing files, with one request for the old and one for the new contents.
func (d *TreeDiff) Read(ctx context.Context, was, is Store) ([]CommitFile, error) {
	slices.SortFunc(d.files, func(a, b changedEntry) int { return comparePaths(a.path, b.path) })
	var old, now []plumbing.Hash
	for _, c := range d.files {
		if c.old.regular() {
			old = append(old, c.old.ID)
		}
		if c.new.regular() {
			now = append(now, c.new.ID)
		}
	}
	if err := errors.Join(was.Load(ctx, old), is.Load(ctx, now)); err != nil {
		return nil, err
	}
	files := make([]CommitFile, len(d.files))
	for i, c := range d.files {
		f := CommitFile{Path: c.path}
		var hasOld, hasNew bool
		var err error
		if f.Old, hasOld, err = contentOf(ctx, was, c.old); err != nil {
			return nil, err
		}
		if f.New, hasNew, err = contentOf(ctx, is, c.new); err != nil {
			return nil, err
		}
		if !hasOld || !hasNew {
			f = CommitFile{Path: c.path, Opaque: true}
		}
		files[i] = f
	}
	return files, nil
}

// contentOf returns the content of a file, nil if there is no such file. ok is false if it is too large or not a regular
// file.
func contentOf(ctx context.Context, from Store, e TreeEntry) (content []byte, ok bool, err error) {
	if !e.present() {
		return nil, true, nil
	}
	if !e.regular() || from.Size(e.ID) > MaxCommitFile {
		return nil, false, nil
	}
	data, err := from.Blob(ctx, e.ID)
	var tooLarge *TooLargeError
	var known *giterror.Error
	switch {
	case errors.As(err, &tooLarge):
		return nil, false, nil
	case err == nil:
		return append([]byte{}, data...), true, nil
	case errors.As(err, &known):
		return nil, false, err
	default:
		return nil, false, giterror.New(giterror.RuleInvalidRepository, "the file %q cannot be read: %s", giterror.OneLine(e.Name), giterror.OneLine(err.Error()))
	}
}
