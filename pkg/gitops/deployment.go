package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
)

// deployment is what the deployment branch holds before a run: nothing, or what an earlier run left.
type deployment struct {
	// tip is zero if there is no such branch.
	tip plumbing.Hash
	gitobject.CommitObject
	// base is the commit of the GitOps branch that it was made from, or that was merged into it last.
	// It is zero if that is not known.
	base plumbing.Hash
	// merged says that the GitOps branch has all of it.
	merged bool
	// ours is the newest commit of ours.
	ours gitobject.CommitObject
	// environment is the one that is published. What was published of another one is somebody else's.
	environment string
	// foreign are the commits on it that are somebody else's.
	foreign []foreignCommit
}

type foreignCommit struct {
	id              plumbing.Hash
	author, subject string
	// published says that kalypso made the commit, for another environment.
	published bool
}

// proposal is a branch and the one that a pull request into it is from.
type proposal struct {
	repo remote.Repository
	// branch is where the pull request goes, and onto its tip; zero if there is no such branch.
	branch string
	onto   plumbing.Hash
	// head is the tip of the branch that it is from; zero if there is none.
	head plumbing.Hash
}

// examine finds out what is on the deployment branch. environment is whose branch it is.
func (d *Destination) examine(ctx context.Context, environment string) (deployment, error) {
	return d.proposal().examine(ctx, environment)
}

func (d *Destination) proposal() proposal {
	return proposal{d.repo, d.Branch, d.onto(), d.tips[d.Head]}
}

// examine finds out what is on the branch that a pull request is from.
func (p proposal) examine(ctx context.Context, environment string) (deployment, error) {
	left := deployment{tip: p.head, environment: environment}
	if left.tip.IsZero() {
		return left, nil
	}
	newest, err := p.repo.Recent(ctx, left.tip, 1)
	if err != nil {
		return left, err
	}
	left.CommitObject = newest[left.tip]
	if left.isOurs(left.CommitObject) && slices.Equal(left.Parents, []plumbing.Hash{p.onto}) {
		left.ours, left.base = left.CommitObject, p.onto
		return left, nil
	}
	beyond, err := p.repo.Trace(ctx, gitobject.Range{Tip: left.tip, Since: p.onto}, false)
	if err != nil {
		return left, err
	}
	if len(beyond) == 0 {
		left.merged, left.base = true, left.tip
		return left, nil
	}
	return left, left.walk(ctx, p.repo, beyond)
}

// walk goes through the commits that the GitOps branch does not have, the oldest first. Those that are
// not ours are foreign, unless they only merge the GitOps branch.
func (d *deployment) walk(ctx context.Context, repo remote.Repository, beyond gitobject.Graph) error {
	var line []plumbing.Hash // from the tip back along the first parents
	for at := d.tip; ; {
		commit, known := beyond[at]
		if !known {
			d.base = at
			break
		}
		line = append(line, at)
		if len(commit.Parents) == 0 {
			break
		}
		at = commit.Parents[0]
	}
	known := map[plumbing.Hash]bool{}
	for _, id := range slices.Backward(line) {
		commit := beyond[id]
		known[id] = true
		if d.isOurs(commit) {
			d.ours = commit
			continue
		}
		merges, err := d.onlyMerges(ctx, repo, commit, beyond)
		if err != nil {
			return err
		}
		if !merges {
			d.foreign = append(d.foreign, newForeign(id, commit))
			continue
		}
		d.base = commit.Parents[1]
	}
	for id, commit := range beyond {
		if !known[id] { // another line, that was merged
			d.foreign = append(d.foreign, newForeign(id, commit))
		}
	}
	slices.SortFunc(d.foreign, func(a, b foreignCommit) int { return strings.Compare(a.id.String(), b.id.String()) })
	return nil
}

// onlyMerges reports whether a commit merges the GitOps branch and adds nothing, as the button "Update
// branch" does.
func (d *deployment) onlyMerges(ctx context.Context, repo remote.Repository, merge gitobject.CommitObject, beyond gitobject.Graph) (bool, error) {
	if len(merge.Parents) != 2 || d.base.IsZero() {
		return false, nil
	}
	if _, foreign := beyond[merge.Parents[1]]; foreign {
		return false, nil
	}
	tree, clean, err := mergeCommits(ctx, repo, d.base, merge.Parents[0], merge.Parents[1])
	return clean && tree == merge.Tree, err
}

// mergeCommits returns the tree that the merge of two commits has, if none of their files have both
// changed since base.
func mergeCommits(ctx context.Context, repo remote.Repository, base, ours, theirs plumbing.Hash) (tree plumbing.Hash, clean bool, err error) {
	var trees [3]plumbing.Hash
	for i, id := range []plumbing.Hash{base, ours, theirs} {
		commit, err := repo.CommitAt(ctx, id, "")
		if err != nil {
			return plumbing.ZeroHash, false, err
		}
		trees[i] = commit.Tree
	}
	return gitobject.MergeTrees(repo.TreesAt(ours), trees[0], trees[1], trees[2])
}

// givesAlready reports whether merging the branch as it stands into onto gives a tree.
func (d *deployment) givesAlready(ctx context.Context, repo remote.Repository, onto, tree plumbing.Hash) (bool, error) {
	switch {
	case d.tip.IsZero() || d.merged || len(d.foreign) > 0 || d.base.IsZero():
		return false, nil
	case d.base == onto:
		return d.Tree == tree, nil
	}
	merged, clean, err := mergeCommits(ctx, repo, d.base, d.tip, onto)
	return clean && merged == tree, err
}

func newForeign(id plumbing.Hash, commit gitobject.CommitObject) foreignCommit {
	subject, _, _ := strings.Cut(commit.Message, "\n")
	_, published := message.ParseTrailers(commit.Message)
	return foreignCommit{id, giterror.OneLine(commit.Author), giterror.OneLine(subject), published}
}

// isOurs reports whether a commit carries our trailers, and not those of another environment: with the wrong
// --branch, the branch that production pulls would be one of which everything is ours to replace.
func (d *deployment) isOurs(commit gitobject.CommitObject) bool {
	made, ours := message.ParseTrailers(commit.Message)
	return ours && (made.Environment == "" || made.Environment == d.environment)
}

// foreignError lists the commits that a run would throw away.
func (d *deployment) foreignError(repo, branch string) *giterror.Error {
	var names []string
	for _, c := range d.foreign {
		names = append(names, fmt.Sprintf("%.12s %q by %s", c.id, c.subject, c.author))
	}
	return giterror.New(RuleForeignCommits, "%s has commits on branch %q that kalypso did not make for this environment: %s", repo, branch, remote.SomeFiles(names)).
		WithHint("merge them, move them to another branch, or let them be overwritten with --force")
}

// RuleForeignCommits is a deployment branch with commits on it that are not ours.
const RuleForeignCommits = "foreign-commits"
