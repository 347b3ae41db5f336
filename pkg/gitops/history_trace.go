package gitops

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// tipNow implements archive.
func (m *remote) tipNow(ctx context.Context, branch string) (plumbing.Hash, error) {
	tips, err := m.tipsNow(ctx)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if tip, found := tips[branch]; found {
		return tip, nil
	}
	return plumbing.ZeroHash, noBranch(m.at.String(), branch, slices.Sorted(maps.Keys(tips)))
}

// trace implements archive. A server that offers to filter may still be told not to, and one may not know any more
// what is here, as it was forced away.
func (m *remote) trace(ctx context.Context, of traced) ([]link, error) {
	if m.capabilities.Supports(capability.Filter) {
		links, err := m.traceBy(ctx, of, true)
		if refusedWant(err) && !of.known.IsZero() {
			links, err = m.traceBy(ctx, traced{tip: of.tip}, true)
		}
		if !refusedWant(err) {
			return links, m.explain(err)
		}
	}
	if !of.force {
		return nil, errNotAlone
	}
	links, err := m.traceBy(ctx, of, false)
	return links, m.explain(err)
}

// traceBy fetches a history, alone or with all of its files; of those nothing is kept.
func (m *remote) traceBy(ctx context.Context, of traced, alone bool) ([]link, error) {
	request := m.request(of.tip)
	if !of.known.IsZero() {
		request.Haves = []plumbing.Hash{of.known}
	}
	if alone {
		if err := filter(request, packp.FilterTreeDepth(0)); err != nil {
			return nil, err
		}
	}
	p, err := m.packOf(ctx, request, plumbing.CommitObject)
	if err != nil {
		return nil, err
	}
	links := make([]link, 0, len(p.objects))
	for id, object := range p.objects {
		if object.tooLarge() {
			continue // the history is cut off there
		}
		commit, err := parseLink(id, object.data)
		if err != nil {
			return nil, problem(RuleInvalidRepository, "%s holds %v", m.at, err)
		}
		links = append(links, commit)
	}
	return links, nil
}

// cutHint implements archive.
func (m *remote) cutHint() string {
	return "the server has only a part of the repository; name one that has all of it"
}

// tipNow implements archive.
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

// trace implements archive.
func (r *localRepo) trace(ctx context.Context, of traced) ([]link, error) {
	var links []link
	seen := map[plumbing.Hash]bool{}
	todo := []plumbing.Hash{of.tip}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[id] || of.here(id) {
			continue
		}
		seen[id] = true
		if ctx.Err() != nil {
			return nil, interrupted(ctx)
		}
		if len(links) >= maxHistory {
			return nil, problem(RuleInvalidRepository, "%s has more than %d commits", r.name, maxHistory)
		}
		data, err := r.object(plumbing.CommitObject, id)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			continue // a shallow clone ends here
		}
		if err != nil {
			return nil, invalidLocal(r.name, err)
		}
		commit, err := parseLink(id, data)
		if err != nil {
			return nil, invalidLocal(r.name, err)
		}
		links = append(links, commit)
		todo = append(todo, commit.parents...)
	}
	return links, nil
}

// cutHint implements archive.
func (r *localRepo) cutHint() string { return r.shallowHint() }
