package gitops

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// candidate is a commit that may be pushed, with all objects that it brings.
type candidate struct {
	id, tree plumbing.Hash
	// first is the empty commit that the GitOps branch begins with; zero if the branch exists.
	first   plumbing.Hash
	objects []newObject
}

// write writes the pack of the objects.
func (c candidate) write(ctx context.Context, w io.Writer) error { return writePack(ctx, w, c.objects) }

// contents are what a commit holds.
type contents struct {
	tree plumbing.Hash
	// when is the date of the commit.
	when time.Time
	// objects are the trees and blobs that are new.
	objects []newObject
}

// contents puts the change into the tree of the GitOps branch.
func (p *Publication) contents(ctx context.Context) (contents, error) {
	blobs, edits, err := p.Change.blobs(ctx)
	if err != nil {
		return contents{}, err
	}
	root, when := plumbing.ZeroHash, p.Dates.newest(time.Time{})
	var trees treeSource
	if parent := p.onto(); !parent.IsZero() {
		onto, err := p.repo.commitAt(ctx, parent)
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
