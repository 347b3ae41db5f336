package main

import (
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
	session, err := opts.start(ctx, e, true)
	if err != nil {
		return err
	}
	defer session.close()
	for _, environment := range session.environments {
		session.compile(ctx, environment, nil)
	}
	session.begin("writing " + file)
	if ctx.Err() == nil {
		if err := session.writeReport(ctx, file); err != nil && ctx.Err() == nil {
			session.diags.Error(ruleReportFile, diag.Place{}, err.Error())
		}
	}
	if ctx.Err() != nil {
		return session.stopped(ctx)
	}
	return session.finish("the report has them")
}

// writeReport writes the file as a whole or not at all.
func (s *session) writeReport(ctx context.Context, file string) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), ".kalypso-report-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, withoutPath(err))
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // of no effect once it has its name
	err = picture.Write(ctx, temporary, s.version, s.pictured())
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(temporary.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
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
