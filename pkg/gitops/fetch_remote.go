package gitops

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// remote is a repository on a server, seen with one credential.
type remote struct {
	*server
	advertisement

	store   store
	parsed  treeCache
	commits memo[plumbing.Hash, commitObject]
	recents memo[recentKey, commitGraph]

	mu sync.Mutex
	// whole are the commits that were fetched with their files.
	whole map[plumbing.Hash]bool
}

// tip returns the commit of a branch and the branch's name. An empty name is the standard branch.
func (m *remote) tip(branch string) (plumbing.Hash, string, error) {
	if branch == "" {
		branch = m.standard
	}
	if id, ok := m.branches[branch]; ok {
		return id, branch, nil
	}
	return plumbing.ZeroHash, branch, noBranch(m.at.String(), branch, slices.Sorted(maps.Keys(m.branches)))
}

// commit fetches a commit with its trees, once.
func (m *remote) commit(ctx context.Context, id plumbing.Hash, branch string) (commitObject, error) {
	return m.commits.do(ctx, id, func() (commitObject, error) {
		err := error(&serverError{"it takes only the tips of branches"})
		if m.anyID || m.advertised[id] {
			err = m.fetchTip(ctx, id)
		}
		if refusedWant(err) {
			err = m.fetchHistory(ctx, id, branch)
		}
		if err != nil {
			return commitObject{}, m.explain(err)
		}
		commit, ok, err := m.store.commit(id)
		if err != nil {
			return commitObject{}, problem(RuleInvalidRepository, "%s holds %v", m.at, err)
		}
		if !ok {
			return commitObject{}, m.noCommit(id, branch)
		}
		return commit, nil
	})
}

// refusedWant reports whether a server did not accept an id. How it says so differs: with an error
// line, in a side band, or by hanging up.
func refusedWant(err error) bool {
	var said *serverError
	return errors.As(err, &said) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (m *remote) noCommit(id plumbing.Hash, branch string) *Error {
	if branch == "" {
		return problem(RuleCommitNotFound, "%s has no commit %s", m.at, id)
	}
	return problem(RuleCommitNotFound, "%s has no commit %s on the branch %q", m.at, id, branch)
}

// fetchTip fetches one commit: its trees, and its files too if they cannot be had by themselves.
func (m *remote) fetchTip(ctx context.Context, id plumbing.Hash) error {
	if !m.anyID || !m.capabilities.Supports(capability.Filter) {
		return m.fetchWhole(ctx, id)
	}
	request := m.request(id)
	if err := m.deepen(request, 1); err != nil {
		return err
	}
	if err := filter(request, packp.FilterBlobNone()); err != nil {
		return err
	}
	return m.fetch(ctx, request)
}

// fetchWhole fetches one commit with its files.
func (m *remote) fetchWhole(ctx context.Context, id plumbing.Hash) error {
	request := m.request(id)
	if err := m.deepen(request, 1); err != nil {
		return err
	}
	if err := m.fetch(ctx, request); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.whole[id] = true
	return nil
}

// fetchHistory fetches a commit that the server does not give by its id, through the branch that it
// is said to be on.
func (m *remote) fetchHistory(ctx context.Context, id plumbing.Hash, branch string) error {
	tip, branch, err := m.tip(branch)
	if err != nil {
		return m.noCommit(id, branch)
	}
	depth, err := m.depthOf(ctx, id, tip)
	if err != nil {
		return err
	}
	if depth == 0 {
		return m.noCommit(id, branch)
	}
	request := m.request(tip)
	if depth > 0 {
		if err := m.deepen(request, depth); err != nil {
			return err
		}
	}
	if err := m.fetch(ctx, request); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.whole[id] = true
	return nil
}

// depthOf says how many commits deep a branch must be fetched to have one of its commits: 0 if it
// is not on the branch, -1 if the server cannot send commits alone.
func (m *remote) depthOf(ctx context.Context, id, tip plumbing.Hash) (int, error) {
	if !m.capabilities.Supports(capability.Filter) {
		return -1, nil
	}
	request := m.request(tip)
	if err := filter(request, packp.FilterTreeDepth(0)); err != nil {
		return 0, err
	}
	p, err := m.pack(ctx, request)
	if refusedWant(err) {
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	return depthIn(p, id, tip), nil
}

// depthIn walks from a tip, generation by generation, to a commit.
func depthIn(p *pack, id, tip plumbing.Hash) int {
	seen := map[plumbing.Hash]bool{tip: true}
	generation := []plumbing.Hash{tip}
	for depth := 1; len(generation) > 0; depth++ {
		var next []plumbing.Hash
		for _, at := range generation {
			if at == id {
				return depth
			}
			commit, err := parseCommit(p.objects[at].data)
			if err != nil {
				continue
			}
			for _, parent := range commit.parents {
				if !seen[parent] {
					seen[parent] = true
					next = append(next, parent)
				}
			}
		}
		generation = next
	}
	return 0
}

// wantsPerRequest keeps a request below the 10 MB that git http-backend takes.
const wantsPerRequest = 100_000

// load fetches files of a commit that are not there yet.
func (m *remote) load(ctx context.Context, commit plumbing.Hash, ids []plumbing.Hash) error {
	m.mu.Lock()
	whole := m.whole[commit]
	m.mu.Unlock()
	if whole {
		return nil
	}
	missing, done := m.store.claim(ctx, ids)
	defer done()
	for chunk := range slices.Chunk(missing, wantsPerRequest) {
		err := m.fetch(ctx, m.request(chunk...))
		if refusedWant(err) {
			return m.explain(m.fetchWhole(ctx, commit))
		}
		if err != nil {
			return m.explain(err)
		}
		m.store.giveUp(chunk)
	}
	return nil
}

// fetch adds to the store what a request brings.
func (m *remote) fetch(ctx context.Context, request *packp.UploadPackRequest) error {
	p, err := m.pack(ctx, request)
	if err != nil {
		return err
	}
	m.store.add(p)
	return nil
}
