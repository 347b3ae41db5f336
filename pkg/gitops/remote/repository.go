package remote

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// Repository is a git repository, on a server or on this machine.
type Repository interface {
	pushable
	// Beyond returns the commits that are reachable from tip but not from another commit, which may be zero: the tip of a
	// branch.
	Beyond(ctx context.Context, tip, branch plumbing.Hash) (gitobject.Graph, error)
	// Recent returns the commits from tip back, as many generations as given.
	Recent(ctx context.Context, tip plumbing.Hash, generations int) (gitobject.Graph, error)
	// trace reads the history of a commit, as far as it is not known. Without force it is an errNotAlone if that means
	// to fetch more than commits.
	trace(ctx context.Context, of traced) (gitobject.Graph, error)
	// cutHint says what a person can do about a history that is cut off.
	cutHint() string
	// tipNow reads where a branch is now.
	tipNow(ctx context.Context, branch string) (plumbing.Hash, error)
	// CommitAt returns a commit whose trees can then be had from treesAt. branch is the one that it is said to be on, if
	// that is known.
	CommitAt(ctx context.Context, id plumbing.Hash, branch string) (gitobject.CommitObject, error)
	TreesAt(id plumbing.Hash) gitobject.Store
}

// traced is a commit whose history is wanted.
type traced struct {
	tip plumbing.Hash
	// known are commits whose history is known, and have is one of them; it may be zero.
	known gitobject.Graph
	have  plumbing.Hash
	force bool
}

// errNotAlone is a server that does not send commits without their files.
var errNotAlone = errors.New("it cannot send commits alone")
