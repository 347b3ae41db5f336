package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

const (
	// MaxCommitFiles is how many files of a commit are looked at.
	MaxCommitFiles = 100
	// MaxCommitFile is the size in bytes of the largest file whose content is read.
	MaxCommitFile = 1 << 20
)

// CommitChanges are what a commit changed against its first parent.
type CommitChanges struct {
	// Commit is the commit, Parent the first parent, which is empty if there is none: then everything was added.
	Commit, Parent string
	// Files are what differs, in order of path.
	Files []CommitFile
	// More says that there are more than MaxCommitFiles, which are left out.
	More bool
}

// CommitFile is one path that a commit changed.
type CommitFile struct {
	Path string
	// Old and New are the contents before and after; nil if there was, or is, no such file. They are equal if just the
	// mode has changed.
	Old, New []byte
	// Opaque says that Old and New are left out, as one of them is larger than MaxCommitFile, or not a regular file.
	Opaque bool
}

// CommitChanges reads what the commit ref.Commit has changed, or the tip of ref.Branch if that is empty. Only trees are
// fetched, and of the files those that differ. The error is an *Error.
func (c *connections) CommitChanges(ctx context.Context, ref model.Ref) (CommitChanges, error) {
	c.prepare([]model.Ref{ref})
	at, err := c.Locate(ref)
	if err != nil {
		return CommitChanges{}, c.clean(err)
	}
	found, err := c.commitChanges(ctx, at, ref)
	return found, c.clean(at.Explain(err))
}

func (c *connections) commitChanges(ctx context.Context, at giturl.Location, ref model.Ref) (found CommitChanges, err error) {
	p, err := c.repository(ctx, at, ref.Role)
	if err == nil && p == nil {
		err = noHistory(at)
	}
	if err == nil {
		err = giturl.CheckCommit(ref.Commit)
	}
	if found.Commit = ref.Commit; found.Commit == "" && err == nil {
		found.Commit, err = c.tip(ctx, at, ref)
	}
	if err != nil {
		return CommitChanges{}, err
	}
	id, parent := plumbing.NewHash(found.Commit), plumbing.ZeroHash
	commit, err := p.commitAt(ctx, id, ref.Branch)
	if err != nil {
		return CommitChanges{}, err
	}
	var before gitobject.CommitObject
	if len(commit.Parents) > 0 {
		parent = commit.Parents[0]
		found.Parent = parent.String()
		if before, err = p.commitAt(ctx, parent, ref.Branch); err != nil {
			return CommitChanges{}, err
		}
	}
	d := treeDiff{trees: gitobject.NewTreeWriter(p.treesAt(id)), most: MaxCommitFiles}
	if err := d.compare(before.Tree, commit.Tree, ".", 0); err != nil {
		return CommitChanges{}, giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %s", at, giterror.OneLine(err.Error()))
	}
	found.More = d.more
	found.Files, err = d.read(ctx, p.treesAt(parent), p.treesAt(id))
	return found, err
}

// changedEntry is a path that differs between two trees. One that is not there on a side has no id there.
type changedEntry struct {
	path     string
	old, new gitobject.TreeEntry
}

// treeDiff compares two trees, and reads only those folders that differ.
type treeDiff struct {
	trees      *gitobject.TreeWriter
	files      []changedEntry
	most, seen int
	// more says that there are more than most.
	more bool
}

func (d *treeDiff) compare(before, after plumbing.Hash, folder string, depth int) error {
	if before == after {
		return nil
	}
	var lists [3][]gitobject.TreeEntry // of the three only two sides are used
	for side, id := range [...]plumbing.Hash{gitobject.MergeOurs: before, gitobject.MergeTheirs: after} {
		entries, err := d.trees.Entries(id)
		if err != nil {
			return fmt.Errorf("read the tree of %q: %w", folder, err)
		}
		lists[side], d.seen = entries, d.seen+len(entries)
	}
	if d.seen > gitobject.MaxWalk {
		return fmt.Errorf("more than %d files and folders to compare", gitobject.MaxWalk)
	}
	if depth > gitobject.MaxDepth {
		return fmt.Errorf("folders nested more than %d deep", gitobject.MaxDepth)
	}
	for !d.more {
		sides, found := gitobject.NextSides(&lists)
		if !found {
			break
		}
		if err := d.entry(sides[gitobject.MergeOurs], sides[gitobject.MergeTheirs], folder, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry compares what has one name in two folders. One that is a folder on one side only is looked into all the same.
func (d *treeDiff) entry(before, after gitobject.TreeEntry, folder string, depth int) error {
	if before.ID == after.ID && before.Mode == after.Mode {
		return nil
	}
	name := path.Join(folder, cmp.Or(before.Name, after.Name))
	changed := changedEntry{path: name}
	var trees [2]plumbing.Hash
	for i, side := range []struct{ from, to *gitobject.TreeEntry }{{&before, &changed.old}, {&after, &changed.new}} {
		if side.from.IsTree() {
			trees[i] = side.from.ID
		} else {
			*side.to = *side.from
		}
	}
	if changed.old.Present() || changed.new.Present() {
		if d.more = len(d.files) == d.most; d.more {
			return nil
		}
		d.files = append(d.files, changed)
	}
	return d.compare(trees[0], trees[1], name, depth+1)
}

// read reads the contents of what differs, with a request for what was and one for what is.
func (d *treeDiff) read(ctx context.Context, was, is gitobject.Store) ([]CommitFile, error) {
	slices.SortFunc(d.files, func(a, b changedEntry) int { return gitobject.ComparePaths(a.path, b.path) })
	var old, now []plumbing.Hash
	for _, c := range d.files {
		if c.old.Regular() {
			old = append(old, c.old.ID)
		}
		if c.new.Regular() {
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

// contentOf returns the content of a file, which is nil if there is no such file. It is not ok if it is too large, or
// not that of a file.
func contentOf(ctx context.Context, from gitobject.Store, e gitobject.TreeEntry) (content []byte, ok bool, err error) {
	if !e.Present() {
		return nil, true, nil
	}
	if !e.Regular() || from.Size(e.ID) > MaxCommitFile {
		return nil, false, nil
	}
	data, err := from.Blob(ctx, e.ID)
	var tooLarge *gitobject.TooLargeError
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
