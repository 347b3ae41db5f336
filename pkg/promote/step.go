package promote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote/baserepo"
)

// step is one promotion on its way.
type step struct {
	*Promoter
	Request
	out Outcome

	branch *gitops.Branch
	// source is the branch as it was read, and base the BaseRepo in it; nil for none.
	source *model.Source
	base   *model.BaseRepo
	// files are those that change.
	files    map[string][]byte
	newest   time.Time
	statuses []Status
	facts    facts
	// reverted is the newer commit that a rollback reverts; empty for none.
	reverted string
}

// Promote promotes a commit. What keeps it from being promoted is in the diagnostics of the outcome. The error wraps
// giterror.ErrConflict after a concurrent update.
func (p *Promoter) Promote(ctx context.Context, r Request) (Outcome, error) {
	step := &step{Promoter: p, Request: r, out: Outcome{Environment: r.Environment.Name.Value, Action: ActionRefused, DryRun: r.DryRun}}
	err := step.run(ctx)
	return step.out, err
}

func (s *step) run(ctx context.Context) error {
	for _, part := range []func(context.Context) error{s.open, s.resolve, s.loops, s.compare, s.proposals, s.gates, s.decide, s.compile, s.write, s.report} {
		if err := part(ctx); err != nil || s.out.Diags.HasErrors() {
			if s.out.Diags.HasErrors() {
				s.out.Action = ActionRefused
			}
			return err
		}
		if s.out.Action == ActionNotPromotable || s.out.Action == ActionWaiting {
			return nil
		}
	}
	return nil
}

// resolve finds the commit.
func (s *step) resolve(ctx context.Context) error {
	history, err := s.History(ctx)
	if err != nil {
		return err
	}
	s.out.Commit, s.facts.onBase = s.Commit, true
	if s.Commit == "" {
		s.out.Commit = history.Tip()
		return nil
	}
	if s.out.Commit, err = history.Resolve(ctx, s.Commit); err == nil {
		return nil
	}
	known, ok := errors.AsType[*giterror.Error](err)
	if !ok || known.Rule != giterror.RuleCommitNotFound {
		return err
	}
	if !giturl.IsFullCommit(s.Commit) {
		if s.Unmerged {
			known.Hint = "a commit that is not on the branch must be a full SHA of 40 digits"
		}
		return known
	}
	s.out.Commit, s.facts.onBase = strings.ToLower(s.Commit), false
	if !s.Unmerged {
		return nil
	}
	ref := s.Loader.Main().Ref
	ref.Commit, ref.Branch = s.out.Commit, ""
	_, err = s.Reader.CommitChanges(ctx, ref) // the repository must have it
	return err
}

// compare determines the relation of the commit to the commit of the environment.
func (s *step) compare(ctx context.Context) error {
	s.facts.environment, s.facts.base = s.Environment, s.Loader.Main().Ref.Branch
	s.facts.commit, s.facts.current = s.out.Commit, s.out.From
	if s.base != nil {
		s.facts.currentAt = s.base.Commit.At
	}
	if s.out.From == "" || s.out.From == s.out.Commit {
		s.facts.currentOnBase = true
		return nil
	}
	history, err := s.History(ctx)
	if err != nil {
		return err
	}
	current := s.out.From
	if !giturl.IsFullCommit(current) { // no environment compiles with it, so it is replaced even by the same commit
		current, err = history.Resolve(ctx, current)
		if known, ok := errors.AsType[*giterror.Error](err); ok && known.Rule == giterror.RuleCommitNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if current != s.out.Commit {
			s.out.From = current
		}
	}
	if s.facts.currentOnBase, err = history.Has(ctx, current); err != nil {
		return err
	}
	if !s.facts.currentOnBase {
		// It may just be newer than the branch that was read: taken for one that the branch has lost, it would be rolled back.
		if err := history.Refresh(ctx); err != nil {
			return err
		}
		if has, err := history.Has(ctx, current); err != nil || !has {
			return err
		}
		return fmt.Errorf("branch %q: %w", history.Branch(), giterror.ErrConflict)
	}
	if !s.facts.onBase {
		return nil
	}
	s.facts.relation, err = history.Relation(ctx, current, s.out.Commit)
	s.out.Newer = s.facts.relation == gitobject.Older
	return err
}

// gates reads the statuses of the previous environments. A commit that is refused anyway
// may not exist there.
func (s *step) gates(ctx context.Context) error {
	if !s.facts.onBase && !s.Unmerged && s.out.From != s.out.Commit {
		return nil
	}
	if s.Statuses != nil {
		var err error
		if s.statuses, err = s.Statuses.Statuses(ctx, s.out.Commit); err != nil {
			return err
		}
	}
	own, _ := find(s.statuses, s.Environment.Name.Value)
	back := s.Rollback && own.hadIt() // then it came through these gates, whatever became of it elsewhere since
	for _, name := range s.Chain.Previous(s.Environment.Name.Value) {
		g := gate{environment: name, unknown: s.Statuses == nil}
		g.status, _ = find(s.statuses, name)
		g.untrusted, _ = findUntrusted(s.statuses, name)
		if g.unknown {
			g.status.Description = s.NoStatuses
		}
		g.open = back || slices.Contains(s.Deployed, name) || isDeployed(g.status)
		s.facts.gates = append(s.facts.gates, g)
	}
	return nil
}

// proposals finds out whether a newer commit waits in the pull request: a job that comes late must not put an older one
// in its place.
func (s *step) proposals(ctx context.Context) error {
	if s.branch.Head == "" || s.Forge == nil || !s.facts.onBase || s.out.From == s.out.Commit {
		return nil
	}
	proposed, ok, err := s.branch.Proposed(ctx, s.Environment.Name.Value)
	if err != nil || !ok || proposed.Rollback {
		return err
	}
	if relation, err := s.Relation(ctx, proposed.Commit, s.out.Commit); err != nil || relation != gitobject.Older {
		return err
	}
	open, err := s.Forge.Open(ctx, s.out.Branch)
	for _, pull := range open {
		if pull.Head == s.branch.Head {
			s.facts.proposed, s.facts.proposedIn = proposed.Commit, pull.Number
		}
	}
	return err
}

// settles reports whether all reasons against the promotion of a deployed commit are expected: other environments must
// deploy it, too, or there is a newer one.
func (s *step) settles(refusals diag.List) bool {
	if !refusals.HasErrors() {
		return false
	}
	if s.out.Newer {
		s.out.Action = ActionUnchanged
		return true
	}
	if s.facts.proposed != "" {
		s.out.Action = ActionNotPromotable
		s.out.Notes = append(s.out.Notes, fmt.Sprintf("pull request #%d proposes %.12s, which is newer", s.facts.proposedIn, s.facts.proposed))
		return true
	}
	if slices.ContainsFunc(refusals, func(d diag.Diagnostic) bool { return d.Severity == diag.Error && d.Rule != RuleGateClosed }) {
		return false
	}
	s.out.Action = ActionWaiting
	for _, d := range refusals {
		s.out.Notes = append(s.out.Notes, d.Message)
	}
	return true
}

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
		head = s.headBranch()
	}
	var err error
	if s.branch, err = gitops.OpenBranch(ctx, s.Reader, source.PlatformRef(s.Environment), head); err != nil {
		return err
	}
	s.source, s.newest = objects.Source, objects.Source.Committed
	s.out.Repo, s.out.Branch = s.branch.At, s.branch.Branch
	if s.branch.Tip != objects.Source.Commit {
		return fmt.Errorf("branch %q: %w", s.branch.Branch, giterror.ErrConflict)
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
			s.out.Diags.Error("duplicate-object", base.Name.At, fmt.Sprintf("BaseRepo %q is duplicated", model.MainBase),
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
		s.out.Diags.Error("invalid-value", s.base.Commit.At, fmt.Sprintf("commit of BaseRepo %q is %q, which is not a commit SHA", model.MainBase, s.base.Commit.Value),
			diag.Hint("write the SHA of the commit that the environment has, or remove the line if it has none"))
	}
	if repo, err := giturl.NormalURL(s.base.Repo.Value); err != nil || repo != main.Repo {
		s.out.Diags.Error(RuleForeignBase, s.base.Repo.At, fmt.Sprintf("BaseRepo %q is %s, not the control plane %s: its commits cannot be promoted",
			model.MainBase, s.base.Repo.Value, main.Repo), diag.Hint("use another name for a BaseRepo with further common data"))
	}
	if s.base.Branch.Value != main.Ref.Branch {
		s.out.Diags.Error(RuleForeignBase, s.base.Branch.At, fmt.Sprintf("BaseRepo %q is on the branch %q, and commits of %q are promoted",
			model.MainBase, s.base.Branch.Value, main.Ref.Branch), diag.Hint("--base-branch selects the base branch"))
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

// RuleNotCompiled is a commit with which an environment does not compile.
const RuleNotCompiled = "does-not-compile"

// compile refuses a commit with which the environment does not compile.
func (s *step) compile(ctx context.Context) error {
	if s.files == nil || s.Compile == nil {
		return nil
	}
	errs := s.Compile(ctx, s.out.Commit).Only(diag.Error).Sorted()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.out.Compiled = len(errs) == 0
	if s.out.Compiled {
		return nil
	}
	s.out.Diags.Add(errs)
	format := "%q does not compile with %.7s: %s"
	if slices.ContainsFunc(errs, func(d diag.Diagnostic) bool { return giterror.IsRemote(d.Rule) }) { // others may follow from it
		format = "cannot determine whether %q compiles with %.7s: %s"
	}
	s.out.Diags.Error(RuleNotCompiled, s.Environment.Name.At, fmt.Sprintf(format, s.out.Environment, s.out.Commit, diag.Plural(len(errs), "error")),
		diag.Hint("fix the errors; --skip-compile promotes anyway, for example in a job that cannot read the application repositories"))
	return nil
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
			Message: fmt.Sprintf("BaseRepo %q belongs in this file, which .sourceignore excludes", model.MainBase),
			Hint:    "include it with the line !/" + baserepo.BaseRepoFile + ", or write the BaseRepo to another file",
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
		Message: fmt.Sprintf("BaseRepo %q belongs in this file, which is not a regular file", model.MainBase), Hint: "write the BaseRepo to another file",
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
		s.out.Notes = append(s.out.Notes, fmt.Sprintf("commit %.12s changes only a promoted commit: promoting it would start a loop", s.out.Commit))
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
