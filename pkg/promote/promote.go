package promote

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Promoter promotes commits in a control plane as it was read at one time. After giterror.ErrConflict, read it anew.
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
	// Compile compiles the environment with a commit, given by its full id, and returns what it reports. It is called
	// before the promotion is written; nil does not compile.
	Compile func(ctx context.Context, commit string) diag.List
	// DryRun finds out what would be done, and does nothing.
	DryRun bool
	// PullRequest proposes the promotion instead of pushing it.
	PullRequest bool
	// Forge opens the pull request; nil if the control plane is not on a supported forge.
	Forge pullrequest.Forge
	// PullRequestOptions are what flags and the environment say about the pull request.
	PullRequestOptions pullrequest.Options
	// Force overwrites what others committed to the branch of the pull request.
	Force bool
	// Author returns the author of the commit.
	Author func(context.Context) (gitobject.Identity, error)
	// Key signs the commit; nil for no signature.
	Key *gitobject.SigningKey
}

// Action is the result of a request.
type Action string

// The results of requests.
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

// Outcome is the result of a request with its details.
type Outcome struct {
	Environment string `json:"environment"`
	Action      Action `json:"action"`
	// Commit is the promoted one, and From what the environment had before; empty if there was none.
	Commit string `json:"commit,omitempty"`
	From   string `json:"from,omitempty"`
	// Compiled says that the environment compiles with the commit; false if it was not compiled.
	Compiled bool `json:"compiled,omitempty"`
	// DryRun says that nothing was done.
	DryRun bool `json:"dryRun,omitempty"`
	// Newer is true if the environment has a newer commit.
	Newer bool `json:"-"`
	Written
	// Request is the pull request; nil if there is none.
	Request *pullrequest.Result `json:"-"`
	// Status is the status that was set on the commit; nil if none was.
	Status *Status   `json:"-"`
	Diags  diag.List `json:"-"`
	// Notes are for people.
	Notes []string `json:"-"`
}

// Written is where a promoted commit is written.
type Written struct {
	// Repo, Branch and File are where it belongs.
	Repo   string `json:"repo,omitempty"`
	Branch string `json:"branch,omitempty"`
	File   string `json:"file,omitempty"`
	// Pushed is the commit that writes it, and PushedTo the branch that got it; empty if nothing was pushed.
	Pushed   string `json:"pushed,omitempty"`
	PushedTo string `json:"-"`
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

// Revision is the commit that an environment has.
type Revision struct {
	// Commit is empty if the environment names none.
	Commit string
	// Relation is that of Commit seen from the commit that it is compared with.
	Relation gitobject.Relation
}

// contains reports whether a revision is the commit that it was compared with, or a newer one.
func (r Revision) contains() bool {
	return r.Relation == gitobject.Same || r.Relation == gitobject.Newer
}

// Revision compares what an environment has with a commit.
func (p *Promoter) Revision(ctx context.Context, environment *model.Environment, commit string) (Revision, error) {
	current, err := p.current(ctx, environment)
	switch {
	case err != nil || current == "":
		return Revision{Relation: gitobject.Unknown}, err
	case current == commit:
		return Revision{current, gitobject.Same}, nil
	}
	relation, err := p.Relation(ctx, commit, current)
	return Revision{current, relation}, err
}

// Reverted returns what an environment has instead of a commit that it had; the zero value if it has that commit or a
// newer one. Whether it had a commit that is not on the base branch is unknown, so that is the zero value too.
func (p *Promoter) Reverted(ctx context.Context, environment *model.Environment, commit string) (Revision, error) {
	now, err := p.Revision(ctx, environment, commit)
	if err != nil || now.Commit == "" || now.contains() {
		return Revision{}, err
	}
	history, err := p.History(ctx)
	if err != nil {
		return Revision{}, err
	}
	if has, err := history.Has(ctx, commit); err != nil || !has {
		return Revision{}, err
	}
	return now, nil
}

// RolledBack reports whether the last promotion to an environment was a rollback from a commit or a newer one. The branch
// of the environment reports it, where there are no statuses.
func (p *Promoter) RolledBack(ctx context.Context, environment *model.Environment, commit string) (bool, error) {
	branch, err := gitops.OpenBranch(ctx, p.Reader, source.PlatformRef(environment), "")
	if known, ok := errors.AsType[*giterror.Error](err); ok && known.Rule == giterror.RuleInvalidRepository {
		return false, nil // a plain directory: promoting to it is an error anyway
	}
	if err != nil {
		return false, err
	}
	from, err := branch.RolledBack(ctx, environment.Name.Value)
	if err != nil || from == "" || from == commit {
		return from != "", err
	}
	relation, err := p.Relation(ctx, commit, from)
	return relation == gitobject.Newer, err
}

// current returns the commit that an environment has; empty if it names none.
func (p *Promoter) current(ctx context.Context, environment *model.Environment) (string, error) {
	objects, diags := p.Loader.Platform(ctx, environment)
	if objects == nil {
		for _, d := range diags {
			if d.Severity == diag.Error {
				return "", errors.New(d.Message)
			}
		}
		return "", errors.New("it cannot be read")
	}
	i := slices.IndexFunc(objects.BaseRepos, func(base *model.BaseRepo) bool { return base.Name.Value == model.MainBase })
	if i < 0 {
		return "", nil
	}
	return strings.ToLower(objects.BaseRepos[i].Commit.Value), nil
}

// Relation returns the relation of b seen from a on the base branch, both full ids. If one of them is not there, the branch is read again:
// it may be newer than what was read.
func (p *Promoter) Relation(ctx context.Context, a, b string) (gitobject.Relation, error) {
	history, err := p.History(ctx)
	if err != nil {
		return gitobject.Unknown, err
	}
	relation, err := history.Relation(ctx, a, b)
	if err != nil || relation != gitobject.Unknown {
		return relation, err
	}
	if err := history.Refresh(ctx); err != nil {
		return gitobject.Unknown, err
	}
	return history.Relation(ctx, a, b)
}
