package promote

import (
	"context"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
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
	objects, diags := p.Loader.Platform(ctx, environment)
	if objects == nil {
		return HasOlder, &Unread{diags}
	}
	i := slices.IndexFunc(objects.BaseRepos, func(base *model.BaseRepo) bool { return base.Name.Value == model.MainBase })
	if i < 0 || objects.BaseRepos[i].Commit.Value == "" {
		return HasOlder, nil
	}
	current := strings.ToLower(objects.BaseRepos[i].Commit.Value)
	if current == commit {
		return HasIt, nil
	}
	relation, err := p.Relation(ctx, commit, current)
	if err == nil && relation == gitops.Newer {
		return HasNewer, nil
	}
	return HasOlder, err
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
