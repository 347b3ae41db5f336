package gitops

import (
	"context"
	"fmt"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// contents puts the change into the tree of the GitOps branch.
func (p *Publication) contents(ctx context.Context) (contents, error) {
	blobs, edits, err := blobsOf(ctx, p.Change)
	if err != nil {
		return contents{}, err
	}
	root, when := plumbing.ZeroHash, p.Dates.newest(time.Time{})
	var trees treeSource
	if parent := p.onto(); !parent.IsZero() {
		onto, err := p.repo.commitAt(ctx, parent, "")
		if err != nil {
			return contents{}, err
		}
		root, trees = onto.tree, p.repo.treesAt(parent)
		when = p.Dates.newest(onto.when)
	}
	tree, err := buildTree(trees, root, cleanPath(p.Repo.Path.Value), edits)
	if err != nil {
		return contents{}, problem(RuleForeignPath, "%s cannot hold the output: %v", p.At, err).
			hint(hintForeignPath)
	}
	return contents{tree.id, when, append(tree.objects, blobs...)}, nil
}

// blobsOf returns the contents that a change brings, and what they and what is removed do to the tree.
// The objects refer to the change, which must not be modified as long as they are used.
func blobsOf(ctx context.Context, c *Change) ([]newObject, []treeEdit, error) {
	edits := make([]treeEdit, len(c.Files))
	text := func(i int) render.Text { return c.Files[i].New }
	err := eachText(ctx, len(c.Files), text, func(i int, content []byte) error {
		edits[i].path = c.Files[i].Path
		if c.Files[i].Action != Removed {
			edits[i].blob = objectID(plumbing.BlobObject, content)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	objects := make([]newObject, 0, len(edits))
	for i, edit := range edits {
		if !edit.removes() {
			objects = append(objects, newObject{kind: plumbing.BlobObject, id: edit.blob, content: &c.Files[i].New})
		}
	}
	return objects, edits, nil
}

// build makes the commit.
func (p *Publication) build(ctx context.Context, of contents) (candidate, error) {
	if err := p.resolveAuthor(ctx); err != nil {
		return candidate{}, fmt.Errorf("find out who the author is: %w", err)
	}
	commit := candidate{tree: of.tree}
	parent := p.onto()
	if parent.IsZero() {
		first, err := p.firstCommit()
		if err != nil {
			return candidate{}, err
		}
		commit.objects = first
		commit.first = first[len(first)-1].id
		parent = commit.first
	}
	object, err := p.commit(newCommit{
		tree: of.tree, parents: []plumbing.Hash{parent}, when: of.when, message: CommitMessage(p.Report),
	})
	if err != nil {
		return candidate{}, err
	}
	commit.id = object.id
	commit.objects = append(append(commit.objects, object), of.objects...)
	return commit, nil
}

// resolveAuthor asks for the author that nobody named.
func (p *Publication) resolveAuthor(ctx context.Context) (err error) {
	if p.UsualAuthor != nil && p.Author == (Identity{}) {
		p.Author, err = p.UsualAuthor(ctx)
	}
	return err
}

// firstCommit is the empty commit that a new GitOps branch begins with, preceded by its tree.
func (p *Publication) firstCommit() ([]newObject, error) {
	tree := newRawObject(plumbing.TreeObject, nil)
	commit, err := p.commit(newCommit{tree: tree.id, when: p.Dates.newest(time.Time{}), message: fmt.Sprintf("Start the branch %s\n", p.Branch)})
	return []newObject{tree, commit}, err
}

// commit makes a commit of the author's. Where nothing that was read has a date, it is that of the
// first second of 1970: any other would be made up, and another one each time.
func (p *Publication) commit(c newCommit) (newObject, error) {
	c.author, c.committer, c.key = p.Author, p.Author, p.Key
	if c.when.Unix() < 0 {
		c.when = time.Unix(0, 0)
	}
	return c.object()
}
