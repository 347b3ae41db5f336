package server

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/memo"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Repository is a repository on a server, read with one credential. Its branches are those of the time of Connect.
type Repository struct {
	*Connection
	advertisement
	// Parsed caches trees.
	Parsed gitobject.TreeCache

	store   store
	commits memo.Map[plumbing.Hash, gitobject.CommitObject]
	recents memo.Map[recentKey, gitobject.Graph]
}

// ID returns the URL of the repository in normal form.
func (r *Repository) ID() string { return r.At.Read }

// String returns the name for messages.
func (r *Repository) String() string { return r.At.String() }

// IsUnused reports whether no commit was read, or a limit was exceeded, so that the output does not depend on it.
func (r *Repository) IsUnused() bool {
	return r.Budget.Exhausted() != nil || r.Role == model.Tenant && len(r.commits.Values()) == 0
}

// Branches returns the tips of the branches.
func (r *Repository) Branches() map[string]plumbing.Hash { return r.branches }

// FindBranch finds a branch; an empty name is the default branch.
func (r *Repository) FindBranch(name string) (gitobject.Branch, error) {
	if name == "" {
		name = r.head
	}
	if id, ok := r.branches[name]; ok {
		return gitobject.Branch{Name: name, Commit: id}, nil
	}
	return gitobject.Branch{Name: name}, giterror.NoBranch(r.At.String(), name, slices.Sorted(maps.Keys(r.branches)))
}

// Reference returns the commit of HEAD, of a tag, or of a longer name such as "heads/main" or "refs/tags/v1".
func (r *Repository) Reference(name string) (plumbing.Hash, bool) {
	if name == "HEAD" {
		id, found := r.branches[r.head]
		return id, found
	}
	if id, found := r.tags[name]; found {
		return id, true
	}
	kind, short, _ := strings.Cut(strings.TrimPrefix(name, "refs/"), "/")
	id, found := map[string]map[string]plumbing.Hash{"heads": r.branches, "tags": r.tags}[kind][short]
	return id, found
}

// Abbreviated returns the commits of a branch that begin with some digits.
func (r *Repository) Abbreviated(ctx context.Context, digits, branch string) ([]plumbing.Hash, error) {
	on, err := r.FindBranch(branch)
	if err != nil {
		return nil, err
	}
	graph, err := r.Trace(ctx, gitobject.Range{Tip: on.Commit}, true)
	if errors.Is(err, ErrNotAlone) {
		return nil, giterror.New(giterror.RuleCommitNotFound, "%s cannot look up the short SHA %s", r.At, digits).WithHint("use the full SHA of 40 digits")
	}
	found, _ := graph.Reach(on.Commit)
	return gitobject.WithPrefix(found, digits), err
}

// CommitAt fetches a commit with its trees, once. branch is a branch that has it, if known.
func (r *Repository) CommitAt(ctx context.Context, id plumbing.Hash, branch string) (gitobject.CommitObject, error) {
	return r.commits.Do(ctx, id, func() (gitobject.CommitObject, error) {
		err := error(&wire.ServerError{Text: "it accepts only the tips of branches"})
		if r.anyID || r.advertised[id] {
			tip := wanted{ids: []plumbing.Hash{id}, depth: packp.DepthCommits(1)}
			if r.anyID { // then files can be fetched by themselves
				tip.filter = packp.FilterBlobNone()
			}
			err = r.fetch(ctx, tip)
		}
		if refusedWant(err) {
			err = r.fetchHistory(ctx, id, branch)
		}
		if err != nil {
			return gitobject.CommitObject{}, r.explain(err)
		}
		commit, ok, err := r.store.commit(id)
		if err != nil {
			return gitobject.CommitObject{}, giterror.New(giterror.RuleInvalidRepository, "%s contains %v", r.At, err)
		}
		if !ok {
			return gitobject.CommitObject{}, r.noCommit(id, branch)
		}
		return commit, nil
	})
}

// refusedWant reports whether a server did not accept an id: servers send an error line or a side band, or close the
// connection.
func refusedWant(err error) bool {
	_, said := errors.AsType[*wire.ServerError](err)
	return said || errors.Is(err, io.ErrUnexpectedEOF)
}

func (r *Repository) noCommit(id plumbing.Hash, branch string) *giterror.Error {
	if branch == "" {
		return giterror.New(giterror.RuleCommitNotFound, "commit %s not found in %s", id, r.At)
	}
	return giterror.New(giterror.RuleCommitNotFound, "commit %s not found on branch %q of %s", id, branch, r.At)
}

// fetchHistory fetches a commit that the server does not send by its id, with the whole history of its branch. Servers
// that can filter send any commit.
func (r *Repository) fetchHistory(ctx context.Context, id plumbing.Hash, branch string) error {
	on, err := r.FindBranch(branch)
	if err != nil {
		return r.noCommit(id, on.Name)
	}
	return r.fetch(ctx, wanted{ids: []plumbing.Hash{on.Commit}})
}

// wantsPerRequest keeps a request below the 10 MB that git http-backend accepts.
const wantsPerRequest = 100_000

func (r *Repository) load(ctx context.Context, commit plumbing.Hash, ids []plumbing.Hash) error {
	missing, done := r.store.claim(ctx, ids)
	defer done()
	for chunk := range slices.Chunk(missing, wantsPerRequest) {
		err := r.fetch(ctx, wanted{ids: chunk})
		if refusedWant(err) {
			err = r.fetch(ctx, wanted{ids: []plumbing.Hash{commit}, depth: packp.DepthCommits(1)})
		}
		if err != nil {
			return r.explain(err)
		}
		r.store.giveUp(chunk)
	}
	return nil
}

func (r *Repository) fetch(ctx context.Context, w wanted) error {
	p, err := r.pack(ctx, r.request(w), plumbing.InvalidObject)
	if err == nil {
		r.store.add(p)
	}
	return err
}
