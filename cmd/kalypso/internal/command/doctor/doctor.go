// Package doctor is kalypso doctor: it checks what a run needs beside a model without errors.
package doctor

import (
	"bufio"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/render"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// New returns kalypso doctor.
func New(e *cli.Host) *cobra.Command {
	opts := &session.Flags{Permissions: (&render.PublishFlags{}).Permissions, Publishes: true}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check access, settings and workflows, and report what to fix",
		Long: `Check what kalypso needs to publish and promote: access to the repositories with the credentials of
this machine, branches, push access, branch rules, merge settings, GitHub Actions settings, workflow
files, tokens and the clock. Each result is ok, warning or error, with a hint. Checks that cannot run
are warnings that start with "not checked". This command changes nothing. To check the model, use
kalypso validate.

The exit code is 1 if there are errors, and 3 if the control plane is unreachable.`,
		Example: `  kalypso doctor
  kalypso doctor --control-plane https://github.com/acme/control-plane --env dev
  kalypso doctor -o json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return session.Connect(cmd.Context(), opts, e, func(ctx context.Context, s *session.Session) error {
				return (&run{Session: s, repos: map[string]*github.Repository{}, once: map[string]bool{}}).all(ctx)
			})
		},
	}
	opts.AddControlPlane(cmd, e)
	opts.AddParsing(cmd)
	opts.AddTimeout(cmd)
	cmd.Flags().Lookup("env").Usage = "`environment` to check (repeatable; default all)"
	return cmd
}

// The statuses of a check.
const (
	statusOK      = "ok"
	statusWarning = "warning"
	statusError   = "error"
)

// Result is what was checked, in JSON.
type Result struct {
	FormatVersion string  `json:"formatVersion"`
	Checks        []Check `json:"checks"`
}

// Check is the result of one check.
type Check struct {
	// Check is the stable name of what was checked.
	Check string `json:"check"`
	// Status is ok, warning or error.
	Status  string `json:"status"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// run is one run of the command.
type run struct {
	*session.Session
	checks []Check
	counts struct{ errors, warnings int }
	// applications are the branches of application repositories that the environments register.
	applications []model.Ref
	// repos are the GitOps repositories on GitHub; nil for one elsewhere.
	repos map[string]*github.Repository
	// once has what is checked only once: application repositories and tokens.
	once map[string]bool
	// workflowToken reports whether workflows may open pull requests with GITHUB_TOKEN: no other token was found.
	workflowToken bool
	// autoMerge reports whether a workflow uses --auto-merge.
	autoMerge bool
	// unreachable reports whether the network kept the control plane from being read.
	unreachable bool
}

func (r *run) ok(check, format string, args ...any) {
	r.add(check, statusOK, "", fmt.Sprintf(format, args...))
}

func (r *run) warn(check, hint, format string, args ...any) {
	r.counts.warnings++
	r.add(check, statusWarning, hint, fmt.Sprintf(format, args...))
}

func (r *run) error(check, hint, format string, args ...any) {
	r.counts.errors++
	r.add(check, statusError, hint, fmt.Sprintf(format, args...))
}

// errorOf adds an error about something.
func (r *run) errorOf(check, about string, err error) {
	rule, hint := session.CauseOf(err)
	r.error(check, hintOf(rule, hint), "%s%v", about, err)
}

// hintOf returns a hint for an error without one, if a server or the way to it is the cause.
func hintOf(rule, hint string) string {
	if hint == "" && giterror.IsRemote(rule) {
		return "check the URL, the network and the credentials"
	}
	return hint
}

func (r *run) add(check, status, hint, message string) {
	r.checks = append(r.checks, Check{check, status, r.Reader.Scrub(message), r.Reader.Scrub(hint)})
}

// all makes all checks and shows the results.
func (r *run) all(ctx context.Context) error {
	r.Workflow = nil // annotations and outputs are about what a run publishes
	r.View = session.View{Structured: r.result, Text: r.print}
	r.ok("version", "kalypso %s (%s, %s)", r.Build.Version, r.Build.GoVersion, r.Build.Platform)
	if r.controlPlane(ctx) {
		chosen, err := r.Flags.Choose(r.Host, r.Known, true)
		if err != nil {
			return err
		}
		r.workflows(r.Names)
		for _, environment := range chosen {
			r.environment(ctx, environment)
		}
		r.registered(ctx)
		r.actions(ctx)
	}
	if ctx.Err() != nil {
		return r.Stopped(ctx)
	}
	if err := r.Finish(""); err != nil {
		return err
	}
	switch {
	case r.unreachable:
		return cli.ExitWith(cli.ExitRemote)
	case r.counts.errors > 0:
		return cli.ExitWith(cli.ExitModel)
	}
	return nil
}

// result returns the result for JSON. diags are the errors that ended the run.
func (r *run) result(diags diag.List) any {
	for _, d := range diags {
		r.error(d.Rule, hintOf(d.Rule, d.Hint), "%s", d.Message)
	}
	return Result{results.Version, r.checks}
}

// print writes the results for people.
func (r *run) print() error {
	colours := r.OutPalette(r.Flags.Color)
	paint := map[string]func(string) string{
		statusOK: colours.Added, statusWarning: colours.Diagnostics.Warning, statusError: colours.Diagnostics.Error,
	}
	out := bufio.NewWriter(r.Stdout)
	for _, c := range r.checks {
		fmt.Fprintf(out, "%s: %s\n", paint[c.Status](c.Status), diag.Safe(c.Message))
		if c.Hint != "" {
			fmt.Fprintf(out, "    %s %s\n", colours.Diagnostics.Hint("hint:"), diag.Safe(c.Hint))
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(r.Stderr, "%s, %s\n", diag.Plural(r.counts.errors, "error"), diag.Plural(r.counts.warnings, "warning"))
	return err
}
