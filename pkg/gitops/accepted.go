package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// mostForeign is how many commits of others are looked at. Nobody adds so many to a pull request of ours.
const mostForeign = 100

// refuseForeign refuses to overwrite the foreign commits of head, a branch of repo. Those that were accepted are none.
func (p proposal) refuseForeign(ctx context.Context, left *deployment, forge PullRequests, repo, head string) error {
	accepted, err := p.accepted(ctx, left, forge, head)
	if err == nil && !accepted {
		err = left.foreignError(repo, head)
	}
	left.foreign = nil
	return err
}

// accepted reports whether the foreign commits of a branch were accepted, so that nothing is lost if they are overwritten.
// A squash or a rebase gives them other ids on the GitOps branch. A merged pull request whose head is the very tip proves
// it, and so does a GitOps branch that contains their changes. Those of another environment never are: with a wrong --branch,
// clusters may pull them.
//
// The error is an Error, or what forge returned.
func (p proposal) accepted(ctx context.Context, left *deployment, forge PullRequests, head string) (bool, error) {
	if slices.ContainsFunc(left.foreign, func(c foreignCommit) bool { return c.published }) {
		return false, nil
	}
	if forge != nil {
		last, err := forge.Last(ctx, head, p.branch)
		if err != nil {
			return false, fmt.Errorf("find the last pull request of %q: %w", head, err)
		}
		if last != nil && last.State == PullRequestMerged && last.HeadCommit == left.tip.String() {
			return true, nil
		}
	}
	if !left.whole || left.base.IsZero() || len(left.foreign) > mostForeign {
		return false, nil
	}
	contained, err := p.contains(ctx, left)
	var known *Error
	switch {
	case err == nil:
		return contained, nil
	case !errors.As(err, &known):
		return false, problem(RuleInvalidRepository, "cannot compare the commits of others on %q: %s", head, oneLine(err.Error()))
	case known.Rule == RuleCommitNotFound: // a shallow clone
		return false, nil
	}
	return false, err
}

// contains reports whether the GitOps branch has each file that a foreign commit changes as the branch has it, and got it
// since the branch was made. A file that is as it was before proves nothing: a person may have taken our change back.
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
		commit, err := p.repo.commitAt(ctx, c.id)
		if err != nil || len(commit.parents) == 0 {
			return false, err
		}
		theirs, err := p.changed(ctx, commit.parents[0], c.id)
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

// changed are the paths of the files that differ between two commits.
func (p proposal) changed(ctx context.Context, before, after plumbing.Hash) (map[string]bool, error) {
	var trees [2]plumbing.Hash
	for i, id := range []plumbing.Hash{before, after} {
		commit, err := p.repo.commitAt(ctx, id)
		if err != nil {
			return nil, err
		}
		trees[i] = commit.tree
	}
	diff := treeDiff{trees: newTreeWriter(p.repo.treesAt(after)), most: maxWalk}
	if err := diff.compare(trees[0], trees[1], ".", 0); err != nil {
		return nil, err
	}
	paths := map[string]bool{}
	for _, f := range diff.files {
		paths[f.path] = true
	}
	return paths, nil
}
