package remote

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
func (m *remote) fetchCommits(ctx context.Context, w wanted) (gitobject.Graph, error) {
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
			return nil, giterror.New(giterror.RuleInvalidRepository, "%s holds %v", m.at, err)
		}
	}
	return found, nil
}

// Beyond implements Repository: the server leaves out what the branch has.
func (m *remote) Beyond(ctx context.Context, tip, branch plumbing.Hash) (gitobject.Graph, error) {
	if tip == branch {
		return nil, nil // a request for what is here already is not one
	}
	found, err := m.trace(ctx, traced{tip: tip, have: branch, force: true})
	return found.Without(tip, branch), err
}

// Recent implements Repository.
func (m *remote) Recent(ctx context.Context, tip plumbing.Hash, generations int) (gitobject.Graph, error) {
	return m.recents.do(ctx, recentKey{tip, generations}, func() (gitobject.Graph, error) {
		found, err := m.fetchCommits(ctx, wanted{ids: []plumbing.Hash{tip}, depth: packp.DepthCommits(generations), filter: packp.FilterTreeDepth(0)})
		return found, m.explain(err)
	})
}

// recentKey names a piece of history, which never changes.
type recentKey struct {
	tip         plumbing.Hash
	generations int
}

// trace implements Repository. A server that offers to filter may still be told not to, and one may not know any more
// what is here, as it was forced away.
func (m *remote) trace(ctx context.Context, of traced) (gitobject.Graph, error) {
	w := wanted{ids: []plumbing.Hash{of.tip}, have: of.have, filter: packp.FilterTreeDepth(0)}
	if m.capabilities.Supports(capability.Filter) {
		found, err := m.fetchCommits(ctx, w)
		if refusedWant(err) && !of.have.IsZero() {
			found, err = m.fetchCommits(ctx, wanted{ids: w.ids, filter: w.filter})
		}
		if !refusedWant(err) {
			return found, m.explain(err)
		}
	}
	if !of.force {
		return nil, errNotAlone
	}
	w.filter = ""
	found, err := m.fetchCommits(ctx, w)
	return found, m.explain(err)
}

// tipNow implements Repository.
func (m *remote) tipNow(ctx context.Context, branch string) (plumbing.Hash, error) {
	tips, err := m.tipsNow(ctx)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if tip, found := tips[branch]; found {
		return tip, nil
	}
	return plumbing.ZeroHash, giterror.NoBranch(m.at.String(), branch, slices.Sorted(maps.Keys(tips)))
}

// cutHint implements Repository.
func (m *remote) cutHint() string {
	return "the server has only a part of the repository; name one that has all of it"
}

// CommitAt implements Repository.
func (m *remote) CommitAt(ctx context.Context, id plumbing.Hash, branch string) (gitobject.CommitObject, error) {
	return m.commit(ctx, id, branch)
}

// TreesAt implements Repository.
func (m *remote) TreesAt(id plumbing.Hash) gitobject.Store { return fetched{m, id} }

// maxHistory is the maximum number of commits of a local repository that are examined.
const maxHistory = 1_000_000

// walk returns the commits from tip back, at most as many generations as given, without those that are known. It ends
// where a shallow clone does.
func (r *localRepo) walk(ctx context.Context, tip plumbing.Hash, generations int, known gitobject.Graph) (gitobject.Graph, error) {
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
			if len(found) >= maxHistory {
				return nil, giterror.New(giterror.RuleInvalidRepository, "%s has more than %d commits", r.name, maxHistory)
			}
			commit, err := r.commit(id)
			var missing *giterror.Error
			if errors.As(err, &missing) && missing.Rule == giterror.RuleCommitNotFound {
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

// Beyond implements Repository.
func (r *localRepo) Beyond(ctx context.Context, tip, branch plumbing.Hash) (gitobject.Graph, error) {
	theirs, err := r.walk(ctx, branch, maxHistory, nil)
	if err != nil {
		return nil, err
	}
	return r.walk(ctx, tip, maxHistory, theirs)
}

// Recent implements Repository.
func (r *localRepo) Recent(ctx context.Context, tip plumbing.Hash, generations int) (gitobject.Graph, error) {
	return r.walk(ctx, tip, generations, nil)
}

// trace implements Repository.
func (r *localRepo) trace(ctx context.Context, of traced) (gitobject.Graph, error) {
	return r.walk(ctx, of.tip, maxHistory, of.known)
}

// tipNow implements Repository.
func (r *localRepo) tipNow(_ context.Context, branch string) (plumbing.Hash, error) {
	r.reindex()
	found, err := r.findBranch(branch)
	return found.commit, err
}

// reindex lets packs be seen that came after the repository was opened.
func (r *localRepo) reindex() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, store := range r.stores {
		store.Reindex()
	}
}

// cutHint implements Repository.
func (r *localRepo) cutHint() string { return r.shallowHint() }

// CommitAt implements Repository.
func (r *localRepo) CommitAt(_ context.Context, id plumbing.Hash, _ string) (gitobject.CommitObject, error) {
	return r.commit(id)
}

// TreesAt implements Repository.
func (r *localRepo) TreesAt(plumbing.Hash) gitobject.Store { return r }
