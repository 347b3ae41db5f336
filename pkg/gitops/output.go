package gitops

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Output is the published output in a GitOps repository.
type Output struct {
	Repo *model.GitOpsRepo
	// Tree is the directory of the output at the tip of the branch; nil if it cannot be read, with the reasons in Diags.
	Tree fs.FS
	// Root is the whole tree that contains Tree.
	Root fs.FS
	// New is true if Tree is nil because the branch or local directory does not exist yet. Otherwise, a nil Tree means
	// that the published output is unknown.
	New bool
	// Commit is the tip; empty for a plain directory.
	Commit string
	Diags  diag.List
}

// ReadOutputs reads the GitOps branches of a fleet.
func ReadOutputs(ctx context.Context, r *remote.Reader, fleet *model.Fleet) []Output {
	outputs := make([]Output, len(fleet.GitOpsRepos))
	for i, repo := range fleet.GitOpsRepos {
		outputs[i] = ReadOutput(ctx, r, repo)
	}
	return outputs
}

// ReadOutput reads one GitOps branch.
func ReadOutput(ctx context.Context, r *remote.Reader, repo *model.GitOpsRepo) Output {
	output := Output{Repo: repo}
	ref := source.OutputRef(repo)
	source, err := r.ReadOne(ctx, ref, &output.Diags)
	if err != nil {
		giterror.AddTo(&output.Diags, ref, err)
		output.New = isNew(err)
		return output
	}
	output.Commit, output.Root = source.Commit, source.FS
	output.Tree = below(source.FS, giturl.CleanPath(repo.Path.Value))
	return output
}

// isNew reports whether an error means that the output does not exist, rather than that it cannot be read.
func isNew(err error) bool {
	var e *giterror.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Rule == giterror.RuleBranchNotFound || e.Rule == giterror.RuleInvalidRepository && errors.Is(e, fs.ErrNotExist)
}

// OutputDirectory returns the directory of a GitOpsRepo, "." for the root.
func OutputDirectory(repo *model.GitOpsRepo) string { return giturl.CleanPath(repo.Path.Value) }

// below returns a directory of a tree. One that does not exist yet is empty.
func below(tree fs.FS, directory string) fs.FS {
	if directory == "." {
		return tree
	}
	info, err := fs.Stat(tree, directory)
	if err == nil && !info.IsDir() {
		err = errors.New("the path of the GitOpsRepo is not a directory")
	}
	if err != nil {
		return brokenFS{err}
	}
	sub, err := fs.Sub(tree, directory)
	if err != nil {
		return brokenFS{err}
	}
	return sub
}

// brokenFS returns an error for every operation.
type brokenFS struct{ err error }

func (b brokenFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: b.err}
}

// Destination is a snapshot of a GitOps branch that is published to.
type Destination struct {
	// Repo is its GitOpsRepo.
	Repo *model.GitOpsRepo
	// At is the actual location of the repository in normal form, after replacements.
	At string
	// Branch is the GitOps branch, Head the pushed branch, which is the head of the pull request.
	Branch, Head string
	// Diags are the reasons why it could not be opened.
	Diags diag.List

	reader *remote.Reader
	repo   remote.Repository
	// tips are the commits of the branches, which are read before the sources of a publication.
	tips map[string]plumbing.Hash
}

// OpenDestinations reads the tips of the GitOps branches of an environment, and of their deployment branches. They must
// be read before the sources: then a push with these tips as old values cannot replace the output of newer sources. head
// is the name of the deployment branch; empty for the default.
func OpenDestinations(ctx context.Context, l *source.Loader, environment *model.Environment, head string) []*Destination {
	platform, _ := l.Platform(ctx, environment)
	if platform == nil {
		return nil // Fleet reports why
	}
	var opened []*Destination
	for _, repo := range platform.GitOpsRepos {
		if !repo.Broken {
			opened = append(opened, openDestination(ctx, l.Reader, repo, head))
		}
	}
	refuseShared(opened)
	l.Reader.Snapshot()
	return opened
}

// ruleDeploymentBranch is a deployment branch that is in use for something else.
const ruleDeploymentBranch = "deployment-branch"

// refuseShared reports destinations with the same head branch: in every run, the last would replace the others.
func refuseShared(destinations []*Destination) {
	for i, d := range destinations {
		for _, first := range destinations[:i] {
			if d.At != first.At || d.Head != first.Head || len(d.Diags) > 0 ||
				d.Branch == first.Branch && giturl.CleanPath(d.Repo.Path.Value) == giturl.CleanPath(first.Repo.Path.Value) {
				continue
			}
			giterror.AddTo(&d.Diags, source.OutputRef(d.Repo), giterror.New(ruleDeploymentBranch, "the branch %q of %s is where GitOpsRepo %q is pushed to",
				d.Head, d.At, first.Repo.Name.Value).WithHint(hintDeploymentBranch))
		}
	}
}

const hintDeploymentBranch = "remove --branch and spec.pullRequest.branch, so that each GitOps branch and path has its own; or rename one path"

func openDestination(ctx context.Context, r *remote.Reader, repo *model.GitOpsRepo, head string) *Destination {
	d := &Destination{Repo: repo, Branch: repo.Branch.Value, Head: head, reader: r}
	if d.Head == "" {
		d.Head = DeploymentBranch(repo)
	}
	ref := source.OutputRef(repo)
	r.Prepare([]model.Ref{ref})
	if err := d.open(ctx, ref); err != nil {
		giterror.AddTo(&d.Diags, ref, r.Clean(err))
	}
	return d
}

func (d *Destination) open(ctx context.Context, ref model.Ref) error {
	at, err := d.reader.Locate(ref)
	if err != nil {
		return err
	}
	d.At = at.Read
	if d.Head == d.Branch {
		return giterror.New(ruleDeploymentBranch, "%q is the GitOps branch, so it cannot also be the pull request branch", d.Head).
			WithHint("set another --branch or spec.pullRequest.branch; to publish without a pull request, use --direct")
	}
	if d.repo, err = d.reader.Repository(ctx, at, ref.Role); err != nil {
		return err
	}
	if d.repo == nil {
		return giterror.New(giterror.RuleInvalidRepository, "%s is a plain directory: nothing can be published to it", at).
			WithHint("use a repository, for example a bare one, or write the directory with --output-dir")
	}
	d.tips = d.repo.Branches()
	return nil
}

// DeploymentBranch returns the branch to which the output for a GitOpsRepo is pushed: that of its spec, else
// deployment/dev, or with a path deployment/dev.clusters-eu.
func DeploymentBranch(repo *model.GitOpsRepo) string {
	if named := repo.Publishing.PullRequest.Branch.Value; named != "" {
		return named
	}
	name := "deployment/" + repo.Branch.Value
	if directory := giturl.CleanPath(repo.Path.Value); directory != "." {
		name += "." + strings.ReplaceAll(directory, "/", "-")
	}
	return name
}

// onto returns the tip of the GitOps branch; zero if there is no such branch.
func (d *Destination) onto() plumbing.Hash { return d.tips[d.Branch] }

// rulePathMoved is an output at the root of a GitOps repository whose GitOpsRepo now has a path.
const rulePathMoved = "gitops-path"

// checkPath refuses to start an empty directory beside an output at the root.
func (d *Destination) checkPath(root fs.FS) error {
	directory := giturl.CleanPath(d.Repo.Path.Value)
	if directory == "." || root == nil {
		return nil
	}
	above, err := change.ReadLayout(root)
	if err != nil {
		return err
	}
	below, err := change.ReadLayout(below(root, directory))
	if err != nil || len(above.Targets) == 0 || len(below.ClusterTypes) > 0 {
		return err
	}
	return giterror.New(rulePathMoved, "%s has %s at the root of branch %q, and nothing below the path %q of the GitOpsRepo", d.At,
		diag.Plural(len(above.Targets), "published target"), d.Branch, directory).
		WithHint("the clusters that pull them would not see the new directory: move the directories there first, or remove spec.path")
}
