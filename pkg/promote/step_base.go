package promote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote/baserepo"
)

// RuleForeignBase is a BaseRepo "main" that is not the base branch of the control plane.
const RuleForeignBase = "foreign-base"

// open reads the branch of the environment.
func (s *step) open(ctx context.Context) error {
	objects, diags := s.Loader.Platform(ctx, s.Environment)
	s.out.Diags.Add(diags)
	if objects == nil {
		return nil
	}
	s.out.Diags = onlyNeeded(s.out.Diags, objects)
	head := ""
	if s.PullRequest {
		head = headBranch(s.Environment.Name.Value)
	}
	var err error
	if s.branch, err = gitops.OpenBranch(ctx, s.Reader, source.PlatformRef(s.Environment), head); err != nil {
		return err
	}
	s.source, s.newest = objects.Source, objects.Source.Committed
	s.out.Repo, s.out.Branch = s.branch.At, s.branch.Branch
	if s.branch.Tip != objects.Source.Commit {
		return fmt.Errorf("branch %q: %w", s.branch.Branch, remote.ErrMoved)
	}
	s.findBase(objects)
	return nil
}

// onlyNeeded leaves out what is wrong with objects that promoting does not touch: rendering reports that.
func onlyNeeded(diags diag.List, objects *model.Objects) diag.List {
	if objects.Incomplete {
		return diags // a BaseRepo may be in what could not be read
	}
	return slices.DeleteFunc(slices.Clone(diags), func(d diag.Diagnostic) bool {
		return d.At.File == nil || !slices.ContainsFunc(objects.BaseRepos, func(base *model.BaseRepo) bool {
			return base.Broken && *base.At.File == *d.At.File
		})
	})
}

// findBase finds the BaseRepo to be changed; none is fine.
func (s *step) findBase(objects *model.Objects) {
	for _, base := range objects.BaseRepos {
		if base.Name.Value != model.MainBase {
			continue
		}
		if s.base != nil {
			s.out.Diags.Error("duplicate-object", base.Name.At, fmt.Sprintf("there is another BaseRepo %q", model.MainBase),
				diag.See(s.base.Name.At, "first defined here"))
			return
		}
		s.base = base
	}
	if s.base == nil || s.base.Broken {
		return
	}
	main := s.Loader.Main()
	if s.out.From = strings.ToLower(s.base.Commit.Value); s.out.From != "" && !giturl.IsCommit(s.out.From) {
		s.out.Diags.Error("invalid-value", s.base.Commit.At, fmt.Sprintf("commit of BaseRepo %q is %q, which is no id of a commit", model.MainBase, s.base.Commit.Value),
			diag.Hint("write the id of the commit that the environment has, or remove the line if it has none"))
	}
	if repo, err := giturl.NormalURL(s.base.Repo.Value); err != nil || repo != main.Repo {
		s.out.Diags.Error(RuleForeignBase, s.base.Repo.At, fmt.Sprintf("BaseRepo %q is %s, not the control plane %s: its commits cannot be promoted",
			model.MainBase, s.base.Repo.Value, main.Repo), diag.Hint("a BaseRepo of another name may hold further common data"))
	}
	if s.base.Branch.Value != main.Ref.Branch {
		s.out.Diags.Error(RuleForeignBase, s.base.Branch.At, fmt.Sprintf("BaseRepo %q is on the branch %q, and commits of %q are promoted",
			model.MainBase, s.base.Branch.Value, main.Ref.Branch), diag.Hint("--base-branch says which is meant"))
	}
}

// decide refuses, or makes the new file.
func (s *step) decide(context.Context) error {
	if s.out.From == s.out.Commit {
		s.out.Action = ActionUnchanged
		return nil
	}
	refusals := guard(s.facts, s.Overrides)
	if len(s.Deployed) > 0 && s.settles(refusals) {
		return nil
	}
	s.out.Diags.Add(refusals)
	if s.out.Diags.HasErrors() {
		return nil
	}
	if s.base == nil {
		return s.newBase()
	}
	s.out.File = s.base.At.File.Path
	old, err := fs.ReadFile(s.branch.FS, s.out.File)
	if err != nil {
		return err
	}
	return s.change(baserepo.SetCommit(old, s.base, s.out.Commit))
}

// change has the file of the BaseRepo changed.
func (s *step) change(file []byte, err error) error {
	if err != nil {
		return s.cannotEdit(err)
	}
	s.files = map[string][]byte{s.out.File: file}
	return nil
}

// cannotEdit reports a file that a person must change.
func (s *step) cannotEdit(err error) error {
	edit, ok := errors.AsType[*baserepo.EditError](err)
	if !ok {
		return err
	}
	at := edit.At
	if at.IsZero() {
		at = diag.Place{File: &diag.File{Repo: s.out.Repo, Branch: s.out.Branch, Path: s.out.File}}
	}
	s.out.Diags.Error(baserepo.RuleUnsafeEdit, at, edit.Message, diag.Hint(edit.Hint))
	return nil
}

// newBase makes the BaseRepo of an environment that nothing was ever promoted to.
func (s *step) newBase() error {
	s.out.File = path.Join(s.Environment.ControlPlane.Path.Value, baserepo.BaseRepoFile)
	if model.Ignores(s.source, baserepo.BaseRepoFile) {
		return s.cannotEdit(&baserepo.EditError{
			Message: fmt.Sprintf("BaseRepo %q belongs in this file, which .sourceignore keeps from being read", model.MainBase),
			Hint:    "bring it back with the line !/" + baserepo.BaseRepoFile + ", or write the BaseRepo to another file",
		})
	}
	old, err := fs.ReadFile(s.branch.FS, s.out.File)
	var known *giterror.Error
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return s.change(baserepo.Append(old, s.newSpec()))
	case errors.As(err, &known):
		return err
	}
	return s.cannotEdit(&baserepo.EditError{
		Message: fmt.Sprintf("BaseRepo %q belongs in this file, and it is none", model.MainBase), Hint: "write the BaseRepo to another file",
	})
}

// newSpec is that of a new BaseRepo, which names the control plane as its environment does.
func (s *step) newSpec() baserepo.Spec {
	main := s.Loader.Main()
	spec := baserepo.Spec{Repo: s.Environment.ControlPlane.Repo.Value, Branch: main.Ref.Branch, Commit: s.out.Commit}
	if !s.sharesRepo() {
		spec.Repo = main.Repo
	}
	return spec
}

// sharesRepo reports whether the environment is in the same repository as the base branch.
func (s *step) sharesRepo() bool {
	repo, err := giturl.NormalURL(s.Environment.ControlPlane.Repo.Value)
	return err == nil && repo == s.Loader.Main().Repo
}

// loops stops where an environment and its base share a branch, and all that a commit does is to promote: promoting
// that would be a commit to be promoted, for ever.
func (s *step) loops(ctx context.Context) error {
	main := s.Loader.Main()
	if s.branch.Branch != main.Ref.Branch || !s.sharesRepo() || !s.facts.onBase {
		return nil
	}
	ref := main.Ref
	ref.Commit = s.out.Commit
	changes, err := s.Reader.CommitChanges(ctx, ref)
	if err != nil {
		return err
	}
	if s.onlyPromotes(changes) {
		s.out.Action = ActionNotPromotable
		s.out.Notes = append(s.out.Notes, fmt.Sprintf("commit %.12s only promotes another: promoting it would never end", s.out.Commit))
	}
	return nil
}

// onlyPromotes reports whether all that a commit does is to promote another one.
func (s *step) onlyPromotes(changes remote.CommitChanges) bool {
	if changes.More || len(changes.Files) == 0 || changes.Parent == "" {
		return false
	}
	for _, f := range changes.Files {
		old := f.Old
		if old == nil { // the first promotion makes the file
			spec := s.newSpec()
			spec.Commit = changes.Parent
			old = baserepo.New(spec)
		}
		if f.Opaque || !baserepo.OnlyCommitChanged(old, f.New) {
			return false
		}
	}
	return true
}
