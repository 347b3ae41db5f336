package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Output is a GitOps repository with what is published there.
type Output struct {
	Repo *model.GitOpsRepo
	// Tree is the folder of the output at the tip of the branch; nil if it cannot be read, for the
	// reasons in Diags.
	Tree fs.FS
	// Commit is the tip; empty for a plain folder.
	Commit string
	Diags  diag.List
}

// ReadOutputs reads the GitOps branches of a fleet, side by side.
func (r *Reader) ReadOutputs(ctx context.Context, fleet *model.Fleet) []Output {
	outputs := make([]Output, len(fleet.GitOpsRepos))
	for i, repo := range fleet.GitOpsRepos {
		sources, diags := r.Read(ctx, []model.Ref{outputRef(repo)})
		outputs[i] = Output{Repo: repo, Diags: diags}
		if source := sources[0]; source != nil {
			outputs[i].Commit = source.Commit
			outputs[i].Tree = below(source.FS, cleanPath(repo.Path.Value))
		}
	}
	return outputs
}

func outputRef(repo *model.GitOpsRepo) model.Ref {
	return model.Ref{
		Repo: repo.Repo.Value, Branch: repo.Branch.Value, Path: ".",
		Role: model.Output, At: repo.Repo.At, BranchAt: repo.Branch.At, Subject: fmt.Sprintf("GitOpsRepo %q", repo.Name.Value),
	}
}

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
