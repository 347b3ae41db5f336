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
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

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
		return false, nil // a plain folder: promoting to it is an error anyway
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
