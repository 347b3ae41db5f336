package gitops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// Edit is what a commit changes, and how it is made. The same edit of the same commit is the same commit again, if
// its author is.
type Edit struct {
	// Files are the full contents of what changes, by path from the root. A file that is there keeps its mode; nothing
	// else is ever replaced by a file.
	Files map[string][]byte
	// Message ends in the trailers by which the commit is told from those of others; see PromotionMessage.
	Message string
	// Newest is the newest date of what the edit was made of. The commit bears it, or that of its parent if that is
	// newer.
	Newest time.Time
	// Author says who the author and committer is. It is asked only if there is something to push.
	Author func(context.Context) (Identity, error)
	// Key signs the commit; nil for no signature.
	Key *SigningKey
	// Ready is called with the id of the tree before a commit is pushed to the branch of a pull request; with an error
	// nothing is pushed. nil agrees.
	Ready func(ctx context.Context, tree string) error
	// Force overwrites what others have committed to the branch of a pull request.
	Force bool
	// Forge reports whether a pull request with foreign commits was merged; nil without a forge.
	Forge PullRequests
}

// contents puts the files into the tree of a branch.
func (e Edit) contents(b *Branch) (contents, error) {
	var blobs []newObject
	var edits []treeEdit
	for _, name := range slices.Sorted(maps.Keys(e.Files)) {
		blob := newRawObject(plumbing.BlobObject, e.Files[name])
		blobs = append(blobs, blob)
		edits = append(edits, treeEdit{path: name, blob: blob.id, keepMode: true})
	}
	tree, err := buildTree(b.repo.treesAt(b.tip), b.onto.tree, ".", edits)
	if err != nil {
		return contents{}, problem(RuleForeignPath, "the branch %q of %s cannot be changed: %s", b.Branch, b.At, oneLine(err.Error())).
			hint("a plain file is needed there, in plain folders")
	}
	return contents{tree.id, newer(e.Newest, b.onto.when), append(tree.objects, blobs...)}, nil
}

// commit makes the commit.
func (e Edit) commit(ctx context.Context, b *Branch, of contents) (candidate, error) {
	if e.Author == nil {
		return candidate{}, errors.New("a commit needs an author")
	}
	author, err := e.Author(ctx)
	if err != nil {
		return candidate{}, fmt.Errorf("find out who the author is: %w", err)
	}
	if of.when.Unix() < 0 {
		of.when = time.Unix(0, 0)
	}
	object, err := newCommit{
		tree: of.tree, parents: []plumbing.Hash{b.tip}, author: author, committer: author,
		when: of.when, message: e.Message, key: e.Key,
	}.object()
	if err != nil {
		return candidate{}, problem(RuleInvalidRepository, "commit to %s: %s", b.At, oneLine(err.Error()))
	}
	return candidate{id: object.id, tree: of.tree, objects: append([]newObject{object}, of.objects...)}, nil
}
