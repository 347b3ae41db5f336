package remote

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// CommitChanges are what a commit changed against its first parent.
type CommitChanges struct {
	// Commit is the commit, Parent its first parent; empty for a commit without parents, which adds all files.
	Commit, Parent string
	// Files are the changed files, in order of path.
	Files []gitobject.CommitFile
	// More is true if further files, beyond gitobject.MaxCommitFiles, are left out.
	More bool
}

// CommitChanges reads the changes of the commit ref.Commit. It fetches only trees and the files that differ.
// The error is an *Error.
func (r *Reader) CommitChanges(ctx context.Context, ref model.Ref) (CommitChanges, error) {
	r.Prepare([]model.Ref{ref})
	at, err := r.Locate(ref)
	if err != nil {
		return CommitChanges{}, r.Clean(err)
	}
	found, err := r.commitChanges(ctx, at, ref)
	return found, r.Clean(at.Explain(err))
}

func (r *Reader) commitChanges(ctx context.Context, at giturl.Location, ref model.Ref) (found CommitChanges, err error) {
	repo, err := r.Repository(ctx, at, ref.Role)
	if err == nil && repo == nil {
		err = noHistory(at)
	}
	if err != nil {
		return CommitChanges{}, err
	}
	id, err := giturl.FullID(ref.Commit)
	if err != nil {
		return CommitChanges{}, err
	}
	commit, err := repo.CommitAt(ctx, id, ref.Branch)
	if err != nil {
		return CommitChanges{}, err
	}
	found.Commit = ref.Commit
	parent := plumbing.ZeroHash
	var before gitobject.CommitObject
	if len(commit.Parents) > 0 {
		parent = commit.Parents[0]
		found.Parent = parent.String()
		if before, err = repo.CommitAt(ctx, parent, ref.Branch); err != nil {
			return CommitChanges{}, err
		}
	}
	d, err := gitobject.DiffTrees(repo.TreesAt(id), before.Tree, commit.Tree, gitobject.MaxCommitFiles)
	if err != nil {
		return CommitChanges{}, giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %s", at, giterror.OneLine(err.Error()))
	}
	found.More = d.More
	found.Files, err = d.Read(ctx, repo.TreesAt(parent), repo.TreesAt(id))
	return found, err
}
