package promote

import (
	"context"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Promoter promotes commits in a control plane as it was read at one time. After remote.ErrMoved, read it anew.
type Promoter struct {
	Reader *remote.Reader
	Loader *source.Loader
	Chain  *Chain
	Reporting
	// Ancestry answers for git servers that cannot; nil if there is nothing to ask.
	Ancestry remote.Ancestry
	// Version is that of the program, for the commit.
	Version string

	history *remote.History
}

// Request is what is to be promoted.
type Request struct {
	Environment *model.Environment
	// Commit is a full id or the beginning of one; empty for the tip of the base branch.
	Commit string
	Overrides
	// Deployed are environments of which this run itself has found out that they have deployed the commit.
	Deployed []string
	// DryRun finds out what would be done, and does nothing.
	DryRun bool
	// PullRequest proposes the promotion instead of pushing it.
	PullRequest bool
	// Forge opens the pull request; nil if the control plane is on no forge that kalypso knows.
	Forge gitops.PullRequests
	// PullRequestOptions are what the command line says about the pull request.
	gitops.PullRequestOptions
	// Force overwrites what others committed to the branch of the pull request.
	Force bool
	// Author says who commits.
	Author func(context.Context) (gitobject.Identity, error)
	// Key signs the commit; nil for no signature.
	Key *gitobject.SigningKey
}

// Action says what became of a request.
type Action string

// What can become of a request.
const (
	// ActionPromoted: the environment has the commit now.
	ActionPromoted Action = "promoted"
	// ActionProposed: a pull request has it.
	ActionProposed Action = "proposed"
	// ActionDeclined: a person has closed the pull request for it.
	ActionDeclined Action = "declined"
	// ActionUnchanged: the environment had it already.
	ActionUnchanged Action = "unchanged"
	// ActionDispatched: a workflow was started that promotes it.
	ActionDispatched Action = "dispatched"
	// ActionWaiting: another environment before has not deployed it yet.
	ActionWaiting Action = "waiting"
	// ActionNotPromotable: the commit is a promotion itself, and nothing else; or a newer one waits in a pull request.
	ActionNotPromotable Action = "not-promotable"
	// ActionRefused: the diagnostics say why.
	ActionRefused Action = "refused"
)

// Outcome is what became of a request.
type Outcome struct {
	Environment string
	Action      Action
	// Commit is the promoted one, and From what the environment had before; empty if there was none.
	Commit, From string
	// DryRun says that nothing was done.
	DryRun bool
	// Newer says that the environment has something newer than the commit.
	Newer bool
	Written
	// Request is the pull request; nil if there is none.
	Request *gitops.SubmissionResult
	// Status is what was said on the commit; nil if nothing was.
	Status *Status
	Diags  diag.List
	// Notes are for people.
	Notes []string
}

// Written says where a promoted commit is written.
type Written struct {
	// Repo, Branch and File are where it belongs.
	Repo, Branch, File string
	// Pushed is the commit that writes it, and PushedTo the branch that got it; empty if nothing was pushed.
	Pushed, PushedTo string
}

// History returns the history of the base branch.
func (p *Promoter) History(ctx context.Context) (*remote.History, error) {
	if p.history != nil {
		return p.history, nil
	}
	history, err := p.Reader.History(ctx, p.Loader.Main().Ref, p.Ancestry)
	if err == nil {
		p.history = history
	}
	return history, err
}
