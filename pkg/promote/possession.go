package promote

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Possession is what an environment has, compared with a commit.
type Possession int

// The possessions.
const (
	// HasOlder: something older, something else, or nothing.
	HasOlder Possession = iota
	// HasIt: the commit.
	HasIt
	// HasNewer: a newer one that contains it.
	HasNewer
)

// Has tells whether an environment has a commit, or something newer.
func (p *Promoter) Has(ctx context.Context, environment *model.Environment, commit string) (Possession, error) {
	current, err := p.current(ctx, environment)
	if err != nil || current == "" {
		return HasOlder, err
	}
	if current == commit {
		return HasIt, nil
	}
	relation, err := p.Relation(ctx, commit, current)
	if err == nil && relation == gitops.Newer {
		return HasNewer, nil
	}
	return HasOlder, err
}

// TakenBack is what an environment has instead of a commit that it had.
type TakenBack struct {
	// To is neither that commit nor a newer one that contains it; empty if the environment still has it.
	To string
	// Older says that To is older; otherwise it is of another line of history.
	Older bool
}

// TakenBack tells whether an environment that had a commit has something else by now. Of a commit that is not on the base
// branch nobody can say that the environment had it.
func (p *Promoter) TakenBack(ctx context.Context, environment *model.Environment, commit string) (TakenBack, error) {
	current, err := p.current(ctx, environment)
	if err != nil || current == "" || current == commit {
		return TakenBack{}, err
	}
	relation, err := p.Relation(ctx, commit, current)
	if err != nil || relation == gitops.Newer {
		return TakenBack{}, err
	}
	history, err := p.History(ctx)
	if err != nil {
		return TakenBack{}, err
	}
	if has, err := history.Has(ctx, commit); err != nil || !has {
		return TakenBack{}, err
	}
	return TakenBack{To: current, Older: relation == gitops.Older}, nil
}

// RolledBack tells whether the last promotion to an environment has taken it back from a commit, or from a newer one. The
// branch of the environment says so, where no status can.
func (p *Promoter) RolledBack(ctx context.Context, environment *model.Environment, commit string) (bool, error) {
	branch, err := gitops.OpenBranch(ctx, p.Reader, gitops.PlatformRef(environment), "")
	var known *giterror.Error
	if errors.As(err, &known) && known.Rule == giterror.RuleInvalidRepository {
		return false, nil // a plain folder: nothing can be promoted there, and whoever tries is told
	}
	if err != nil {
		return false, err
	}
	from, err := branch.RolledBack(ctx, environment.Name.Value)
	if err != nil || from == "" || from == commit {
		return from != "", err
	}
	relation, err := p.Relation(ctx, commit, from)
	return relation == gitops.Newer, err
}

// current is the commit that an environment has; empty if it names none.
func (p *Promoter) current(ctx context.Context, environment *model.Environment) (string, error) {
	objects, diags := p.Loader.Platform(ctx, environment)
	if objects == nil {
		return "", &Unread{diags}
	}
	i := slices.IndexFunc(objects.BaseRepos, func(base *model.BaseRepo) bool { return base.Name.Value == model.MainBase })
	if i < 0 {
		return "", nil
	}
	return strings.ToLower(objects.BaseRepos[i].Commit.Value), nil
}

// Relation says how b stands to a on the base branch, both full ids. If one of them is not there the branch is read anew:
// it may be newer than what was read.
func (p *Promoter) Relation(ctx context.Context, a, b string) (gitops.Relation, error) {
	history, err := p.History(ctx)
	if err != nil {
		return gitops.Unknown, err
	}
	relation, err := history.Relation(ctx, a, b)
	if err != nil || relation != gitops.Unknown {
		return relation, err
	}
	if err := history.Refresh(ctx); err != nil {
		return gitops.Unknown, err
	}
	return history.Relation(ctx, a, b)
}

// Unread is a branch that could not be read, with the reasons.
type Unread struct{ diag.List }

func (e *Unread) Error() string {
	for _, d := range e.List {
		if d.Severity == diag.Error {
			return d.Message
		}
	}
	return "it cannot be read"
}
