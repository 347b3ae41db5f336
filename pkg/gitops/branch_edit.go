package gitops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
)

// Edit is what a commit changes, and how it is made. The same edit of the same commit is the same commit again, if
// its author is.
type Edit struct {
	// Files are the full contents of what changes, by path from the root. A file that is there keeps its mode; nothing
	// else is ever replaced by a file.
	Files map[string][]byte
	// Message ends in the trailers by which the commit is told from those of others; see message.PromotionCommit.
	Message string
	// Newest is the newest date of what the edit was made of. The commit bears it, or that of its parent if that is
	// newer.
	Newest time.Time
	// Author says who the author and committer is. It is asked only if there is something to push.
	Author func(context.Context) (gitobject.Identity, error)
	// Key signs the commit; nil for no signature.
	Key *gitobject.SigningKey
	// Declined reports whether a person has closed the pull request for a tree, so that there is nothing to push. It is
	// asked before a commit is pushed to the branch of a pull request; nil says no.
	Declined func(ctx context.Context, tree string) (bool, error)
	// Force overwrites what others have committed to the branch of a pull request.
	Force bool
	// Forge reports whether a pull request with foreign commits was merged; nil without a forge.
	Forge pullrequest.Forge
}

// contents puts the files into the tree of a branch.
func (e Edit) contents(b *Branch) (gitobject.Contents, error) {
	var blobs []gitobject.NewObject
	var edits []gitobject.TreeEdit
	for _, name := range slices.Sorted(maps.Keys(e.Files)) {
		blob := gitobject.NewRawObject(plumbing.BlobObject, e.Files[name])
		blobs = append(blobs, blob)
		edits = append(edits, gitobject.TreeEdit{Path: name, Blob: blob.ID, KeepMode: true})
	}
	tree, err := gitobject.BuildTree(b.repo.TreesAt(b.tip), b.onto.Tree, ".", edits)
	if err != nil {
		return gitobject.Contents{}, giterror.New(RuleForeignPath, "the branch %q of %s cannot be changed: %s", b.Branch, b.At, giterror.OneLine(err.Error())).
			WithHint("a plain file is needed there, in plain folders")
	}
	return gitobject.Contents{Tree: tree.ID, When: source.Dates{Platform: e.Newest}.Newest(b.onto.When), Objects: append(tree.Objects, blobs...)}, nil
}

// commit makes the commit.
func (e Edit) commit(ctx context.Context, b *Branch, of gitobject.Contents) (gitobject.Candidate, error) {
	if e.Author == nil {
		return gitobject.Candidate{}, errors.New("a commit needs an author")
	}
	author, err := e.Author(ctx)
	if err != nil {
		return gitobject.Candidate{}, fmt.Errorf("find out who the author is: %w", err)
	}
	if of.When.Unix() < 0 {
		of.When = time.Unix(0, 0)
	}
	object, err := gitobject.NewCommit{
		Tree: of.Tree, Parents: []plumbing.Hash{b.tip}, Author: author, Committer: author,
		When: of.When, Message: e.Message, Key: e.Key,
	}.Object()
	if err != nil {
		return gitobject.Candidate{}, giterror.New(giterror.RuleInvalidRepository, "commit to %s: %s", b.At, giterror.OneLine(err.Error()))
	}
	return gitobject.Candidate{ID: object.ID, Tree: of.Tree, Objects: append([]gitobject.NewObject{object}, of.Objects...)}, nil
}
