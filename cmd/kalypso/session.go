package main

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// session is one run of a command over a fleet: what was read, what came of it, what to report.
type session struct {
	*edges
	flags        *fleetFlags
	reader       *gitops.Reader
	compiler     *compiler
	environments []*model.Environment
	results      []*result
	// diags are those of no environment; an environment's own are in its result.
	diags diag.List
	// destinations are where each environment is published.
	destinations map[string][]*gitops.Destination
	// forges are the clients for GitHub, by repository.
	forges map[string]forge
	// publishedBefore is what earlier tries have published, by destination.
	publishedBefore map[string]gitops.Published
	// quarantine says how broken registrations are treated.
	quarantine quarantineOptions
	// listed says that the result is worth showing although there are errors.
	listed bool
	// doing is what the run is about, for when it is stopped.
	doing    string
	progress *progress
	// known are all environments of the control plane, as it was read last.
	known []*model.Environment
	// view is what the command shows of the run; nil for what became of the environments.
	view view
}

// view is what a command shows of its run.
type view interface {
	// structured is the result for -o json.
	structured(diags diag.List) any
	// text writes the result for people.
	text() error
	// actions completes what is said in GitHub Actions.
	actions(r actionsReport) actionsReport
}

// environmentsView shows what became of the environments.
type environmentsView struct{ *session }

func (v environmentsView) structured(diags diag.List) any { return newReport(v.session, diags) }

func (v environmentsView) text() error {
	if v.failed() && !v.listed {
		return nil
	}
	return v.printText()
}

func (v environmentsView) actions(r actionsReport) actionsReport { return r }

// result is what came of one environment.
type result struct {
	*compiled
	changes []*changeResult
	// notes are for people, beside the diagnostics.
	notes []string
	// folder is where the environment was written, if it was.
	folder string
	// partly says that it could not be published to all of its GitOps repositories.
	partly bool
}

// start opens the control plane and chooses the environments; all is what to do without --env.
func (f *fleetFlags) start(ctx context.Context, e *edges, all bool) (*session, error) {
	e, progress := e.withProgress(f.color)
	reader, loader, err := f.open(e, progress)
	if err != nil {
		return nil, err
	}
	s := &session{edges: e, flags: f, progress: progress}
	if err := s.readControlPlane(ctx, reader, loader, all); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// reopen reads the control plane anew. What was compiled and published stays.
func (s *session) reopen(ctx context.Context) error {
	reader, loader, err := s.flags.open(s.edges, s.progress)
	if err != nil {
		return err
	}
	reader.Continue(s.reader)
	s.close()
	return s.readControlPlane(ctx, reader, loader, true)
}

// readControlPlane reads the environments and, the first time, chooses among them.
func (s *session) readControlPlane(ctx context.Context, reader *gitops.Reader, loader *gitops.Loader, all bool) error {
	if !s.load(ctx, reader, loader) {
		if ctx.Err() != nil {
			return s.stopped(ctx)
		}
		return s.finish(s.leftUnread())
	}
	chosen, err := s.flags.choose(s.edges, s.known, all)
	if err == nil && s.environments == nil {
		s.environments = chosen
	}
	return err
}

// load reads the environments, and tells whether it could. The diagnostics of the session say why not.
func (s *session) load(ctx context.Context, reader *gitops.Reader, loader *gitops.Loader) bool {
	s.reader = reader
	s.begin("reading the control plane")
	environments, diags := loader.Environments(ctx)
	s.diags = diags
	if ctx.Err() != nil || diags.HasErrors() {
		return false
	}
	s.known = environments
	s.compiler = &compiler{reader: reader, loader: loader, names: environmentNames(environments)}
	return true
}

// begin says what the run is about from now on.
func (s *session) begin(doing string) {
	s.doing = doing
	s.progress.phase(doing)
}

// report is what a publication of a result says, but for the change.
func (s *session) report(result *result, origins []gitops.Origin) gitops.Report {
	name := result.environment.Name.Value
	report := gitops.Report{Environment: name, Held: result.held.registrations, Now: gitops.Provenance{
		Version: s.version, Environment: name, Origins: append(origins, result.held.origins...),
	}}
	for _, d := range result.diags {
		if d.Severity == diag.Warning {
			report.Warnings = append(report.Warnings, d)
		}
	}
	return report
}

func (s *session) close() {
	_ = s.reader.Close() // nothing was written through it
}

// compile compiles an environment, unless the run has been stopped. folder is where the output is
// written, if anywhere: what is in it counts as published.
func (s *session) compile(ctx context.Context, environment *model.Environment, folder fs.FS) {
	if ctx.Err() != nil {
		return
	}
	s.begin("reading " + environment.Name.Value)
	compiled := s.compiler.read(ctx, environment)
	if compiled.fleet != nil && ctx.Err() == nil {
		s.begin("rendering " + environment.Name.Value)
		s.compiler.render(ctx, compiled, folder)
	}
	s.compareOwners(ctx, nil, compiled, folder)
	if s.quarantine.keepLastGood && compiled.diags.HasErrors() && ctx.Err() == nil {
		compiled = s.quarantineBroken(ctx, compiled, folder)
	}
	if len(s.environments) > 1 {
		for i, d := range compiled.diags {
			if d.At.IsZero() {
				compiled.diags[i].Message = environment.Name.Value + ": " + d.Message
			}
		}
	}
	again := slices.IndexFunc(s.results, func(r *result) bool { return r.environment.Name.Value == environment.Name.Value })
	if again >= 0 {
		s.results[again] = &result{compiled: compiled}
		return
	}
	s.results = append(s.results, &result{compiled: compiled})
}

// result returns what came of an environment that was compiled.
func (s *session) result(environment *model.Environment) *result {
	i := slices.IndexFunc(s.results, func(r *result) bool { return r.environment.Name.Value == environment.Name.Value })
	return s.results[i]
}

// all returns the diagnostics of the run so far.
func (s *session) all() diag.List {
	all := slices.Clone(s.diags)
	for _, r := range s.results {
		all.Add(r.diags)
	}
	return all
}

func (s *session) failed() bool { return s.all().HasErrors() }

func (s *session) changed() bool {
	return slices.ContainsFunc(s.results, func(r *result) bool {
		return slices.ContainsFunc(r.changes, func(c *changeResult) bool { return !c.change.Empty() })
	})
}

// finish prints the result and the diagnostics, and returns the error that the run ends with.
// without says what errors kept from happening.
func (s *session) finish(without string) error {
	diags, without := s.told(without)
	s.progress.done()
	view := s.view
	if view == nil {
		view = environmentsView{s}
	}
	if s.workflow != nil {
		if err := s.workflow.say(view.actions(s.actionsReport("kalypso", summarize(diags, without), diags))); err != nil {
			fmt.Fprintf(s.stderr, "kalypso: %v\n", err) // what came of the run itself is more important
		}
	}
	if s.flags.format != formatText {
		if err := printStructured(s.stdout, s.flags.format, view.structured(diags)); err != nil {
			return &exitError{exitModel, fmt.Errorf("write the result: %w", err)}
		}
		return s.verdict()
	}
	printDiagnostics(s.stderr, diags, style(s.colourful(s.flags.color, s.stderrTerminal)))
	s.printNotes()
	if err := view.text(); err != nil {
		return &exitError{exitModel, fmt.Errorf("write the result: %w", err)}
	}
	if summary := summarize(diags, without); summary != "" {
		fmt.Fprintln(s.stderr, summary)
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
	if slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Rule == ruleTimeUp }) {
		return &exitError{code: exitTimeUp}
	}
	code := exitModel
	for _, d := range diags {
		switch {
		case d.Severity != diag.Error:
		case gitops.IsRemote(d.Rule), d.Rule == ruleLostRaces, d.Rule == ruleGitHubFailed, d.Rule == ruleFleetUnasked:
			return &exitError{code: exitRemote}
		case d.At.IsZero() && (d.Rule == gitops.RuleInvalidRepository || d.Rule == gitops.RuleRefusedURL):
			code = exitUsage // the command line names what cannot be read
		}
	}
	return &exitError{code: code}
}
