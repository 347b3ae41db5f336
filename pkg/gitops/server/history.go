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

// fetchCommits fetches commits, and keeps nothing else.
func (m *Repository) fetchCommits(ctx context.Context, w wanted) (gitobject.Graph, error) {
	p, err := m.pack(ctx, m.request(w), plumbing.CommitObject)
	if err != nil {
		return nil, err
	}
	found := make(gitobject.Graph, len(p.Objects))
	for id, object := range p.Objects {
		if object.TooLarge() {
			continue // the history is cut off there
		}
		if found[id], err = gitobject.ParseCommit(object.Data); err != nil {
			return nil, giterror.New(giterror.RuleInvalidRepository, "%s holds %v", m.At, err)
		}
	}
	return found, nil
}

// Recent returns the commits from tip back, as many generations as given.
func (m *Repository) Recent(ctx context.Context, tip plumbing.Hash, generations int) (gitobject.Graph, error) {
	return m.recents.Do(ctx, recentKey{tip, generations}, func() (gitobject.Graph, error) {
		found, err := m.fetchCommits(ctx, wanted{ids: []plumbing.Hash{tip}, depth: packp.DepthCommits(generations), filter: packp.FilterTreeDepth(0)})
		return found, m.explain(err)
	})
}

// recentKey names a piece of history, which never changes.
type recentKey struct {
	tip         plumbing.Hash
	generations int
}

// ErrNotAlone is a server that does not send commits without their files.
var ErrNotAlone = errors.New("it cannot send commits alone")

// Trace returns the commits of a range. With alone it is an ErrNotAlone if that means to fetch more than commits. A server
// that offers to filter may still be told not to, and one may not know any more what is known here, as it was forced away.
func (m *Repository) Trace(ctx context.Context, of gitobject.Range, alone bool) (gitobject.Graph, error) {
	if of.Tip == of.Since {
		return nil, nil // a request for what is known already is not one
	}
	found, err := m.trace(ctx, wanted{ids: []plumbing.Hash{of.Tip}, have: of.Since, filter: packp.FilterTreeDepth(0)}, alone)
	if errors.Is(err, ErrNotAlone) {
		return nil, err
	}
	return found.Without(of.Tip, of.Since), m.explain(err)
}

func (m *Repository) trace(ctx context.Context, w wanted, alone bool) (gitobject.Graph, error) {
	if m.capabilities.Supports(capability.Filter) {
		found, err := m.fetchCommits(ctx, w)
		if refusedWant(err) && !w.have.IsZero() {
			found, err = m.fetchCommits(ctx, wanted{ids: w.ids, filter: w.filter})
		}
		if !refusedWant(err) {
			return found, err
		}
	}
	if alone {
		return nil, ErrNotAlone
	}
	w.filter = ""
	return m.fetchCommits(ctx, w)
}

// TipNow returns where a branch is now.
func (m *Repository) TipNow(ctx context.Context, branch string) (plumbing.Hash, error) {
	tips, err := m.Tips(ctx)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if tip, found := tips[branch]; found {
		return tip, nil
	}
	return plumbing.ZeroHash, giterror.NoBranch(m.At.String(), branch, slices.Sorted(maps.Keys(tips)))
}

// CutHint says what a person can do about a history that is cut off.
func (m *Repository) CutHint() string {
	return "the server has only a part of the repository; name one that has all of it"
}

// TreesAt returns the trees and files of a commit that CommitAt has returned.
func (m *Repository) TreesAt(id plumbing.Hash) gitobject.Store { return fetched{m, id} }
