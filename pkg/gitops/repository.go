package gitops

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// repository is a git repository, on a server or on this machine.
type repository interface {
	pushable
	// beyond returns the commits that are reachable from tip but not from a branch; whole is false if there may be
	// more.
	beyond(ctx context.Context, tip plumbing.Hash, branch string) (found commitGraph, whole bool, err error)
	// recent returns the commits from tip back, as many generations as given.
	recent(ctx context.Context, tip plumbing.Hash, generations int) (commitGraph, error)
	// trace reads the history of a commit, as far as it is not known. Without force it is an errNotAlone if that means
	// to fetch more than commits.
	trace(ctx context.Context, of traced) (commitGraph, error)
	// cutHint says what a person can do about a history that is cut off.
	cutHint() string
	// tipNow reads where a branch is now.
	tipNow(ctx context.Context, branch string) (plumbing.Hash, error)
	// commitAt returns a commit whose trees can then be had from treesAt. branch is the one that it is said to be on, if
	// that is known.
	commitAt(ctx context.Context, id plumbing.Hash, branch string) (commitObject, error)
	treesAt(id plumbing.Hash) objects
}

// traced is a commit whose history is wanted.
type traced struct {
	tip plumbing.Hash
	// known are commits whose history is known, and have is one of them; it may be zero.
	known commitGraph
	have  plumbing.Hash
	force bool
}

// errNotAlone is a server that does not send commits without their files.
var errNotAlone = errors.New("it cannot send commits alone")

// repository opens a repository, once; it is nil for a plain folder.
func (c *connections) repository(ctx context.Context, at location, role model.Role) (repository, error) {
	if !at.address.local() {
		m, err := c.remote(ctx, at, role)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	opened, err := c.openAt(ctx, at)
	if err != nil || opened.folder != nil {
		return nil, err
	}
	return opened.repo, nil
}

// resolve opens a repository and finds a branch, which stays at that commit; an empty one is the default branch. repo
// is nil for a plain folder.
func (c *connections) resolve(ctx context.Context, at location, ref model.Ref) (repo repository, tip plumbing.Hash, branch string, err error) {
	repo, err = c.repository(ctx, at, ref.Role)
	if err != nil {
		return nil, tip, "", err
	}
	switch opened := repo.(type) {
	case *remote:
		tip, branch, err = c.remoteTip(ctx, at, ref)
	case *localRepo:
		var found localBranch
		found, err = opened.branch(ref.Branch)
		tip, branch = found.commit, found.name
	}
	return repo, tip, branch, err
}

func noHistory(at location) *Error {
	return problem(RuleInvalidRepository, "%s is a plain folder, which has no history", at).hint("give a clone or a bare repository")
}
