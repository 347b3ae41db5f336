package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// The rules of failures of a run.
const (
	// RuleLostRaces is a run that concurrent updates prevented repeatedly.
	RuleLostRaces = "lost-races"
	// RuleGitHubFailed is a failed request to GitHub.
	RuleGitHubFailed = "github-failed"
	// RuleFleetUnasked is a fleet source that could not be queried.
	RuleFleetUnasked = "fleet-unreachable"
	// RuleSaveBody is a pull request body that cannot be saved.
	RuleSaveBody = "save-body"
	// RuleTimeUp is a run that exceeded --timeout.
	RuleTimeUp = "time-is-up"
)

// Finish prints the result and the diagnostics, and returns the error of the run. without names what did not happen because
// of errors; quarantined registrations do not prevent it.
func (s *Session) Finish(without string) error {
	if s.holds() && !s.Failed() {
		without = s.heldSummary()
	}
	diags := s.all()
	for _, r := range s.Results {
		diags.Add(r.Held.Diags)
	}
	if s.Compiler != nil {
		diags.Add(s.Reader.LocalState(s.Flags.Base == source.WorktreeBase))
	}
	diags = diags.Sorted()
	summary := diags.Summary()
	if diags.HasErrors() && without != "" {
		summary += ": " + without
	}
	s.Progress.Done()
	if s.Workflow != nil {
		report := s.actionsReport("kalypso", summary, diags)
		if s.View.Actions != nil {
			s.View.Actions(&report)
		}
		if err := s.Workflow.Say(report); err != nil {
			fmt.Fprintf(s.Stderr, "kalypso: %v\n", err) // the error of the run itself is more important
		}
	}
	if err := s.print(diags, summary); err != nil {
		return cli.Failure("write the result: %w", err)
	}
	return s.verdict()
}

func (s *Session) print(diags diag.List, summary string) error {
	if write := s.View.MoreFormats[s.Flags.Format]; write != nil {
		return write(s, diags)
	}
	if s.Flags.Format != results.Text {
		return results.Print(s.Stdout, s.Flags.Format, s.View.Structured(diags))
	}
	style := s.ErrPalette(s.Flags.Color).Diagnostics
	for _, d := range diags {
		if d.Severity != diag.Notice || !s.Quiet {
			fmt.Fprint(s.Stderr, diag.Format(d, style))
		}
	}
	for _, result := range s.Results {
		for _, note := range result.Notes {
			s.notice("%s: %s", result.Environment.Name.Value, diag.Safe(note))
		}
	}
	if err := s.printView(); err != nil {
		return err
	}
	if summary != "" {
		fmt.Fprintln(s.Stderr, summary)
	}
	if errs := diags.Only(diag.Error); len(errs) > 0 && s.StderrTerminal {
		s.notice("see kalypso explain %s", errs[0].Rule)
	}
	return nil
}

// printView writes the result for people, in a pager if it may be long.
func (s *Session) printView() error {
	stdout := s.Stdout
	defer func() { s.Stdout = stdout }()
	if !s.View.Paged || !s.StdoutTerminal {
		out := bufio.NewWriter(stdout) // keeps the first error
		s.Stdout = out
		return errors.Join(s.View.Text(), out.Flush())
	}
	var text bytes.Buffer
	s.Stdout = &text
	err := s.View.Text()
	s.Stdout = stdout
	return errors.Join(err, s.Page(text.Bytes()))
}

// notice writes a line to stderr, unless --quiet is set.
func (s *Session) notice(format string, args ...any) {
	if !s.Quiet {
		fmt.Fprintf(s.Stderr, format+"\n", args...)
	}
}

// verdict is the error of a completed run.
func (s *Session) verdict() error {
	code := exitCode(s.all())
	partly := slices.ContainsFunc(s.Results, func(r *Result) bool { return r.Partly })
	switch {
	case partly && code != cli.ExitDone && code != cli.ExitTimeUp:
		code = cli.ExitRemote
	case code == cli.ExitDone && s.holds() && !s.Quarantine.Tolerant:
		code = cli.ExitModel
	}
	if code == cli.ExitDone {
		return nil
	}
	return cli.ExitWith(code)
}

// exitCode is the exit code of diagnostics. A timeout explains all other errors, and a remote failure can hide errors of
// the model, so they take precedence.
func exitCode(diags diag.List) int {
	code := cli.ExitDone
	for _, d := range diags {
		switch {
		case d.Severity != diag.Error:
		case d.Rule == RuleTimeUp:
			return cli.ExitTimeUp
		case code == cli.ExitRemote:
		case giterror.IsRemote(d.Rule), d.Rule == RuleLostRaces, d.Rule == RuleGitHubFailed, d.Rule == RuleFleetUnasked:
			code = cli.ExitRemote
		case d.Rule == giterror.RuleLocalState, d.At.IsZero() && (d.Rule == giterror.RuleInvalidRepository || d.Rule == giterror.RuleRefusedURL):
			code = cli.ExitUsage // a value on the command line cannot be read
		case code == cli.ExitDone:
			code = cli.ExitModel
		}
	}
	return code
}

// Fail adds the error of a remote. It returns usage errors instead.
func (s *Session) Fail(at diag.Place, err error) error {
	if _, asks := cli.ExitOf(err); asks {
		return err
	}
	rule, hint := CauseOf(err)
	s.Diags.Error(rule, at, s.Reader.Scrub(err.Error()), diag.Hint(hint))
	return nil
}

// Report adds the error of a destination of an environment.
func (c *Compiled) Report(destination *gitops.Destination, err error) {
	rule, hint := CauseOf(err)
	c.Diags.Error(rule, destination.Repo.Repo.At, fmt.Sprintf("GitOpsRepo %q: %v", destination.Repo.Name.Value, err), diag.Hint(hint))
}

// CauseOf returns the rule and the hint for the error of a remote.
func CauseOf(err error) (rule, hint string) {
	var known *giterror.Error
	var refused *github.Error
	var unasked *promote.FleetError
	switch {
	case errors.As(err, &unasked):
		return RuleFleetUnasked, unasked.Hint
	case errors.As(err, &known):
		return known.Rule, known.Hint
	case errors.As(err, &refused):
		return RuleGitHubFailed, refused.Hint
	default:
		return giterror.RuleRemoteFailed, ""
	}
}

// Stopped ends a run whose context has ended. After a timeout, it reports the results so far and the current step.
func (s *Session) Stopped(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ErrTimeUp) {
		s.Progress.Done()
		for _, published := range s.Pushed() {
			s.SayPushed(published.Commit, published.Branch, published.Repo)
		}
		return cause // the caller reports it
	}
	s.TimeUp()
	return s.Finish(s.LeftUndone())
}

// SayPushed prints a commit that an interrupted run has pushed.
func (s *Session) SayPushed(commit, branch, repo string) {
	fmt.Fprintf(s.Stderr, "kalypso: pushed %.12s to %s of %s; the next run continues\n", commit, diag.Safe(branch), repo)
}

// TimeUp reports that a run exceeded --timeout.
func (s *Session) TimeUp() {
	s.Diags.Error(RuleTimeUp, diag.Place{}, fmt.Sprintf("timed out after %v, while %s", s.Flags.timeout, s.doing),
		diag.Hint("increase --timeout"))
}

// LeftUndone describes what was written or published before an error.
func (s *Session) LeftUndone() string {
	if len(s.Pushed()) > 0 {
		return "not everything was published"
	}
	var written []string
	for _, result := range s.Results {
		if result.Directory != "" {
			written = append(written, result.Environment.Name.Value)
		}
	}
	if len(written) == 0 {
		return "nothing was written"
	}
	return "only " + strings.Join(written, ", ") + " was written"
}
