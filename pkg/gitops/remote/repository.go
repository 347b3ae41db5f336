package remote

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/local"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/server"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
)

// Repository is a git repository, on a server or on this machine.
type Repository interface {
	// ID is the same for all connections to one repository; String is its name in messages.
	ID() string
	String() string

	// Branches are the tips of the branches when the repository was opened, and FindBranch finds one of them; an empty
	// name is the default branch.
	Branches() map[string]plumbing.Hash
	FindBranch(name string) (gitobject.Branch, error)
	// Reference returns the commit of HEAD, of a tag or of a remote-tracking branch.
	Reference(name string) (plumbing.Hash, bool)
	// Abbreviated returns the commits that begin with some digits, at least those of a branch.
	Abbreviated(ctx context.Context, digits, branch string) ([]plumbing.Hash, error)
	// Tips reads the current tips of all branches, and TipNow that of one.
	Tips(ctx context.Context) (map[string]plumbing.Hash, error)
	TipNow(ctx context.Context, branch string) (plumbing.Hash, error)

	// CommitAt returns a commit, whose trees are then available from TreesAt. branch is a branch that has it, if known.
	CommitAt(ctx context.Context, id plumbing.Hash, branch string) (gitobject.CommitObject, error)
	TreesAt(id plumbing.Hash) gitobject.Store

	// Recent returns the commits from tip back, as many generations as given.
	Recent(ctx context.Context, tip plumbing.Hash, generations int) (gitobject.Graph, error)
	// Trace returns the commits of a range. With alone, the error is server.ErrNotAlone if the server cannot send commits
	// without files.
	Trace(ctx context.Context, of gitobject.Range, alone bool) (gitobject.Graph, error)
	// CutHint is the hint for a shallow history.
	CutHint() string

	// Sender connects for a push.
	Sender(ctx context.Context) (wire.Sender, error)
	// ExplainPush turns the failure of a push of branches into an Error.
	ExplainPush(err error, branches string) *giterror.Error
}

var (
	_ Repository = (*server.Repository)(nil)
	_ Repository = (*local.Repository)(nil)
)
