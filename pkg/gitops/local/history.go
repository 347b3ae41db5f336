package local

import (
	"context"
	"errors"
	"math"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// Trace returns the commits of a range.
func (r *Repository) Trace(ctx context.Context, of gitobject.Range, _ bool) (gitobject.Graph, error) {
	if of.Known == nil {
		known, err := r.walk(ctx, of.Since, math.MaxInt, nil)
		if err != nil {
			return nil, err
		}
		of.Known = known
	}
	return r.walk(ctx, of.Tip, math.MaxInt, of.Known)
}

// Recent returns the commits from tip back, as many generations as given.
func (r *Repository) Recent(ctx context.Context, tip plumbing.Hash, generations int) (gitobject.Graph, error) {
	return r.walk(ctx, tip, generations, nil)
}

// walk returns the commits from tip back, at most as many generations as given, without those that are known. It ends
// where a shallow clone does.
func (r *Repository) walk(ctx context.Context, tip plumbing.Hash, generations int, known gitobject.Graph) (gitobject.Graph, error) {
	found := gitobject.Graph{}
	for generation := []plumbing.Hash{tip}; generations > 0 && len(generation) > 0; generations-- {
		var next []plumbing.Hash
		for _, id := range generation {
			_, isKnown := known[id]
			_, seen := found[id]
			if isKnown || seen || id.IsZero() {
				continue
			}
			if ctx.Err() != nil {
				return nil, giterror.Interrupted(ctx)
			}
			commit, err := r.CommitAt(ctx, id, "")
			if missing, ok := errors.AsType[*giterror.Error](err); ok && missing.Rule == giterror.RuleCommitNotFound {
				continue
			}
			if err != nil {
				return nil, err
			}
			found[id] = commit
			next = append(next, commit.Parents...)
		}
		generation = next
	}
	return found, nil
}
