package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
)

// maxForeign is the maximum number of foreign commits that are examined. No pull request of kalypso is expected to
// have more.
const maxForeign = 100

// refuseForeign returns an error if head, a branch of repo, has foreign commits that were not accepted.
func (p proposal) refuseForeign(ctx context.Context, left *deployment, forge pullrequest.Forge, repo, head string) error {
	accepted, err := p.accepted(ctx, left, forge, head)
	if err == nil && !accepted {
		err = left.foreignError(repo, head)
	}
	left.foreign = nil
	return err
}

// accepted reports whether the foreign commits of a branch were accepted, so that overwriting them loses nothing. A
// squash or a rebase gives them other ids on the GitOps branch, so they count as accepted if the last pull request was
// merged with exactly this tip, or if the GitOps branch contains their changes. Commits that kalypso published for
// another environment are never accepted: with a wrong --branch, clusters may pull them.
//
// The error is an Error, or what forge returned.
func (p proposal) accepted(ctx context.Context, left *deployment, forge pullrequest.Forge, head string) (bool, error) {
	if slices.ContainsFunc(left.foreign, func(c foreignCommit) bool { return c.published }) {
		return false, nil
	}
	if forge != nil {
		last, err := forge.Last(ctx, head, p.branch)
		if err != nil {
			return false, fmt.Errorf("find the last pull request of %q: %w", head, err)
		}
		if last != nil && last.State == pullrequest.Merged && last.HeadCommit == left.tip.String() {
			return true, nil
		}
	}
	if left.base.IsZero() || len(left.foreign) > maxForeign {
		return false, nil
	}
	contained, err := p.contains(ctx, left)
	var known *giterror.Error
	switch {
	case err == nil:
		return contained, nil
	case !errors.As(err, &known):
		return false, giterror.New(giterror.RuleInvalidRepository, "cannot compare the commits of others on %q: %s", head, giterror.OneLine(err.Error()))
	case known.Rule == giterror.RuleCommitNotFound: // a shallow clone
		return false, nil
	}
	return false, err
}

// contains reports whether each file that a foreign commit changes is the same on the GitOps branch as on the branch,
// and differs there from the base of the branch. A file that equals the base proves nothing: a person may have reverted
// kalypso's change.
func (p proposal) contains(ctx context.Context, left *deployment) (bool, error) {
	differs, err := p.changed(ctx, left.tip, p.onto)
	if err != nil {
		return false, err
	}
	merged, err := p.changed(ctx, left.base, p.onto)
	if err != nil {
		return false, err
	}
	for _, c := range left.foreign {
		commit, err := p.repo.CommitAt(ctx, c.id, "")
		if err != nil || len(commit.Parents) == 0 {
			return false, err
		}
		theirs, err := p.changed(ctx, commit.Parents[0], c.id)
		if err != nil {
			return false, err
		}
		for path := range theirs {
			if differs[path] || !merged[path] {
				return false, nil
			}
		}
	}
	return true, nil
}

func (p proposal) changed(ctx context.Context, before, after plumbing.Hash) (map[string]bool, error) {
	var trees [2]plumbing.Hash
	for i, id := range []plumbing.Hash{before, after} {
		commit, err := p.repo.CommitAt(ctx, id, "")
		if err != nil {
			return nil, err
		}
		trees[i] = commit.Tree
	}
	diff, err := gitobject.DiffTrees(p.repo.TreesAt(after), trees[0], trees[1], gitobject.MaxWalk)
	if err != nil {
		return nil, err
	}
	return diff.Paths(), nil
}
