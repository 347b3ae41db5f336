package server

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

func (r *Repository) fetchCommits(ctx context.Context, w wanted) (gitobject.Graph, error) {
	p, err := r.pack(ctx, r.request(w), plumbing.CommitObject)
	if err != nil {
		return nil, err
	}
	found := make(gitobject.Graph, len(p.Objects))
	for id, object := range p.Objects {
		if object.TooLarge() {
			continue // the history ends there
		}
		if found[id], err = gitobject.ParseCommit(object.Data); err != nil {
			return nil, giterror.New(giterror.RuleInvalidRepository, "%s contains %v", r.At, err)
		}
	}
	return found, nil
}

// Recent returns the commits from tip back, as many generations as given.
func (r *Repository) Recent(ctx context.Context, tip plumbing.Hash, generations int) (gitobject.Graph, error) {
	return r.recents.Do(ctx, recentKey{tip, generations}, func() (gitobject.Graph, error) {
		found, err := r.fetchCommits(ctx, wanted{ids: []plumbing.Hash{tip}, depth: packp.DepthCommits(generations), filter: packp.FilterTreeDepth(0)})
		return found, r.explain(err)
	})
}

// recentKey identifies a part of a history, which never changes.
type recentKey struct {
	tip         plumbing.Hash
	generations int
}

// ErrNotAlone is the error of a server that cannot send commits without their files.
var ErrNotAlone = errors.New("it cannot send commits without files")

// Trace returns the commits of a range. With alone, the error is ErrNotAlone if the server cannot send commits without
// files. A server can refuse a filter that it offers, and a commit that a force-push has removed.
func (r *Repository) Trace(ctx context.Context, of gitobject.Range, alone bool) (gitobject.Graph, error) {
	if of.Tip == of.Since {
		return nil, nil // an empty request is not valid
	}
	found, err := r.trace(ctx, wanted{ids: []plumbing.Hash{of.Tip}, have: of.Since, filter: packp.FilterTreeDepth(0)}, alone)
	if errors.Is(err, ErrNotAlone) {
		return nil, err
	}
	return found.Without(of.Tip, of.Since), r.explain(err)
}

func (r *Repository) trace(ctx context.Context, w wanted, alone bool) (gitobject.Graph, error) {
	if r.capabilities.Supports(capability.Filter) {
		found, err := r.fetchCommits(ctx, w)
		if refusedWant(err) && !w.have.IsZero() {
			found, err = r.fetchCommits(ctx, wanted{ids: w.ids, filter: w.filter})
		}
		if !refusedWant(err) {
			return found, err
		}
	}
	if alone {
		return nil, ErrNotAlone
	}
	w.filter = ""
	return r.fetchCommits(ctx, w)
}

// TipNow returns the current tip of a branch.
func (r *Repository) TipNow(ctx context.Context, branch string) (plumbing.Hash, error) {
	tips, err := r.Tips(ctx)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if tip, found := tips[branch]; found {
		return tip, nil
	}
	return plumbing.ZeroHash, giterror.NoBranch(r.At.String(), branch, slices.Sorted(maps.Keys(tips)))
}

// CutHint is the hint for a shallow history.
func (r *Repository) CutHint() string {
	return "the server has only part of the repository; use one with the full history"
}

// TreesAt returns the trees and files of a commit that CommitAt has returned.
func (r *Repository) TreesAt(id plumbing.Hash) gitobject.Store { return fetched{r, id} }
