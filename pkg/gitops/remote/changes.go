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
	// Commit is the commit, Parent the first parent, which is empty if there is none: then everything was added.
	Commit, Parent string
	// Files are what differs, in order of path.
	Files []gitobject.CommitFile
	// More says that there are more than gitobject.MaxCommitFiles, which are left out.
	More bool
}

// CommitChanges reads what the commit ref.Commit has changed, or the tip of ref.Branch if that is empty. Only trees are
// fetched, and of the files those that differ. The error is an *Error.
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
	p, err := r.repository(ctx, at, ref.Role)
	if err == nil && p == nil {
		err = noHistory(at)
	}
	if err == nil {
		err = giturl.CheckCommit(ref.Commit)
	}
	if found.Commit = ref.Commit; found.Commit == "" && err == nil {
		found.Commit, err = r.TipAt(ctx, at, ref)
	}
	if err != nil {
		return CommitChanges{}, err
	}
	id, parent := plumbing.NewHash(found.Commit), plumbing.ZeroHash
	commit, err := p.CommitAt(ctx, id, ref.Branch)
	if err != nil {
		return CommitChanges{}, err
	}
	var before gitobject.CommitObject
	if len(commit.Parents) > 0 {
		parent = commit.Parents[0]
		found.Parent = parent.String()
		if before, err = p.CommitAt(ctx, parent, ref.Branch); err != nil {
			return CommitChanges{}, err
		}
	}
	d, err := gitobject.DiffTrees(p.TreesAt(id), before.Tree, commit.Tree, gitobject.MaxCommitFiles)
	if err != nil {
		return CommitChanges{}, giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %s", at, giterror.OneLine(err.Error()))
	}
	found.More = d.More
	found.Files, err = d.Read(ctx, p.TreesAt(parent), p.TreesAt(id))
	return found, err
}
