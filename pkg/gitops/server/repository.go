package server

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
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/memo"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Repository is a repository on a server, seen with one credential. Its branches stay where they were when it was
// connected to.
type Repository struct {
	*Connection
	advertisement
	// Parsed holds trees that were read.
	Parsed gitobject.TreeCache

	store   store
	commits memo.Map[plumbing.Hash, gitobject.CommitObject]
	recents memo.Map[recentKey, gitobject.Graph]

	mu sync.Mutex
	// whole are the commits that were fetched with their files.
	whole map[plumbing.Hash]bool
}

// ID is the normal name of the repository.
func (m *Repository) ID() string { return m.At.Read }

// String is what messages call it.
func (m *Repository) String() string { return m.At.String() }

// IsUnused reports whether nothing was read, or nothing that counts, as a limit was exceeded.
func (m *Repository) IsUnused() bool {
	return m.Budget.Exhausted() != nil || m.Role == model.Tenant && len(m.commits.Values()) == 0
}

// Branches are the tips of the branches.
func (m *Repository) Branches() map[string]plumbing.Hash { return m.branches }

// FindBranch finds a branch; an empty name is the default branch.
func (m *Repository) FindBranch(name string) (gitobject.Branch, error) {
	if name == "" {
		name = m.standard
	}
	if id, ok := m.branches[name]; ok {
		return gitobject.Branch{Name: name, Commit: id}, nil
	}
	return gitobject.Branch{Name: name}, giterror.NoBranch(m.At.String(), name, slices.Sorted(maps.Keys(m.branches)))
}

// CommitAt fetches a commit with its trees, once. branch is the one that it is said to be on, if that is known.
func (m *Repository) CommitAt(ctx context.Context, id plumbing.Hash, branch string) (gitobject.CommitObject, error) {
	return m.commits.Do(ctx, id, func() (gitobject.CommitObject, error) {
		err := error(&wire.ServerError{Text: "it takes only the tips of branches"})
		if m.anyID || m.advertised[id] {
			err = m.fetchTip(ctx, id)
		}
		if refusedWant(err) {
			err = m.fetchHistory(ctx, id, branch)
		}
		if err != nil {
			return gitobject.CommitObject{}, m.explain(err)
		}
		commit, ok, err := m.store.commit(id)
		if err != nil {
			return gitobject.CommitObject{}, giterror.New(giterror.RuleInvalidRepository, "%s holds %v", m.At, err)
		}
		if !ok {
			return gitobject.CommitObject{}, m.noCommit(id, branch)
		}
		return commit, nil
	})
}

// refusedWant reports whether a server did not accept an id. How it says so differs: with an error
// line, in a side band, or by hanging up.
func refusedWant(err error) bool {
	var said *wire.ServerError
	return errors.As(err, &said) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (m *Repository) noCommit(id plumbing.Hash, branch string) *giterror.Error {
	if branch == "" {
		return giterror.New(giterror.RuleCommitNotFound, "%s has no commit %s", m.At, id)
	}
	return giterror.New(giterror.RuleCommitNotFound, "%s has no commit %s on the branch %q", m.At, id, branch)
}

// fetchTip fetches one commit: its trees, and its files too if they cannot be had by themselves.
func (m *Repository) fetchTip(ctx context.Context, id plumbing.Hash) error {
	w := wanted{ids: []plumbing.Hash{id}, depth: packp.DepthCommits(1)}
	if !m.anyID || !m.capabilities.Supports(capability.Filter) {
		return m.fetchWhole(ctx, id, w)
	}
	w.filter = packp.FilterBlobNone()
	return m.fetch(ctx, w)
}

// fetchWhole fetches what brings a commit with its files.
func (m *Repository) fetchWhole(ctx context.Context, id plumbing.Hash, w wanted) error {
	err := m.fetch(ctx, w)
	if err == nil {
		m.mu.Lock()
		m.whole[id] = true
		m.mu.Unlock()
	}
	return err
}

// fetchHistory fetches a commit that the server does not give by its id, through the branch that it
// is said to be on: as deep as needed, if the server can send commits alone.
func (m *Repository) fetchHistory(ctx context.Context, id plumbing.Hash, branch string) error {
	on, err := m.FindBranch(branch)
	if err != nil {
		return m.noCommit(id, on.Name)
	}
	w := wanted{ids: []plumbing.Hash{on.Commit}}
	if m.capabilities.Supports(capability.Filter) {
		graph, err := m.fetchCommits(ctx, wanted{ids: w.ids, filter: packp.FilterTreeDepth(0)})
		depth := graph.Depth(on.Commit, id)
		switch {
		case err == nil && depth == 0:
			return m.noCommit(id, on.Name)
		case err == nil:
			w.depth = packp.DepthCommits(depth)
		case !refusedWant(err):
			return err
		}
	}
	return m.fetchWhole(ctx, id, w)
}

// wantsPerRequest keeps a request below the 10 MB that git http-backend takes.
const wantsPerRequest = 100_000

// load fetches files of a commit that are not there yet.
func (m *Repository) load(ctx context.Context, commit plumbing.Hash, ids []plumbing.Hash) error {
	m.mu.Lock()
	whole := m.whole[commit]
	m.mu.Unlock()
	if whole {
		return nil
	}
	missing, done := m.store.claim(ctx, ids)
	defer done()
	for chunk := range slices.Chunk(missing, wantsPerRequest) {
		err := m.fetch(ctx, wanted{ids: chunk})
		if refusedWant(err) {
			return m.explain(m.fetchWhole(ctx, commit, wanted{ids: []plumbing.Hash{commit}, depth: packp.DepthCommits(1)}))
		}
		if err != nil {
			return m.explain(err)
		}
		m.store.giveUp(chunk)
	}
	return nil
}

// fetch adds objects to the store.
func (m *Repository) fetch(ctx context.Context, w wanted) error {
	p, err := m.pack(ctx, m.request(w), plumbing.InvalidObject)
	if err == nil {
		m.store.add(p)
	}
	return err
}
