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
	diags        diag.List
	// listed says that the result is worth showing although there are errors.
	listed bool
	// doing is what the run is about, for when it is stopped.
	doing string
}

// result is what came of one environment.
type result struct {
	*compiled
	changes []*changeResult
	// notes are for people, beside the diagnostics.
	notes []string
	// folder is where the environment was written, if it was.
	folder string
}

// start opens the control plane and chooses the environments; all is what to do without --env.
func (f *fleetFlags) start(ctx context.Context, e *edges, all bool) (*session, error) {
	reader, loader, err := f.open(e)
	if err != nil {
		return nil, err
	}
	s := &session{edges: e, flags: f, reader: reader, doing: "reading the control plane"}
	environments, diags := loader.Environments(ctx)
	s.diags = diags
	if ctx.Err() != nil {
		defer s.close()
		return nil, s.stopped(ctx)
	}
	if diags.HasErrors() {
		defer s.close()
		return nil, s.finish("nothing was compiled")
	}
	s.environments, err = f.choose(e, environments, all)
	if err != nil {
		s.close()
		return nil, err
	}
	s.compiler = &compiler{reader: reader, loader: loader, names: environmentNames(environments)}
	return s, nil
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
	s.doing = "reading " + environment.Name.Value
	compiled := s.compiler.read(ctx, environment)
	if compiled.fleet != nil && ctx.Err() == nil {
		s.doing = "rendering " + environment.Name.Value
		s.compiler.render(ctx, compiled, folder)
	}
	for _, d := range compiled.diags {
		if d.At.IsZero() && len(s.environments) > 1 {
			d.Message = environment.Name.Value + ": " + d.Message
		}
		s.diags = append(s.diags, d)
	}
	s.results = append(s.results, &result{compiled: compiled})
}

func (s *session) failed() bool { return s.diags.HasErrors() }

func (s *session) changed() bool {
	return slices.ContainsFunc(s.results, func(r *result) bool {
		return slices.ContainsFunc(r.changes, func(c *changeResult) bool { return !c.change.Empty() })
	})
}

// finish prints the result and the diagnostics, and returns the error that the run ends with.
// without says what errors kept from happening.
func (s *session) finish(without string) error {
	s.diags = s.diags.Sorted()
	if s.flags.format != formatText {
		if err := printStructured(s.stdout, s.flags.format, newReport(s)); err != nil {
			return &exitError{exitModel, fmt.Errorf("write the result: %w", err)}
		}
		return s.verdict()
	}
	printDiagnostics(s.stderr, s.diags, style(s.colourful(s.flags.color, s.stderrTerminal)))
	if !s.failed() || s.listed {
		if err := s.printText(); err != nil {
			return &exitError{exitModel, fmt.Errorf("write the result: %w", err)}
		}
	}
	if summary := s.diags.Summary(); summary != "" {
		if s.failed() && without != "" {
			summary += ": " + without
		}
		fmt.Fprintln(s.stderr, summary)
	}
	return s.verdict()
}

// verdict is the exit code. That time is up explains the rest; remote failures are not the model's fault, and hide what else is wrong.
func (s *session) verdict() error {
	if !s.failed() {
		return nil
	}
	if slices.ContainsFunc(s.diags, func(d diag.Diagnostic) bool { return d.Rule == ruleTimeUp }) {
		return &exitError{code: exitTimeUp}
	}
	code := exitModel
	for _, d := range s.diags {
		switch {
		case d.Severity != diag.Error:
		case gitops.IsRemote(d.Rule):
			return &exitError{code: exitRemote}
		case d.At.IsZero() && (d.Rule == gitops.RuleInvalidRepository || d.Rule == gitops.RuleRefusedURL):
			code = exitUsage // the command line names what cannot be read
		}
	}
	return &exitError{code: code}
}
