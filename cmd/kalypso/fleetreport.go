package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/picture"
)

// ruleReportFile is the rule of a report that cannot be written.
const ruleReportFile = "report-file"

func newPicture(e *edges) *cobra.Command {
	opts := &fleetFlags{}
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Make a picture of the fleet: one HTML file that needs nothing else",
		Long: `Compile all environments, or those that --env names, and write what came of them to one HTML file:
which deployment target is on which cluster type and why, with which configuration and which
manifests, and how the environments differ. It needs no network, so it can be mailed, or kept as
the artifact of a workflow. Nothing else is written or published.

If the model has errors, they are in the file, and the exit code is 1.`,
		Example: `  kalypso report fleet.html
  kalypso report fleet.html --env dev --base main`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runReport(cmd.Context(), e, opts, args[0]) },
	}
	opts.add(cmd, e)
	return cmd
}

func runReport(ctx context.Context, e *edges, opts *fleetFlags, file string) error {
	if err := opts.check(); err != nil {
		return err
	}
	ctx, cancel := opts.limited(ctx)
	defer cancel()
	if err := checkReportFile(file); err != nil {
		return err
	}
	session, err := opts.start(ctx, e, true)
	if err != nil {
		return err
	}
	defer session.close()
	for _, environment := range session.environments {
		session.compile(ctx, environment, nil)
	}
	session.begin("writing " + file)
	without := "the report has them"
	if ctx.Err() == nil {
		if err := session.writeReport(ctx, file); err != nil && ctx.Err() == nil {
			session.diags.Error(ruleReportFile, diag.Place{}, fmt.Sprintf("write %s: %v", file, withoutPath(err)))
			without = "there is no report"
		}
	}
	if ctx.Err() != nil {
		return session.stopped(ctx)
	}
	return session.finish(without)
}

// checkReportFile refuses what cannot be written, before anything is compiled.
func checkReportFile(file string) error {
	if file == "" || file == "-" {
		return usageError("FILE %q: name the file to write, such as fleet.html", file)
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return usageError("FILE %s: it is a folder", file)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return usageError("FILE %s: there is no folder %s", file, filepath.Dir(file))
	}
	return nil
}

// writeReport writes the file as a whole or not at all. A link stays one, and what is no regular file, such as a pipe, is
// written to.
func (s *session) writeReport(ctx context.Context, file string) error {
	mode := os.FileMode(0o666) // less what the umask takes
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	if info, err := os.Stat(file); err == nil {
		if !info.Mode().IsRegular() {
			return s.writeInto(ctx, file, os.O_WRONLY, 0)
		}
		mode = info.Mode().Perm()
	}
	temporary := fmt.Sprintf("%s.%d.tmp", file, os.Getpid())
	defer func() { _ = os.Remove(temporary) }() // of no effect once it has its name
	if err := s.writeInto(ctx, temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err != nil {
		return err
	}
	return os.Rename(temporary, file)
}

func (s *session) writeInto(ctx context.Context, name string, flags int, mode os.FileMode) error {
	file, err := os.OpenFile(name, flags, mode)
	if err != nil {
		return err
	}
	err = picture.Write(ctx, file, s.version, s.pictured())
	return cmp.Or(err, file.Close())
}

// pictured are the environments as the report shows them.
func (s *session) pictured() []picture.Environment {
	var all []picture.Environment
	for _, r := range s.results {
		diags := append(diag.List{}, s.diags...)
		diags.Add(r.diags)
		all = append(all, picture.Environment{
			Name: r.environment.Name.Value, Fleet: r.fleet, Assignments: r.assignments, Tree: r.tree, Diags: diags,
		})
	}
	return all
}
