package gitops

import (
	"context"
	"fmt"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
)

// contents puts the change into the tree of the GitOps branch.
func (p *Publication) contents(ctx context.Context) (gitobject.Contents, error) {
	blobs, edits, err := blobsOf(ctx, p.Change)
	if err != nil {
		return gitobject.Contents{}, err
	}
	root, when := plumbing.ZeroHash, p.Dates.Newest(time.Time{})
	var trees gitobject.TreeSource
	if parent := p.onto(); !parent.IsZero() {
		onto, err := p.repo.CommitAt(ctx, parent, "")
		if err != nil {
			return gitobject.Contents{}, err
		}
		root, trees = onto.Tree, p.repo.TreesAt(parent)
		when = p.Dates.Newest(onto.When)
	}
	tree, err := gitobject.BuildTree(trees, root, giturl.CleanPath(p.Repo.Path.Value), edits)
	if err != nil {
		return gitobject.Contents{}, giterror.New(RuleForeignPath, "%s cannot hold the output: %v", p.At, err).
			WithHint(hintForeignPath)
	}
	return gitobject.Contents{Tree: tree.ID, When: when, Objects: append(tree.Objects, blobs...)}, nil
}

// blobsOf returns the contents that a change brings, and what they and what is removed do to the tree.
// The objects refer to the change, which must not be modified as long as they are used.
func blobsOf(ctx context.Context, c *change.Change) ([]gitobject.NewObject, []gitobject.TreeEdit, error) {
	edits := make([]gitobject.TreeEdit, len(c.Files))
	text := func(i int) content.Text { return c.Files[i].New }
	err := change.EachText(ctx, len(c.Files), text, func(i int, content []byte) error {
		edits[i].Path = c.Files[i].Path
		if c.Files[i].Action != change.Removed {
			edits[i].Blob = gitobject.HashOf(plumbing.BlobObject, content)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	objects := make([]gitobject.NewObject, 0, len(edits))
	for i, edit := range edits {
		if !edit.Removes() {
			objects = append(objects, gitobject.NewObject{Kind: plumbing.BlobObject, ID: edit.Blob, Content: &c.Files[i].New})
		}
	}
	return objects, edits, nil
}

// build makes the commit.
func (p *Publication) build(ctx context.Context, of gitobject.Contents) (gitobject.Candidate, error) {
	if err := p.resolveAuthor(ctx); err != nil {
		return gitobject.Candidate{}, fmt.Errorf("find out who the author is: %w", err)
	}
	commit := gitobject.Candidate{Tree: of.Tree}
	parent := p.onto()
	if parent.IsZero() {
		first, err := p.firstCommit()
		if err != nil {
			return gitobject.Candidate{}, err
		}
		commit.Objects = first
		commit.First = first[len(first)-1].ID
		parent = commit.First
	}
	object, err := p.commit(gitobject.NewCommit{
		Tree: of.Tree, Parents: []plumbing.Hash{parent}, When: of.When, Message: message.Commit(p.Report),
	})
	if err != nil {
		return gitobject.Candidate{}, err
	}
	commit.ID = object.ID
	commit.Objects = append(append(commit.Objects, object), of.Objects...)
	return commit, nil
}

// resolveAuthor asks for the author that nobody named.
func (p *Publication) resolveAuthor(ctx context.Context) (err error) {
	if p.UsualAuthor != nil && p.Author == (gitobject.Identity{}) {
		p.Author, err = p.UsualAuthor(ctx)
	}
	return err
}

// firstCommit is the empty commit that a new GitOps branch begins with, preceded by its tree.
func (p *Publication) firstCommit() ([]gitobject.NewObject, error) {
	tree := gitobject.NewRawObject(plumbing.TreeObject, nil)
	commit, err := p.commit(gitobject.NewCommit{Tree: tree.ID, When: p.Dates.Newest(time.Time{}), Message: fmt.Sprintf("Start the branch %s\n", p.Branch)})
	return []gitobject.NewObject{tree, commit}, err
}

// commit makes a commit of the author's. Where nothing that was read has a date, it is that of the
// first second of 1970: any other would be made up, and another one each time.
func (p *Publication) commit(c gitobject.NewCommit) (gitobject.NewObject, error) {
	c.Author, c.Committer, c.Key = p.Author, p.Author, p.Key
	if c.When.Unix() < 0 {
		c.When = time.Unix(0, 0)
	}
	return c.Object()
}
