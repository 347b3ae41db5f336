// Package session is one run of a command over a fleet: it opens the control plane, takes environments down the line from
// their sources to the tree, and says what came of it, for people, as JSON and to a workflow.
package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// RuleLostRaces is a run that others overtook again and again.
const RuleLostRaces = "lost-races"

// RuleGitHubFailed is something that GitHub does not do.
const RuleGitHubFailed = "github-failed"

// RuleFleetUnasked is a fleet that could not be asked.
const RuleFleetUnasked = "fleet-unreachable"

// RuleSaveBody is a text of a pull request that cannot be saved.
const RuleSaveBody = "save-body"

// Session is one run of a command over a fleet: what was read, what came of it, what to report.
type Session struct {
	*cli.Host
	Flags *Flags
	*Compiler
	Environments []*model.Environment
	Results      []*Result
	// Diags are those of no environment; an environment's own are in its result.
	Diags diag.List
	opened
	// Listed says that the result is worth showing although there are errors.
	Listed bool
	activity
	// Known are all environments of the control plane, as it was read last.
	Known []*model.Environment
	// View is what the command shows of the run; nil for what became of the environments.
	View view
}

// opened are the remotes that a run has connected to.
type opened struct {
	// Destinations are where each environment is published.
	Destinations map[string][]*gitops.Destination
	// forges are the clients for GitHub, by repository.
	forges map[string]Forge
}

// activity is what a run is about.
type activity struct {
	// doing is for when it is stopped.
	doing    string
	Progress *term.Progress
}

// Begin says what the run is about from now on.
func (a *activity) Begin(doing string) {
	a.doing = doing
	a.Progress.Phase(doing)
}

// view is what a command shows of its run.
type view interface {
	// Structured is the result for -o json.
	Structured(diags diag.List) any
	// Text writes the result for people.
	Text() error
	// Actions completes what is said in GitHub Actions.
	Actions(r actions.Report) actions.Report
}

// environmentsView shows what became of the environments.
type environmentsView struct{ *Session }

func (v environmentsView) Structured(diags diag.List) any {
	return results.NewReport(Environments(v.Results), diags)
}

func (v environmentsView) Text() error {
	if v.Failed() && !v.Listed {
		return nil
	}
	return v.PrintText()
}

func (v environmentsView) Actions(r actions.Report) actions.Report { return r }

// Result is what came of one environment.
type Result struct {
	*Compiled
	Changes []*Change
	// Notes are for people, beside the diagnostics.
	Notes []string
	// Folder is where the environment was written, if it was.
	Folder string
	// Partly says that it could not be published to all of its GitOps repositories.
	Partly bool
}

// Run checks the flags, opens the control plane as Start does, and runs do until the time of --timeout is up.
func Run(ctx context.Context, f *Flags, e *cli.Host, all bool, do func(context.Context, *Session) error) error {
	if err := f.Check(); err != nil {
		return err
	}
	ctx, cancel := f.Limited(ctx)
	defer cancel()
	s, err := Start(ctx, f, e, all)
	if err != nil {
		return err
	}
	defer s.Close()
	return do(ctx, s)
}

// Start opens the control plane and chooses the environments; all is what to do without --env.
func Start(ctx context.Context, f *Flags, e *cli.Host, all bool) (*Session, error) {
	e, progress := e.WithProgress(f.Color)
	reader, loader, err := f.Open(e, progress)
	if err != nil {
		return nil, err
	}
	s := &Session{Host: e, Flags: f, activity: activity{Progress: progress}, Compiler: &Compiler{}}
	if err := s.readControlPlane(ctx, reader, loader, all); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Reach returns a session that has read nothing yet.
func Reach(f *Flags, e *cli.Host) (*Session, error) {
	e, progress := e.WithProgress(f.Color)
	reader, loader, err := f.Open(e, progress)
	if err != nil {
		return nil, err
	}
	return &Session{Host: e, Flags: f, activity: activity{Progress: progress}, Compiler: &Compiler{Reader: reader, Loader: loader}}, nil
}

// Reopen reads the control plane anew. What was compiled and published stays.
func (s *Session) Reopen(ctx context.Context) error {
	reader, loader, err := s.Flags.Open(s.Host, s.Progress)
	if err != nil {
		return err
	}
	reader.Continue(s.Reader)
	s.Close()
	return s.readControlPlane(ctx, reader, loader, true)
}

// readControlPlane reads the environments and, the first time, chooses among them.
func (s *Session) readControlPlane(ctx context.Context, reader *remote.Reader, loader *source.Loader, all bool) error {
	if !s.Load(ctx, reader, loader) {
		if ctx.Err() != nil {
			return s.Stopped(ctx)
		}
		return s.Finish(s.leftUnread())
	}
	chosen, err := s.Flags.Choose(s.Host, s.Known, all)
	if err == nil && s.Environments == nil {
		s.Environments = chosen
	}
	return err
}

// Load reads the environments, and reports whether it could. The diagnostics of the session say why not.
func (s *Session) Load(ctx context.Context, reader *remote.Reader, loader *source.Loader) bool {
	s.Reader, s.Loader = reader, loader
	s.Begin("reading the control plane")
	environments, diags := loader.Environments(ctx)
	s.Diags = diags
	if ctx.Err() != nil || diags.HasErrors() {
		return false
	}
	s.Known = environments
	s.Names = EnvironmentNames(environments)
	return true
}

// Close releases what was opened for reading.
func (s *Session) Close() {
	_ = s.Reader.Close() // nothing was written through it
}

// Compile compiles an environment, unless the run has been stopped. output is where the output is
// written, if anywhere: what is in it counts as published.
func (s *Session) Compile(ctx context.Context, environment *model.Environment, output *gitops.Folder) {
	if ctx.Err() != nil {
		return
	}
	stages := Stages{Begin: s.Begin}
	if output != nil {
		stages.folder = output.FS()
	}
	if output != nil && len(s.Environments) == 1 { // on a full disk, the first of several must not fail because of the others
		stages.stage = output.Stage
	}
	folder := stages.folder
	compiled := s.Line(ctx, environment, stages)
	s.compareOwners(ctx, nil, compiled, folder)
	if s.Quarantine.KeepLastGood && compiled.Diags.HasErrors() && ctx.Err() == nil {
		if output != nil {
			_ = output.Discard() // a later run of the line has a tree of its own
		}
		compiled = s.quarantineBroken(ctx, compiled, folder)
	}
	if len(s.Environments) > 1 {
		for i, d := range compiled.Diags {
			if d.At.IsZero() {
				compiled.Diags[i].Message = environment.Name.Value + ": " + d.Message
			}
		}
	}
	again := slices.IndexFunc(s.Results, func(r *Result) bool { return r.Environment.Name.Value == environment.Name.Value })
	if again >= 0 {
		s.Results[again] = &Result{Compiled: compiled}
		return
	}
	s.Results = append(s.Results, &Result{Compiled: compiled})
}

// Result returns what came of an environment that was compiled.
func (s *Session) Result(environment *model.Environment) *Result {
	i := slices.IndexFunc(s.Results, func(r *Result) bool { return r.Environment.Name.Value == environment.Name.Value })
	return s.Results[i]
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

// Changed reports whether anything differs from what is published.
func (s *Session) Changed() bool {
	return slices.ContainsFunc(s.Results, func(r *Result) bool {
		return slices.ContainsFunc(r.Changes, func(c *Change) bool { return !c.Change.Empty() })
	})
}

// Finish prints the result and the diagnostics, and returns the error that the run ends with.
// without says what errors kept from happening.
func (s *Session) Finish(without string) error {
	diags, without := s.told(without)
	s.Progress.Done()
	view := s.View
	if view == nil {
		view = environmentsView{s}
	}
	if s.Workflow != nil {
		if err := s.Workflow.Say(view.Actions(s.actionsReport("kalypso", summarize(diags, without), diags))); err != nil {
			fmt.Fprintf(s.Stderr, "kalypso: %v\n", err) // what came of the run itself is more important
		}
	}
	if s.Flags.Format != results.Text {
		if err := results.Print(s.Stdout, s.Flags.Format, view.Structured(diags)); err != nil {
			return cli.Failure("write the result: %w", err)
		}
		return s.verdict()
	}
	style := s.ErrPalette(s.Flags.Color).Diagnostics
	for _, d := range diags {
		fmt.Fprint(s.Stderr, diag.Format(d, style))
	}
	s.printNotes()
	if err := view.Text(); err != nil {
		return cli.Failure("write the result: %w", err)
	}
	if summary := summarize(diags, without); summary != "" {
		fmt.Fprintln(s.Stderr, summary)
	}
	return s.verdict()
}

// summarize counts the diagnostics in a line; it is empty if there are none.
func summarize(diags diag.List, without string) string {
	summary := diags.Summary()
	if diags.HasErrors() && without != "" {
		summary += ": " + without
	}
	return summary
}

// verdict is the exit code. That time is up explains the rest; remote failures are not the model's fault, and hide what else is wrong.
func verdict(diags diag.List) error {
	if !diags.HasErrors() {
		return nil
	}
	if slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Rule == RuleTimeUp }) {
		return cli.ExitWith(cli.ExitTimeUp)
	}
	code := cli.ExitModel
	for _, d := range diags {
		switch {
		case d.Severity != diag.Error:
		case giterror.IsRemote(d.Rule), d.Rule == RuleLostRaces, d.Rule == RuleGitHubFailed, d.Rule == RuleFleetUnasked:
			return cli.ExitWith(cli.ExitRemote)
		case d.At.IsZero() && (d.Rule == giterror.RuleInvalidRepository || d.Rule == giterror.RuleRefusedURL):
			code = cli.ExitUsage // the command line names what cannot be read
		}
	}
	return cli.ExitWith(code)
}

// Report adds the reason why an environment could not be published somewhere.
func (r *Result) Report(destination *gitops.Destination, err error) {
	rule, hint := CauseOf(err)
	r.Diags.Error(rule, destination.Repo.Repo.At, fmt.Sprintf("GitOpsRepo %q: %v", destination.Repo.Name.Value, err), diag.Hint(hint))
}

// CauseOf returns the rule of what a remote did not do, and what can be done about it.
func CauseOf(err error) (rule, hint string) {
	var known *giterror.Error
	var refused *github.Error
	switch {
	case errors.As(err, &known):
		return known.Rule, known.Hint
	case errors.As(err, &refused):
		return RuleGitHubFailed, refused.Hint
	default:
		return giterror.RuleRemoteFailed, ""
	}
}
