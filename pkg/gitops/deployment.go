package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// deployment is the state of the deployment branch before a run.
type deployment struct {
	// tip is zero if there is no such branch.
	tip plumbing.Hash
	gitobject.CommitObject
	// base is the commit of the GitOps branch from which it was created, or which was merged into it last. It is zero if
	// unknown.
	base plumbing.Hash
	// merged is true if the GitOps branch has all its commits.
	merged bool
	// ours is the newest commit of kalypso.
	ours gitobject.CommitObject
	// environment is the published environment. Commits for other environments count as foreign.
	environment string
	// foreign are the commits of others.
	foreign []foreignCommit
}

type foreignCommit struct {
	id              plumbing.Hash
	author, subject string
	// published is true if kalypso made the commit for another environment.
	published bool
}

type proposal struct {
	repo remote.Repository
	// branch is the base branch, and onto its tip; zero if there is no such branch.
	branch string
	onto   plumbing.Hash
	// head is the tip of the head branch; zero if there is no such branch.
	head plumbing.Hash
}

func (d *Destination) proposal() proposal {
	return proposal{d.repo, d.Branch, d.onto(), d.tips[d.Head]}
}

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

// walk classifies the commits that the GitOps branch does not have, the oldest first. Those that kalypso did not make for
// the environment are foreign, unless they only merge the GitOps branch.
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
		if !known[id] { // on a branch that was merged
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

// mergeCommits returns the tree of the merge of two commits; clean is false if both changed the same file since base.
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

// givesAlready reports whether merging the branch into onto results in tree. With a key, an unsigned commit does not count.
func (d *deployment) givesAlready(ctx context.Context, repo remote.Repository, onto, tree plumbing.Hash, key *gitobject.SigningKey) (bool, error) {
	switch {
	case key != nil && !d.ours.Signed:
		return false, nil
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

// isOurs reports whether a commit has the trailers of kalypso and of the environment. Otherwise the wrong --branch could
// overwrite the branch that production pulls.
func (d *deployment) isOurs(commit gitobject.CommitObject) bool {
	made, ours := message.ParseTrailers(commit.Message)
	return ours && (made.Environment == "" || made.Environment == d.environment)
}

func (d *deployment) foreignError(repo, branch string) *giterror.Error {
	var names []string
	for _, c := range d.foreign {
		names = append(names, fmt.Sprintf("%.12s %q by %s", c.id, c.subject, c.author))
	}
	return giterror.New(RuleForeignCommits, "%s has commits on branch %q that kalypso did not make for this environment: %s", repo, branch, remote.SomeFiles(names)).
		WithHint("merge them, move them to another branch, or overwrite them with --force")
}

// RuleForeignCommits is a deployment branch with commits of others.
const RuleForeignCommits = "foreign-commits"

// Latest is the newest output of kalypso for a destination, unchanged since then.
type Latest struct {
	message.Provenance
	Commit string
	// Tree is the id of its tree.
	Tree string
	// Plan is the plan in the message of the commit; zero if unknown.
	Plan change.Plan
	// Proposed is true if it is on the deployment branch, to be merged. Otherwise it is published.
	Proposed bool
	// Signed is true if the commit has a signature.
	Signed bool
}

// Latest returns the newest output for a destination, from commits alone. It returns nil if that is uncertain: the
// branches have other content, or none of kalypso.
func (d *Destination) Latest(ctx context.Context) (*Latest, error) {
	if d.repo == nil || d.onto().IsZero() {
		return nil, nil
	}
	if tip := d.tips[d.Head]; !tip.IsZero() {
		found, err := d.repo.Recent(ctx, tip, 1)
		if err != nil {
			return nil, d.reader.Clean(err)
		}
		commit := found[tip]
		if made, ours := message.ParseTrailers(commit.Message); ours && slices.Equal(commit.Parents, []plumbing.Hash{d.onto()}) {
			return newLatest(made, tip, commit, true), nil
		}
	}
	found, err := d.repo.Recent(ctx, d.onto(), 2)
	if err != nil {
		return nil, d.reader.Clean(err)
	}
	published := found[d.onto()]
	for _, id := range append([]plumbing.Hash{d.onto()}, published.Parents...) {
		commit, known := found[id]
		if made, ours := message.ParseTrailers(commit.Message); known && ours && commit.Tree == published.Tree {
			return newLatest(made, id, commit, false), nil
		}
	}
	return nil, nil
}

// Settled reports whether nothing is left to do for the latest output of a destination, given the open pull requests
// into its branch: there is one with all options for a proposed output, or none of kalypso for a published one. A run can
// be stopped between any two requests, so the effect of each is checked. It returns the open pull request.
func (d *Destination) Settled(latest Latest, options pullrequest.Options, open []pullrequest.Request) (current *pullrequest.Request, ok bool) {
	return pullrequest.Settled(pullrequest.Submission{
		Environment: latest.Environment, Path: giturl.CleanPath(d.Repo.Path.Value), Head: d.Head,
		HeadCommit: latest.Commit, Tree: latest.Tree, Options: options,
	}, latest.Proposed, open)
}

func newLatest(made message.Provenance, id plumbing.Hash, commit gitobject.CommitObject, proposed bool) *Latest {
	_, body, _ := strings.Cut(commit.Message, "\n\n")
	line, _, _ := strings.Cut(body, "\n")
	plan, _ := change.ParsePlan(line)
	return &Latest{made, id.String(), commit.Tree.String(), plan, proposed, commit.Signed}
}

// SourcesUnchanged reports whether an environment would be compiled from the same sources as all given outputs. Sources
// that cannot be determined count as changed.
func SourcesUnchanged(ctx context.Context, l *source.Loader, environment *model.Environment, made ...message.Provenance) bool {
	now, known := l.CurrentOrigins(ctx, environment)
	differs := func(p message.Provenance) bool {
		return p.Environment != environment.Name.Value || !slices.Equal(now, source.SortedOrigins(p.CompiledFrom()))
	}
	return known && !slices.ContainsFunc(now, func(o source.Origin) bool { return o.Commit == "" }) && !slices.ContainsFunc(made, differs)
}
