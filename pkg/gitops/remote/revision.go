package remote

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

var (
	// revisionForm matches a Git revision: a name and steps along first parents, such as "main~2^".
	revisionForm = regexp.MustCompile(`^([^~^]+)((?:\^|~[0-9]{0,4})*)$`)
	stepForm     = regexp.MustCompile(`[~^][0-9]*`)
)

// Commit returns the full id of the commit of ref.Revision. The error is an *Error.
func (r *Reader) Commit(ctx context.Context, ref model.Ref) (string, error) {
	r.Prepare([]model.Ref{ref})
	at, err := r.Locate(ref)
	if err == nil {
		err = at.Explain(r.useRevision(ctx, at, &ref))
	}
	return ref.Commit, r.Clean(err)
}

// useRevision makes a ref with a Revision one with a commit. The revision may be a branch, which the ref then names,
// HEAD, a tag, a remote-tracking branch of a clone, a full or short id, or an ancestor of one of them.
func (r *Reader) useRevision(ctx context.Context, at giturl.Location, ref *model.Ref) error {
	if ref.Revision == "" {
		return nil
	}
	repo, err := r.Repository(ctx, at, ref.Role)
	if err != nil {
		return err
	}
	if repo == nil { // a directory has subdirectorys for branches
		ref.Branch, ref.Commit = ref.Revision, ""
		return nil
	}
	id, err := r.commitOf(ctx, repo, ref.Revision, ref.Branch)
	if err != nil {
		return err
	}
	if _, is := repo.Branches()[ref.Revision]; is {
		ref.Branch = ref.Revision
	}
	ref.Commit = id.String()
	return nil
}

// commitOf returns the commit of a revision. branch is where short ids are looked up.
func (r *Reader) commitOf(ctx context.Context, repo Repository, revision, branch string) (plumbing.Hash, error) {
	peeled := strings.TrimSuffix(strings.TrimSuffix(revision, "^{}"), "^{commit}")
	parts := revisionForm.FindStringSubmatch(peeled)
	if parts == nil {
		return plumbing.ZeroHash, unknownRevision(repo, revision)
	}
	id, err := r.named(ctx, repo, parts[1], branch)
	generations := 0
	for _, step := range stepForm.FindAllString(parts[2], -1) {
		n, wrong := strconv.Atoi(step[1:])
		if wrong != nil {
			n = 1
		}
		generations += n
	}
	if err != nil || generations == 0 {
		return id, err
	}
	graph, err := repo.Recent(ctx, id, generations+1)
	line := graph.Line(id, generations)
	if err == nil && len(line) < generations {
		err = giterror.New(giterror.RuleCommitNotFound, "revision %q not found in %s: %.12s has %s", revision, repo, id,
			diag.Plural(len(line), "ancestor")).WithHint(repo.CutHint())
	}
	if err != nil {
		return id, err
	}
	return plumbing.NewHash(line[generations-1]), nil
}

// named returns the commit of a name without steps.
func (r *Reader) named(ctx context.Context, repo Repository, name, branch string) (plumbing.Hash, error) {
	if giturl.IsFullCommit(name) {
		return plumbing.NewHash(name), nil
	}
	if name == "@" {
		name = "HEAD"
	}
	if name != "HEAD" { // a clone may have origin/HEAD
		if found, err := r.snapshot.resolve(ctx, repo, name); err == nil && found.Upstream == "" {
			return found.Commit, nil
		} else if err == nil { // the local branch, as in git, and not the newer one of the two
			return repo.Branches()[name], nil
		}
	}
	if id, found := repo.Reference(name); found {
		return id, nil
	}
	if !giturl.IsCommit(name) {
		return plumbing.ZeroHash, unknownRevision(repo, name)
	}
	ids, err := repo.Abbreviated(ctx, strings.ToLower(name), branch)
	switch {
	case err != nil:
		return plumbing.ZeroHash, err
	case len(ids) > 1:
		return plumbing.ZeroHash, giterror.New(giterror.RuleCommitNotFound, "revision %q is ambiguous in %s: %s and %s", name, repo, ids[0], ids[1]).
			WithHint("use more digits")
	case len(ids) == 0:
		return plumbing.ZeroHash, giterror.New(giterror.RuleCommitNotFound, "revision %q not found in %s", name, repo).WithHint(repo.CutHint())
	}
	return ids[0], nil
}

func unknownRevision(repo Repository, name string) *giterror.Error {
	var branches []string
	for branch := range repo.Branches() {
		branches = append(branches, branch)
		if _, tracked := repo.Reference("origin/" + branch); tracked {
			branches = append(branches, "origin/"+branch)
		}
	}
	slices.Sort(branches)
	return giterror.New(giterror.RuleBranchNotFound, "revision %q not found in %s", name, repo).WithHint(diag.DidYouMean(name, branches))
}
