package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// ruleOutputFolder is the rule of what keeps an output folder from being written.
const ruleOutputFolder = "output-folder"

// renderOptions are the flags of kalypso render.
type renderOptions struct {
	fleetFlags
	publishFlags
	outputDir string
	dryRun    bool
	exitCode  bool
	// keepLastGood holds broken registrations back.
	keepLastGood bool
}

func newRender(e *edges) *cobra.Command {
	opts := &renderOptions{}
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Compile an environment and publish it",
		Long: `Compile an environment: schedule its deployment targets on its cluster types and render
the manifests of each. The result is published: one commit on the branch deployment/BRANCH of
each GitOps repository, and a pull request from there, which is updated in place. Nothing is
published if nothing changed.

--dry-run shows how the result differs from the GitOps branch and publishes nothing.
--output-dir writes it to a folder instead; with several environments, to a folder for each
below it.`,
		Example: `  kalypso render --env dev
  kalypso render --env dev --dry-run
  kalypso render --env dev --control-plane ./control-plane --output-dir out
  kalypso render --env dev --dry-run --replace 'https://github.com/acme/*=../*'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRender(cmd.Context(), e, opts) },
	}
	opts.fleetFlags.add(cmd, e)
	opts.publishFlags.add(cmd)
	cmd.Flags().StringVar(&opts.outputDir, "output-dir", "", "write the result to this `folder` and publish nothing; what kalypso did not write there stays")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "show the difference to the GitOps branch, change nothing")
	cmd.Flags().BoolVar(&opts.exitCode, "exit-code", false, "exit with code 4 if there are changes")
	cmd.Flags().BoolVar(&opts.keepLastGood, "keep-last-good", false, "compile a broken registration at the commit that went out last instead of failing; the exit code is 1 nevertheless")
	return cmd
}

func (o *renderOptions) check() error {
	switch {
	case o.dryRun && o.outputDir != "":
		return usageError("--dry-run changes nothing, --output-dir writes a folder: give one of them")
	}
	if o.publishes() && (o.worktree || o.base == gitops.WorktreeBase) {
		return usageError("a work tree holds what nobody has committed, so it is not published: give --dry-run or --output-dir FOLDER")
	}
	if o.publishes() && o.base != "" {
		return usageError("--base shows what promoting would do, and is not published: promote, or give --dry-run or --output-dir FOLDER")
	}
	if err := o.publishFlags.check(); err != nil {
		return err
	}
	return o.fleetFlags.check()
}

// publishes reports whether the result goes to the GitOps repositories.
func (o *renderOptions) publishes() bool { return !o.dryRun && o.outputDir == "" }

func runRender(ctx context.Context, e *edges, opts *renderOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	ctx, cancel := opts.limited(ctx)
	defer cancel()
	if opts.publishes() {
		opts.publication = &opts.publishFlags
	}
	session, err := opts.start(ctx, e, false)
	if err != nil {
		return err
	}
	defer session.close()
	session.quarantine = quarantineOptions{keepLastGood: opts.keepLastGood, comparing: opts.outputDir == "", allowDeletions: opts.allowDeletions}
	if opts.publishes() {
		return session.publish(ctx, opts)
	}
	for _, environment := range session.environments {
		session.compile(ctx, environment, opts.published(session, environment.Name.Value))
	}
	if ctx.Err() != nil {
		return session.stopped(ctx)
	}
	if opts.outputDir != "" && !session.failed() {
		for _, result := range session.results {
			session.checkFolder(result, opts.folder(session, result.environment.Name.Value))
		}
	}
	if session.failed() {
		return session.finish("nothing was written")
	}
	for _, result := range session.results {
		if opts.dryRun {
			session.dryRun(ctx, result)
		} else {
			session.write(ctx, result, opts.folder(session, result.environment.Name.Value))
		}
	}
	if ctx.Err() != nil && session.unfinished() {
		return session.stopped(ctx)
	}
	session.saveBodies(opts.saveBody)
	if err := session.finish(session.leftUndone()); err != nil {
		return err
	}
	if opts.exitCode && session.changed() {
		return &exitError{code: exitChanges}
	}
	return nil
}

// folder is where an environment is written.
func (o *renderOptions) folder(s *session, environment string) string {
	if len(s.environments) > 1 {
		return filepath.Join(o.outputDir, environment)
	}
	return o.outputDir
}

// published returns what is in the output folder now; nil if there is none.
func (o *renderOptions) published(s *session, environment string) fs.FS {
	if o.outputDir == "" {
		return nil
	}
	return os.DirFS(o.folder(s, environment))
}

// dryRun compares an environment with each of its GitOps branches.
func (s *session) dryRun(ctx context.Context, result *result) {
	if ctx.Err() != nil {
		return
	}
	s.begin("comparing " + result.environment.Name.Value + " with what is published")
	outputs := gitops.ReadOutputs(ctx, s.reader, result.fleet)
	if len(outputs) == 0 {
		result.notes = append(result.notes, "the environment has no GitOpsRepo: everything is listed as added")
		outputs = []gitops.Output{{}}
	}
	for _, output := range outputs {
		if ctx.Err() != nil { // the run says so
			s.diags.Add(output.Diags)
			continue
		}
		if output.Tree == nil && output.Repo != nil {
			result.notes = append(result.notes, fmt.Sprintf("the GitOps branch cannot be read, so everything is listed as added: %s", output.Diags[0].Message))
			if !output.New { // what is published is not known, and that is not nothing
				s.diags.Add(output.Diags)
				s.listed = true
			}
		}
		change, err := gitops.Compare(ctx, output.Tree, result.tree)
		if err != nil {
			s.diags.Error(gitops.RuleRemoteFailed, output.Repo.Path.At, s.reader.Scrub(err.Error()))
			continue
		}
		shown := newChangeResult(change, output)
		origins, _ := s.compiler.loader.Origins(result.fleet)
		report := s.report(result, origins)
		report.Change, shown.report = change, &report
		result.changes = append(result.changes, shown)
	}
}

// checkFolder reports what keeps an environment from being written to a folder, before anything is
// written anywhere.
func (s *session) checkFolder(result *result, folder string) {
	s.reportFolder(result, gitops.CheckFolder(folder, result.tree))
}

// write writes an environment to its folder.
func (s *session) write(ctx context.Context, result *result, folder string) {
	if ctx.Err() != nil {
		return
	}
	s.begin("writing " + result.environment.Name.Value)
	change, err := gitops.WriteFolder(ctx, folder, result.tree)
	if err != nil && ctx.Err() != nil {
		return // stopped, and says so
	}
	if err != nil {
		s.reportFolder(result, err)
		return
	}
	result.changes = append(result.changes, newChangeResult(change, gitops.Output{}))
	result.folder = folder
}

func (s *session) reportFolder(result *result, err error) {
	if err == nil {
		return
	}
	for line := range strings.Lines(err.Error()) { // several are joined
		s.diags.Error(ruleOutputFolder, diag.Place{}, result.environment.Name.Value+" cannot be written: "+strings.TrimSuffix(line, "\n"))
	}
}
