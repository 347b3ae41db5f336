// Package render is kalypso render: it compiles environments and publishes them, or shows what would be published.
package render

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// ruleOutputFolder is the rule of what keeps an output directory from being written.
const ruleOutputDirectory = "output-folder"

// Options are the flags of kalypso render.
type Options struct {
	session.Flags
	*PublishFlags
	outputDir string
	dryRun    bool
	exitCode  bool
	stat      bool
	// KeepLastGood holds broken registrations back.
	keepLastGood bool
}

// New returns kalypso render.
func New(e *cli.Host) *cobra.Command {
	opts := &Options{PublishFlags: &PublishFlags{}}
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Compile an environment and publish the manifests",
		Long: `Compile an environment: schedule its deployment targets on its cluster types and render their
manifests. Then publish the result: push one commit to the branch deployment/BRANCH of each GitOps
repository, and open or update one pull request into BRANCH, from which the clusters pull. If nothing
changed, nothing is published.

--dry-run shows how the result differs from the GitOps branch and publishes nothing.
--output-dir writes the result to a directory instead, or to one subdirectory per environment if there are
several.`,
		Example: `  kalypso render --env dev
  kalypso render --env dev --dry-run
  kalypso render --env dev --control-plane ./control-plane --output-dir out
  kalypso render --env dev --dry-run --replace 'https://github.com/acme/*=../*'`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRender(cmd.Context(), e, opts) },
	}
	opts.Flags.Add(cmd, e)
	opts.PublishFlags.Add(cmd, e)
	opts.AddStrict(cmd)
	cmd.Flags().StringVar(&opts.outputDir, "output-dir", "", "write the result to this `directory` instead of publishing it; other files in it are kept")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "show the differences from the GitOps branch, change nothing")
	cmd.Flags().BoolVar(&opts.exitCode, "exit-code", false, "exit with code 4 if there are changes")
	cmd.Flags().BoolVar(&opts.keepLastGood, "keep-last-good", false, "compile a broken registration at its last published commit instead of stopping; the exit code is still 1")
	cli.Group(cmd.Flags(), cli.Source, "env control-plane committed replace", "base-branch base")
	cmd.Flags().BoolVar(&opts.stat, "stat", false, "with --dry-run: show only counts per cluster type")
	cli.Group(cmd.Flags(), cli.Output, "dry-run stat output-dir output exit-code", "color strict")
	cli.Group(cmd.Flags(), cli.Publishing, "", "keep-last-good")
	return cmd
}

func (o *Options) check() error {
	if o.dryRun && o.outputDir != "" {
		return cli.Usage("--dry-run and --output-dir cannot be combined")
	}
	if o.stat && !o.dryRun {
		return cli.Usage("--stat requires --dry-run")
	}
	if o.publishes() && (o.Worktree || o.Base == source.WorktreeBase) {
		return cli.Usage("uncommitted changes cannot be published: commit and push them, or add --dry-run or --output-dir FOLDER")
	}
	if o.publishes() && o.Base != "" {
		return cli.Usage("--base requires --dry-run or --output-dir, because only promoted commits are published")
	}
	return o.PublishFlags.Check()
}

// publishes reports whether the result goes to the GitOps repositories.
func (o *Options) publishes() bool { return !o.dryRun && o.outputDir == "" }

func runRender(ctx context.Context, e *cli.Host, opts *Options) error {
	if err := opts.check(); err != nil {
		return err
	}
	run := (*Publisher).preview
	if opts.publishes() {
		opts.Flags.Permissions, opts.Flags.Publishes, run = opts.PublishFlags.Permissions, true, (*Publisher).publish
	}
	return session.Run(ctx, &opts.Flags, e, false, func(ctx context.Context, s *session.Session) error {
		s.Quarantine = session.Quarantine{KeepLastGood: opts.keepLastGood, Comparing: opts.outputDir == "", AllowDeletions: opts.allowDeletions}
		s.View.Paged = opts.dryRun
		if opts.stat {
			s.View.Text = s.PrintStat
		}
		if err := run(&Publisher{Session: s}, ctx, opts); err != nil {
			return err
		}
		if opts.exitCode && s.Changed() {
			return cli.ExitWith(cli.ExitChanges)
		}
		return nil
	})
}

// publish compiles the environments and publishes each of them. One that another run overtakes is
// compiled again, from reading.
func (s *Publisher) publish(ctx context.Context, opts *Options) error {
	if err := s.PublishUntilNewest(ctx, opts); err != nil {
		return err
	}
	return s.Finish(s.LeftUnpublished())
}

// preview compiles the environments, and unless something is wrong shows what would be published, or writes it to directories.
func (s *Publisher) preview(ctx context.Context, opts *Options) error {
	directories := s.compile(ctx, opts)
	defer func() {
		for _, directory := range directories {
			_ = directory.Discard() // nothing, if it was written
		}
	}()
	if ctx.Err() != nil {
		return s.Stopped(ctx)
	}
	if opts.outputDir != "" && !s.Failed() {
		for _, result := range s.Results { // before anything is written anywhere
			s.reportDirectory(result, gitops.CheckDirectory(opts.directory(s, result.Environment.Name.Value), result.Tree))
		}
	}
	if s.Failed() {
		return s.Finish("nothing was written")
	}
	for _, result := range s.Results {
		switch {
		case ctx.Err() != nil:
		case opts.dryRun:
			s.dryRun(ctx, opts, result)
		default:
			name := result.Environment.Name.Value
			s.write(ctx, result, directories[name], opts.directory(s, name))
		}
	}
	if ctx.Err() != nil && s.Unfinished() {
		return s.Stopped(ctx)
	}
	s.saveBodies(opts.saveBody)
	return s.Finish(s.LeftUndone())
}

// compile compiles the environments, and returns the output directory of each if there are any.
func (s *Publisher) compile(ctx context.Context, opts *Options) map[string]*gitops.Directory {
	directories := map[string]*gitops.Directory{}
	for _, environment := range s.Environments {
		name := environment.Name.Value
		if opts.outputDir != "" {
			directories[name] = gitops.OpenDirectory(opts.directory(s, name))
		}
		s.Compile(ctx, environment, directories[name])
		if result := s.Result(environment); result != nil {
			s.RefuseWarnings(result)
		}
	}
	return directories
}

// directory is where an environment is written.
func (o *Options) directory(s *Publisher, environment string) string {
	if len(s.Environments) > 1 {
		return filepath.Join(o.outputDir, environment)
	}
	return o.outputDir
}

// dryRun compares an environment with each of its GitOps branches.
func (s *Publisher) dryRun(ctx context.Context, opts *Options, result *session.Result) {
	s.Begin("comparing " + result.Environment.Name.Value + " with the published output")
	outputs := gitops.ReadOutputs(ctx, s.Reader, result.Fleet)
	if len(outputs) == 0 {
		result.Notes = append(result.Notes, "the environment has no GitOpsRepo: everything is listed as added")
		outputs = []gitops.Output{{}}
	}
	readable := func(yield func(*gitops.Destination, gitops.Output) bool) {
		for _, output := range outputs {
			if ctx.Err() != nil { // the caller reports it
				s.Diags.Add(output.Diags)
				continue
			}
			if output.Tree == nil && output.Repo != nil {
				result.Notes = append(result.Notes, fmt.Sprintf("the GitOps branch cannot be read, so everything is listed as added: %s", output.Diags[0].Message))
				if !output.New { // what is published is not known, and that is not nothing
					s.Diags.Add(output.Diags)
					s.Listed = true
				}
			}
			if !yield(nil, output) {
				return
			}
		}
	}
	show := func(_ *gitops.Destination, output gitops.Output, diff *change.Change, err error) {
		if err != nil {
			s.Diags.Error(giterror.RuleRemoteFailed, output.Repo.Path.At, s.Reader.Scrub(err.Error()))
			return
		}
		shown, report := session.NewChangeResult(diff, output), s.report(result, output.Repo, diff)
		shown.Report = &report
		result.Changes = append(result.Changes, shown)
		if output.Repo != nil && !diff.Empty() {
			opts.warnRefused(result, output.Repo, diff)
		}
	}
	s.Line(ctx, result.Environment, session.Stages{Compiled: result.Compiled, Outputs: readable, Publish: show})
	s.RefuseWarnings(result)
}

// warnRefused reports why publishing a change would be refused.
func (o *Options) warnRefused(result *session.Result, repo *model.GitOpsRepo, diff *change.Change) {
	if text := diff.MassDeletion(repo.Repo.Value); text != "" && !o.allowDeletions {
		result.Diags.Warning(change.RuleDeletions, repo.Repo.At, "publishing would be refused: "+text, diag.Hint("if intended, publish with --allow-deletions"))
	}
	result.Diags.Add(repo.Publishing.Commit.Unsigned(o.signingKey != "", true))
}

// write writes an environment to its directory.
func (s *Publisher) write(ctx context.Context, result *session.Result, directory *gitops.Directory, name string) {
	s.Begin("writing " + result.Environment.Name.Value)
	diff, err := directory.Write(ctx, result.Tree)
	switch {
	case err == nil:
		result.Changes = append(result.Changes, session.NewChangeResult(diff, gitops.Output{}))
		result.Directory = name
	case ctx.Err() == nil: // else it was stopped, which the caller reports
		s.reportDirectory(result, err)
	}
}

func (s *Publisher) reportDirectory(result *session.Result, err error) {
	if err == nil {
		return
	}
	for line := range strings.Lines(err.Error()) { // several are joined
		s.Diags.Error(ruleOutputDirectory, diag.Place{}, result.Environment.Name.Value+" cannot be written: "+strings.TrimSuffix(line, "\n"))
	}
}
