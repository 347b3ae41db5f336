package gitops

import (
	"context"
	"errors"
	"io/fs"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Output is a GitOps repository with what is published there.
type Output struct {
	Repo *model.GitOpsRepo
	// Tree is the folder of the output at the tip of the branch; nil if it cannot be read, for the
	// reasons in Diags.
	Tree fs.FS
	// Root is the whole tree that Tree is in.
	Root fs.FS
	// New says that Tree is nil because there is nothing to read yet: no such branch, or no such
	// folder on this machine. Otherwise what is published is not known.
	New bool
	// Commit is the tip; empty for a plain folder.
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

// isNew tells what is not there from what cannot be read.
func isNew(err error) bool {
	var e *giterror.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Rule == giterror.RuleBranchNotFound || e.Rule == giterror.RuleInvalidRepository && errors.Is(e, fs.ErrNotExist)
}

// OutputFolder is the folder that a GitOpsRepo names, "." for the root.
func OutputFolder(repo *model.GitOpsRepo) string { return giturl.CleanPath(repo.Path.Value) }

// below returns a folder of a tree. One that does not exist yet is empty.
func below(tree fs.FS, folder string) fs.FS {
	if folder == "." {
		return tree
	}
	info, err := fs.Stat(tree, folder)
	if err == nil && !info.IsDir() {
		err = errors.New("the path of the GitOpsRepo is no folder")
	}
	if err != nil {
		return brokenFS{err}
	}
	sub, err := fs.Sub(tree, folder)
	if err != nil {
		return brokenFS{err}
	}
	return sub
}

// brokenFS fails whatever is asked.
type brokenFS struct{ err error }

func (b brokenFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: b.err}
}
