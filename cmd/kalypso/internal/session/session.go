// Package session is one run of a command over a fleet: it opens the control plane, compiles and publishes environments, and
// prints the result as text, as JSON and to GitHub Actions.
package session

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Session is one run of a command over a fleet: its input, results and diagnostics.
type Session struct {
	*cli.Host
	Flags *Flags
	*Compiler
	// Known are all environments of the control plane as last read, and Environments the selected ones.
	Known, Environments []*model.Environment
	Results             []*Result
	// Diags are the diagnostics without an environment; those of an environment are in its result.
	Diags diag.List
	opened
	// Listed reports whether the result is printed although there are errors.
	Listed bool
	activity
	// View prints the result of the run.
	View View
}

// opened are the connected remotes of a run.
type opened struct {
	// Destinations are the destinations of each environment.
	Destinations map[string][]*gitops.Destination
	// forges are the clients for GitHub, by repository.
	forges map[string]Forge
}

// activity is the current step of a run.
type activity struct {
	// doing is the step for the message of a stopped run.
	doing    string
	Progress *term.Progress
}

// Begin sets the current step.
func (a *activity) Begin(doing string) {
	a.doing = doing
	a.Progress.Phase(doing)
}

// View prints the result of a run.
type View struct {
	// Structured is the result for -o json.
	Structured func(diags diag.List) any
	// MoreFormats write the result in the formats of Flags.MoreFormats.
	MoreFormats map[string]func(*Session, diag.List) error
	// Text writes the result as text.
	Text func() error
	// Paged reports whether the text may be long; a terminal then shows it in a pager.
	Paged bool
	// Actions completes the report for GitHub Actions; nil adds nothing.
	Actions func(r *actions.Report)
}

// Result is the result of one environment.
type Result struct {
	*Compiled
	Changes []*Change
	// Notes are printed in addition to the diagnostics.
	Notes []string
	// Directory is the directory to which the environment was written; empty for none.
	Directory string
	// Partly reports whether it could not be published to all of its GitOps repositories.
	Partly bool
}

// Connect checks the flags and runs do with a session that has read nothing, limited by --timeout. The session prints the
// results of environments unless do sets another view.
func Connect(ctx context.Context, f *Flags, e *cli.Host, do func(context.Context, *Session) error) error {
	if err := f.Check(); err != nil {
		return err
	}
	ctx, cancel := f.limited(ctx)
	defer cancel()
	e, progress := e.WithProgress(f.Color)
	defer progress.Done() // an error of do is printed by the caller
	reader, loader, err := f.open(ctx, e, progress)
	if err != nil {
		return err
	}
	s := &Session{Host: e, Flags: f, activity: activity{Progress: progress}, Compiler: &Compiler{Reader: reader, Loader: loader}}
	defer func() { _ = s.Reader.Close() }() // nothing was written through it
	s.noticeVariable(ctx)
	s.View = View{
		Structured: func(diags diag.List) any { return results.NewReport(Environments(s.Results), diags) },
		Text:       s.PrintText,
	}
	return do(ctx, s)
}

// Run is Connect after reading the control plane and selecting the environments; all is for Choose.
func Run(ctx context.Context, f *Flags, e *cli.Host, all bool, do func(context.Context, *Session) error) error {
	return Connect(ctx, f, e, func(ctx context.Context, s *Session) error {
		if err := s.ReadControlPlane(ctx, all); err != nil {
			return err
		}
		return do(ctx, s)
	})
}

// Reopen reads the control plane again and keeps the results.
func (s *Session) Reopen(ctx context.Context) error {
	if err := s.connectAgain(ctx); err != nil {
		return err
	}
	return s.ReadControlPlane(ctx, true)
}

// Reload is Reopen, but reports whether the control plane could be read instead of ending the run; the error is in the
// diagnostics of the session.
func (s *Session) Reload(ctx context.Context) (bool, error) {
	if err := s.connectAgain(ctx); err != nil {
		return false, err
	}
	return s.load(ctx), nil
}

func (s *Session) connectAgain(ctx context.Context) error {
	reader, loader, err := s.Flags.open(ctx, s.Host, s.Progress)
	if err != nil {
		return err
	}
	reader.Continue(s.Reader)
	_ = s.Reader.Close() // nothing was written through it
	s.Reader, s.Loader = reader, loader
	return nil
}

// ReadControlPlane reads the environments and, the first time, selects them; all is for Choose. If they cannot be read, it
// finishes the run.
func (s *Session) ReadControlPlane(ctx context.Context, all bool) error {
	if !s.load(ctx) {
		if ctx.Err() != nil {
			return s.Stopped(ctx)
		}
		return s.Finish("nothing was " + cmp.Or(s.Flags.Purpose, "compiled"))
	}
	chosen, err := s.Flags.Choose(s.Host, s.Known, all)
	if err == nil && s.Environments == nil {
		s.Environments = chosen
		s.Diags.Add(unpublished(ctx, s.Reader, s.Flags.clone, s.branchesOf(s.Environments)))
	}
	return err
}

// load reads the environments and reports whether it could; the error is in the diagnostics of the session.
func (s *Session) load(ctx context.Context) bool {
	s.Begin("reading the control plane")
	environments, diags := s.Loader.Environments(ctx)
	s.Diags = diags // if the time is up, they name the repository that was read
	if ctx.Err() != nil || diags.HasErrors() {
		return false
	}
	s.Known, s.Names = environments, EnvironmentNames(environments)
	if s.Environments != nil {
		s.Diags.Add(unpublished(ctx, s.Reader, s.Flags.clone, s.branchesOf(s.Environments)))
	}
	s.noticeOther(ctx)
	if !s.Flags.Publishes {
		s.Reader.ListRemote(ctx, s.Loader.Main().Ref.Repo, s.Loader.BaseBranch())
	}
	return true
}

// Branches are those of the control plane that environments are made of, the base branch first.
func (s *Session) Branches() []string { return s.branchesOf(s.Known) }

func (s *Session) branchesOf(environments []*model.Environment) []string {
	all := []string{s.Loader.BaseBranch()}
	for _, e := range environments {
		if branch := e.ControlPlane.Branch.Value; s.Loader.Owns(e) && !slices.Contains(all, branch) {
			all = append(all, branch)
		}
	}
	return all
}

// noticeOther adds a notice if the clone has a branch checked out that is not read.
func (s *Session) noticeOther(ctx context.Context) {
	repo := cmp.Or(s.Flags.clone, s.Loader.Main().Ref.Repo)
	has := s.Reader.CheckedOut(ctx, repo)
	if has == "" || has == s.Flags.Base || s.Flags.Base == source.WorktreeBase || slices.Contains(s.Branches(), has) {
		return
	}
	nearest := s.Reader.Nearest(ctx, repo, has, s.Branches())
	hint := otherHint(has, nearest, s.Branches())
	if s.Flags.clone != "" {
		hint = diffHint(nearest, s.Branches())
	}
	s.Diags.Notice(giterror.RuleOtherBranch, diag.Place{}, fmt.Sprintf("reading %s; the checked-out branch %q is not read", s.Loader.BaseBranch(), has), diag.Hint(hint))
}

// Compile compiles an environment, unless the run was stopped. output is the output directory, if any: its contents count as
// published.
func (s *Session) Compile(ctx context.Context, environment *model.Environment, output *gitops.Directory) {
	if ctx.Err() != nil {
		return
	}
	stages := Stages{Begin: s.Begin}
	if output != nil {
		stages.directory = output.FS()
	}
	if output != nil && len(s.Environments) == 1 { // on a full disk, the first of several must not fail because of the others
		stages.stage = output.Stage
	}
	directory := stages.directory
	compiled := s.Line(ctx, environment, stages)
	s.compareOwners(ctx, nil, compiled, directory)
	if s.Quarantine.KeepLastGood && compiled.Diags.HasErrors() && ctx.Err() == nil {
		if output != nil {
			_ = output.Discard() // a later run of the line writes its own tree
		}
		compiled = s.quarantineBroken(ctx, compiled, directory)
	}
	hintPromotion(compiled.Diags, s.Loader.BaseBranch())
	if len(s.Environments) > 1 {
		for i, d := range compiled.Diags {
			if d.At.IsZero() && !strings.HasPrefix(d.Message, source.BaseFlag) { // the flag is the same for all
				compiled.Diags[i].Message = environment.Name.Value + ": " + d.Message
			}
		}
	}
	if result := s.Result(environment); result != nil {
		*result = Result{Compiled: compiled}
		return
	}
	s.Results = append(s.Results, &Result{Compiled: compiled})
}

// headRevision matches a revision that begins at HEAD.
var headRevision = regexp.MustCompile(`^(HEAD|@)([~^]|$)`)

// noticeVariable prints a notice if a variable names the control plane and the current directory is in another clone: one of
// that control plane, which a run that publishes need not read, or one of another fleet.
func (s *Session) noticeVariable(ctx context.Context) {
	clone, same := s.cloneHere(ctx)
	switch {
	case clone == "" || s.Workflow != nil:
	case same && !s.Flags.Publishes:
		s.notice("notice: reading %s, not the clone in the current directory; use --control-plane . for that", diag.Safe(s.Flags.ControlPlane))
	case !same && holdsOtherFleet(ctx, s.Reader, clone, s.Flags.ControlPlane):
		s.notice("notice: KALYPSO_CONTROL_PLANE is %s, another repository than the clone in the current directory; unset it, or use --control-plane .",
			diag.Safe(s.Flags.ControlPlane))
	}
}

// InClone reports whether the current directory is in a clone of the control plane that a variable names.
func (s *Session) InClone(ctx context.Context) bool {
	_, same := s.cloneHere(ctx)
	return same
}

// cloneHere returns the repository that contains the current directory if a variable names the control plane, and whether it is
// a clone of that.
func (s *Session) cloneHere(ctx context.Context) (clone string, same bool) {
	f := s.Flags
	if f.fromVariable == nil || !f.fromVariable() {
		return "", false
	}
	clone, err := repositoryAround(s.Host)
	if err != nil {
		return "", false
	}
	return clone, isCloneOf(ctx, s.Reader, clone, cmp.Or(f.BaseBranch, "main"), f.ControlPlane)
}

// CommitIn returns the commit of a Git revision in the clone that was given as the control plane; without a clone it
// returns the revision. The error is a usage error for HEAD of a remote repository, which is another commit than that of a clone.
func (s *Session) CommitIn(ctx context.Context, revision string) (string, error) {
	if repo := s.Loader.Main().Repo; headRevision.MatchString(revision) && s.Flags.clone == "" && !s.Reader.IsLocal(repo) {
		return "", cli.UsageHint("use a branch, a tag or a commit SHA", "--commit %s: HEAD is only defined in a local clone", revision)
	}
	if s.Flags.clone == "" || giturl.IsCommit(revision) || revision == "" {
		return revision, nil
	}
	return s.Reader.Commit(ctx, model.Ref{Repo: s.Flags.clone, Role: model.Main, Revision: revision})
}

// RefuseWarnings adds an error to an environment if the run is strict and has warnings, but no errors.
func (s *Session) RefuseWarnings(r *Result) {
	refused := s.Flags.WarningsAsErrors(append(slices.Clone(s.Diags), r.Diags...))
	for i := range refused {
		if len(s.Environments) > 1 {
			refused[i].Message = r.Environment.Name.Value + ": " + refused[i].Message
		}
	}
	r.Diags.Add(refused)
}

// CompileWith compiles an environment with another base commit than the promoted one. The session does not keep the
// result. With Quarantine.KeepLastGood, the errors of broken registrations are warnings.
func (s *Session) CompileWith(ctx context.Context, environment *model.Environment, commit string) *Compiled {
	with := *s
	with.Results = nil
	with.Compiler = &Compiler{Reader: s.Reader, Loader: s.Loader.WithBase(commit), Names: s.Names, Quarantine: s.Quarantine}
	with.Quarantine.Tolerant = s.Quarantine.KeepLastGood
	with.Compile(ctx, environment, nil)
	if ctx.Err() != nil {
		return &Compiled{Environment: environment}
	}
	return with.Results[0].Compiled
}

// Result returns the result of an environment; nil if it was not compiled.
func (s *Session) Result(environment *model.Environment) *Result {
	for _, r := range s.Results {
		if r.Environment.Name.Value == environment.Name.Value {
			return r
		}
	}
	return nil
}

// all returns the diagnostics of the run so far.
func (s *Session) all() diag.List {
	all := slices.Clone(s.Diags)
	for _, r := range s.Results {
		all.Add(r.Diags)
	}
	return all
}

// Failed reports whether there are errors.
func (s *Session) Failed() bool { return s.all().HasErrors() }

// changes are the changes of all environments.
func (s *Session) changes() []*Change {
	var all []*Change
	for _, r := range s.Results {
		all = append(all, r.Changes...)
	}
	return all
}

// Changed reports whether anything differs from the published output.
func (s *Session) Changed() bool {
	return slices.ContainsFunc(s.changes(), func(c *Change) bool { return !c.Change.Empty() })
}

// Unfinished reports whether an environment was compiled, but neither compared nor written.
func (s *Session) Unfinished() bool {
	return slices.ContainsFunc(s.Results, func(r *Result) bool { return len(r.Changes) == 0 })
}

// Pushed are the pushes of this run.
func (s *Session) Pushed() []*Published {
	var pushed []*Published
	for _, change := range s.changes() {
		if change.Published != nil && change.Published.Pushed {
			pushed = append(pushed, change.Published)
		}
	}
	return pushed
}
