// Package report is kalypso report: it writes an HTML report of the fleet.
package report

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/htmlreport"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// ruleReportFile is the rule of a report that cannot be written.
const ruleReportFile = "report-file"

// New returns kalypso report.
func New(e *cli.Host) *cobra.Command {
	opts := &session.Flags{}
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Generate a self-contained HTML report",
		Long: `Compile all environments, or those in --env, and write an HTML report: which deployment target is
scheduled on which cluster type and why, its configuration and manifests, and how the environments
differ. The file needs no network, so you can mail it or keep it as a workflow artifact. This command
publishes nothing.

If the model has errors, the report lists them, and the exit code is 1.`,
		Example: `  kalypso report fleet.html
  kalypso report fleet.html --env dev --base main`,
		Args: cli.Args(1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(opts.Check(), checkReportFile(args[0])); err != nil {
				return err
			}
			return session.Run(cmd.Context(), opts, e, true, func(ctx context.Context, s *session.Session) error {
				return write(ctx, s, args[0])
			})
		},
	}
	opts.Add(cmd, e)
	return cmd
}

// write compiles all environments and writes the report.
func write(ctx context.Context, s *session.Session, file string) error {
	for _, environment := range s.Environments {
		s.Compile(ctx, environment, nil)
	}
	s.Begin("writing " + file)
	without, text := "the report lists them", s.View.Text
	if ctx.Err() == nil {
		if err := writeReport(ctx, s, file); err != nil && ctx.Err() == nil {
			s.Diags.Error(ruleReportFile, diag.Place{}, fmt.Sprintf("write %s: %v", file, cli.WithoutPath(err)))
			without = "no report was written"
		} else {
			s.View.Text = func() error {
				err := text()
				fmt.Fprintln(s.Stdout, "wrote "+file)
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return s.Stopped(ctx)
	}
	return s.Finish(without)
}

// checkReportFile returns an error if the file cannot be written, before the fleet is compiled.
func checkReportFile(file string) error {
	if file == "" || file == "-" {
		return cli.Usage("FILE %q is not a file name; use a name such as fleet.html", file)
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return cli.Usage("FILE %s is a directory", file)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return cli.Usage("the directory of FILE %s does not exist", file)
	}
	return nil
}

// writeReport writes the report to the file, which stays unchanged if the report cannot be generated.
func writeReport(ctx context.Context, s *session.Session, file string) error {
	report := htmlreport.Report{Version: s.Build.Version}
	if main := s.Loader.Main(); main != nil {
		report.ControlPlane = (&diag.File{Repo: main.Repo}).String()
	}
	for _, r := range s.Results {
		environment := htmlreport.Environment{
			Name: r.Environment.Name.Value, Fleet: r.Fleet, Assignments: r.Assignments, Tree: r.Tree, Diags: slices.Concat(s.Diags, r.Diags),
		}
		if r.Fleet != nil {
			addSources(&environment, s)
		}
		report.Environments = append(report.Environments, environment)
	}
	var page bytes.Buffer
	if err := htmlreport.Write(ctx, &page, report); err != nil {
		return err
	}
	return os.WriteFile(file, page.Bytes(), 0o666)
}

// addSources adds the branches that an environment was compiled from, each once, and their newest date.
func addSources(e *htmlreport.Environment, s *session.Session) {
	origins, dates := s.Loader.Origins(e.Fleet)
	e.Date = dates.Newest(time.Time{})
	for _, o := range origins {
		source := htmlreport.Source{Name: (&diag.File{Repo: o.Repo, Branch: o.Branch}).String(), Commit: o.Commit}
		if !slices.Contains(e.Sources, source) {
			e.Sources = append(e.Sources, source)
		}
	}
}
