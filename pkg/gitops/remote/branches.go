package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/local"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/server"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// snapshot has the commits of the branches that a run has read.
type snapshot struct {
	mu       sync.Mutex
	branches map[branchKey]gitobject.Branch
	// recorded are the repositories of Snapshot.
	recorded []Repository
}

type branchKey struct{ repo, branch string }

// resolve finds a branch, once: later changes of it are ignored.
func (s *snapshot) resolve(ctx context.Context, repo Repository, name string) (gitobject.Branch, error) {
	found, err := repo.FindBranch(name)
	if err != nil {
		return gitobject.Branch{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := branchKey{repo.ID(), found.Name}
	if known, ok := s.branches[key]; ok {
		return known, nil
	}
	if clone, ok := repo.(*local.Repository); ok {
		if found, err = clone.Newest(ctx, found); err != nil {
			return gitobject.Branch{}, err
		}
	}
	s.branches[key] = found
	return found, nil
}

// moved records a branch that this run has changed.
func (s *snapshot) moved(repo Repository, u RefUpdate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := branchKey{repo.ID(), u.Branch}
	if known, ok := s.branches[key]; ok {
		known.Commit = u.New
		s.branches[key] = known
	}
}

// resolve opens a repository and finds a branch; an empty name is the default branch. repo is nil for a plain directory.
func (r *Reader) resolve(ctx context.Context, at giturl.Location, ref model.Ref) (repo Repository, branch gitobject.Branch, err error) {
	repo, err = r.Repository(ctx, at, ref.Role)
	if err == nil && repo != nil {
		branch, err = r.snapshot.resolve(ctx, repo, ref.Branch)
	}
	return repo, branch, err
}

// Tip returns the commit that a ref's branch points to, as 40 hexadecimal digits; it is empty for a
// plain directory. The ref's Commit is ignored. The error is an *Error.
func (r *Reader) Tip(ctx context.Context, ref model.Ref) (string, error) {
	r.Prepare([]model.Ref{ref})
	at, err := r.Locate(ref)
	if err != nil {
		return "", r.Clean(err)
	}
	repo, branch, err := r.resolve(ctx, at, ref)
	if err != nil || repo == nil {
		return "", r.Clean(at.Explain(err))
	}
	return branch.Commit.String(), nil
}

// Pushed returns the newest commit of a ref's branch that its remote has, as a Git revision, and whether a local clone
// has newer ones. Of anything but a clone that is the branch itself. The error is an *Error.
func (r *Reader) Pushed(ctx context.Context, ref model.Ref) (revision string, ahead bool, err error) {
	at, err := r.Locate(ref)
	if err != nil {
		return "", false, r.Clean(err)
	}
	_, branch, err := r.resolve(ctx, at, ref)
	switch {
	case err != nil:
		return "", false, r.Clean(at.Explain(err))
	case branch.Ahead == 0:
		return ref.Branch, false, nil
	case branch.Behind == 0:
		return branch.Upstream, true, nil
	default:
		return branch.Base.String(), true, nil
	}
}

// CurrentBranch is the current state of a branch, even if an older one was read before.
type CurrentBranch struct {
	// Repository is nil for a plain directory.
	Repository Repository
	Name       string
	Tip        plumbing.Hash
	// Tips are the commits of all branches, by name.
	Tips map[string]plumbing.Hash
	// Clone is true for a clone with a work tree on this machine; Origin is the URL of its remote origin, without
	// credentials, or empty.
	Clone  bool
	Origin string
}

// CurrentBranch reads the current state of a branch; an empty name is the default one.
func (r *Reader) CurrentBranch(ctx context.Context, at giturl.Location, role model.Role, name string) (now CurrentBranch, err error) {
	if at.Address.Local() {
		return r.currentLocal(ctx, at, name)
	}
	repo, err := r.server(ctx, at, role, true)
	if err != nil {
		return now, err
	}
	branch, err := repo.FindBranch(name)
	return CurrentBranch{Repository: repo, Name: branch.Name, Tip: branch.Commit, Tips: repo.Branches()}, err
}

func (r *Reader) currentLocal(ctx context.Context, at giturl.Location, name string) (CurrentBranch, error) {
	found, err := r.openAt(ctx, at)
	if err != nil || found.directory != nil {
		return CurrentBranch{}, err
	}
	branch, tips, err := found.repo.FindBranchNow(name)
	if err != nil {
		return CurrentBranch{}, err
	}
	if branch.Remote != "" {
		return CurrentBranch{}, giterror.New(giterror.RuleBranchNotFound, "%s has no local branch %q, only %s/%s", found.repo, branch.Name, branch.Remote, branch.Name).
			WithHint("--control-plane " + cmp.Or(found.repo.RemoteURL(branch.Remote), "URL") + " uses the repository that it was cloned from")
	}
	return CurrentBranch{
		Repository: found.repo, Name: branch.Name, Tip: branch.Commit, Tips: tips,
		Clone: found.repo.WorkTree != "", Origin: found.repo.RemoteURL("origin"),
	}, nil
}

// Push executes an order. The error wraps giterror.ErrConflict if a branch has changed, and is an Error otherwise. The
// outcome of a failed push is determined by reading the branches: the messages of servers differ, and an answer may be lost.
func (r *Reader) Push(ctx context.Context, to Repository, order PushOrder) error {
	if err := push(ctx, r.net, to, order); err != nil {
		return r.Clean(err)
	}
	for _, u := range order.Updates {
		r.snapshot.moved(to, u)
	}
	return nil
}

// listed are the repositories that the run has opened so far.
func (r *Reader) listed() []Repository {
	var all []Repository
	for _, repo := range r.servers.Values() {
		all = append(all, repo)
	}
	for _, found := range r.locals.Values() {
		if found.repo != nil {
			all = append(all, found.repo)
		}
	}
	return all
}

// Snapshot records the repositories that were listed so far: the run may have read older states of them than are published.
func (r *Reader) Snapshot() {
	noted := r.listed()
	r.snapshot.mu.Lock()
	defer r.snapshot.mu.Unlock()
	r.snapshot.recorded = noted
}

// VerifySnapshot lists the repositories of Snapshot again, which were read before the destinations were opened. The error
// wraps giterror.ErrConflict if a branch that the run has read has changed. Otherwise, reading it after the destinations
// would have had the same result.
func (r *Reader) VerifySnapshot(ctx context.Context) error {
	r.snapshot.mu.Lock()
	noted := r.snapshot.recorded
	r.snapshot.mu.Unlock()
	return r.verify(ctx, noted)
}

// VerifyAll lists all repositories again that the run has read. The error wraps giterror.ErrConflict if a branch of them
// has changed.
func (r *Reader) VerifyAll(ctx context.Context) error { return r.verify(ctx, r.listed()) }

func (r *Reader) verify(ctx context.Context, noted []Repository) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var work errgroup.Group
	var mu sync.Mutex
	var unread, moved error
	for _, repo := range noted {
		if s, ok := repo.(*server.Repository); ok && s.IsUnused() {
			continue // the output does not depend on it
		}
		work.Go(func() error {
			err := r.snapshot.verify(ctx, repo)
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, giterror.ErrConflict) { // takes precedence over sources that cannot be read
				moved = err
				stop()
			} else if err != nil && unread == nil {
				unread = err
			}
			return nil
		})
	}
	_ = work.Wait() // no function returns an error
	return r.Clean(cmp.Or(moved, unread))
}

// verify returns giterror.ErrConflict if a resolved branch of a repository has changed.
func (s *snapshot) verify(ctx context.Context, repo Repository) error {
	tips, err := repo.Tips(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, known := range s.branches {
		if key.repo == repo.ID() && known.Remote == "" && tips[key.branch] != known.Commit {
			return fmt.Errorf("%s: branch %q: %w", repo, key.branch, giterror.ErrConflict)
		}
	}
	return nil
}
