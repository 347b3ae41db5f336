// Package report is kalypso report: the fleet in one HTML file.
package report

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

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
		Args: cobra.ExactArgs(1),
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

// write compiles all environments and writes what came of them.
func write(ctx context.Context, s *session.Session, file string) error {
	for _, environment := range s.Environments {
		s.Compile(ctx, environment, nil)
	}
	s.Begin("writing " + file)
	without := "the report has them"
	if ctx.Err() == nil {
		if err := writeReport(ctx, s, file); err != nil && ctx.Err() == nil {
			s.Diags.Error(ruleReportFile, diag.Place{}, fmt.Sprintf("write %s: %v", file, cli.WithoutPath(err)))
			without = "there is no report"
		}
	}
	if ctx.Err() != nil {
		return s.Stopped(ctx)
	}
	return s.Finish(without)
}

// checkReportFile refuses what cannot be written, before anything is compiled.
func checkReportFile(file string) error {
	if file == "" || file == "-" {
		return cli.Usage("FILE %q: name the file to write, such as fleet.html", file)
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return cli.Usage("FILE %s: it is a folder", file)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return cli.Usage("FILE %s: there is no folder %s", file, filepath.Dir(file))
	}
	return nil
}

// writeReport writes the file as a whole or not at all. A link stays one, and what is no regular file, such as a pipe, is
// written to.
func writeReport(ctx context.Context, s *session.Session, file string) error {
	mode := os.FileMode(0o666) // less what the umask takes
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	if info, err := os.Stat(file); err == nil {
		if !info.Mode().IsRegular() {
			return writeInto(ctx, s, file, os.O_WRONLY, 0)
		}
		mode = info.Mode().Perm()
	}
	temporary := fmt.Sprintf("%s.%d.tmp", file, os.Getpid())
	defer func() { _ = os.Remove(temporary) }() // of no effect once it has its name
	if err := writeInto(ctx, s, temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err != nil {
		return err
	}
	return os.Rename(temporary, file)
}

func writeInto(ctx context.Context, s *session.Session, name string, flags int, mode os.FileMode) error {
	file, err := os.OpenFile(name, flags, mode)
	if err != nil {
		return err
	}
	var environments []htmlreport.Environment
	for _, r := range s.Results {
		environments = append(environments, htmlreport.Environment{
			Name: r.Environment.Name.Value, Fleet: r.Fleet, Assignments: r.Assignments, Tree: r.Tree, Diags: slices.Concat(s.Diags, r.Diags),
		})
	}
	err = htmlreport.Write(ctx, file, s.Build.Version, environments)
	return cmp.Or(err, file.Close())
}
