package gitops

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// commitGraph are commits by id.
type commitGraph map[plumbing.Hash]commitObject

// without returns the commits that can be reached from tip and not from other, as far as they are
// known.
func (g commitGraph) without(tip, other plumbing.Hash) commitGraph {
	theirs := g.reach(other, nil)
	return g.reach(tip, theirs)
}

// reach returns the commits that can be reached from one of them without passing one of stop.
func (g commitGraph) reach(from plumbing.Hash, stop commitGraph) commitGraph {
	found := commitGraph{}
	todo := []plumbing.Hash{from}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		_, seen := found[id]
		_, stopped := stop[id]
		commit, known := g[id]
		if seen || stopped || !known {
			continue
		}
		found[id] = commit
		todo = append(todo, commit.parents...)
	}
	return found
}

// hasMerge reports whether there is a merge among the commits. Git cuts off the history at one of whose
// parents any is left out.
func (g commitGraph) hasMerge() bool {
	for _, commit := range g {
		if len(commit.parents) > 1 {
			return true
		}
	}
	return false
}

// beyond implements repository: the server is asked for just these commits if it can leave out those of
// a branch, and else for the whole history without its files.
func (m *remote) beyond(ctx context.Context, tip plumbing.Hash, branch string) (commitGraph, bool, error) {
	if m.capabilities.Supports(capability.DeepenNot) && m.capabilities.Supports(capability.Shallow) {
		found, err := m.commitsOnly(ctx, packp.DepthReference("refs/heads/"+branch), tip)
		if err == nil && !found.hasMerge() || err != nil && !refusedWant(err) {
			return found.reach(tip, nil), true, m.explain(err)
		}
	}
	if !m.capabilities.Supports(capability.Filter) {
		found, err := m.commitsOnly(ctx, packp.DepthCommits(1), tip)
		return found, false, m.explain(err)
	}
	found, err := m.commitsOnly(ctx, packp.DepthCommits(0), tip, m.branches[branch])
	return found.without(tip, m.branches[branch]), true, m.explain(err)
}

// recent implements repository.
func (m *remote) recent(ctx context.Context, tip plumbing.Hash, generations int) (commitGraph, error) {
	return m.recents.do(ctx, recentKey{tip, generations}, func() (commitGraph, error) {
		found, err := m.commitsOnly(ctx, packp.DepthCommits(generations), tip)
		return found, m.explain(err)
	})
}

// recentKey names a piece of history, which never changes.
type recentKey struct {
	tip         plumbing.Hash
	generations int
}

// commitsOnly fetches commits without their trees, if the server can leave those out.
func (m *remote) commitsOnly(ctx context.Context, depth packp.Depth, tips ...plumbing.Hash) (commitGraph, error) {
	request := m.request(tips...)
	if !depth.IsZero() && m.capabilities.Supports(capability.Shallow) {
		request.Depth = depth
		if err := request.Capabilities.Set(capability.Shallow); err != nil {
			return nil, err
		}
	}
	if _, byName := depth.(packp.DepthReference); byName {
		if err := request.Capabilities.Set(capability.DeepenNot); err != nil {
			return nil, err
		}
	}
	if m.capabilities.Supports(capability.Filter) {
		if err := filter(request, packp.FilterTreeDepth(0)); err != nil {
			return nil, err
		}
	}
	p, err := m.pack(ctx, request)
	if err != nil {
		return nil, err
	}
	found := commitGraph{}
	for id, object := range p.objects {
		if object.kind != plumbing.CommitObject || object.tooLarge() {
			continue
		}
		if commit, err := parseCommit(object.data); err == nil {
			found[id] = commit
		}
	}
	return found, nil
}

// commitAt implements repository.
func (m *remote) commitAt(ctx context.Context, id plumbing.Hash) (commitObject, error) {
	return m.commit(ctx, id, "")
}

// treesAt implements repository.
func (m *remote) treesAt(id plumbing.Hash) objects { return fetched{m, id} }

// maxHistory bounds how many commits of a repository on this machine are looked at.
const maxHistory = 1_000_000

// beyond implements repository.
func (r *localRepo) beyond(ctx context.Context, tip plumbing.Hash, branch string) (commitGraph, bool, error) {
	refs, err := r.tipsNow(ctx)
	if err != nil {
		return nil, false, err
	}
	all, err := r.recent(ctx, tip, maxHistory)
	if err != nil {
		return nil, false, err
	}
	theirs, err := r.recent(ctx, refs[branch], maxHistory)
	if err != nil {
		return nil, false, err
	}
	return all.reach(tip, theirs), true, nil
}

// recent implements repository.
func (r *localRepo) recent(ctx context.Context, tip plumbing.Hash, generations int) (commitGraph, error) {
	found := commitGraph{}
	generation := []plumbing.Hash{tip}
	for ; generations > 0 && len(generation) > 0 && len(found) < maxHistory; generations-- {
		var next []plumbing.Hash
		for _, id := range generation {
			if _, seen := found[id]; seen || id.IsZero() {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			commit, err := r.commit(id)
			var missing *Error
			if errors.As(err, &missing) && missing.Rule == RuleCommitNotFound {
				continue // a shallow clone ends here
			}
			if err != nil {
				return nil, err
			}
			found[id] = commit
			next = append(next, commit.parents...)
		}
		generation = next
	}
	return found, nil
}

// commitAt implements repository.
func (r *localRepo) commitAt(_ context.Context, id plumbing.Hash) (commitObject, error) {
	return r.commit(id)
}

// treesAt implements repository.
func (r *localRepo) treesAt(plumbing.Hash) objects { return r }
