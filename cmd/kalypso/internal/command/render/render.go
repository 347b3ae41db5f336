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
)

// ruleOutputFolder is the rule of what keeps an output folder from being written.
const ruleOutputFolder = "output-folder"

// Options are the flags of kalypso render.
type Options struct {
	session.Flags
	PublishFlags
	outputDir string
	dryRun    bool
	exitCode  bool
	// KeepLastGood holds broken registrations back.
	keepLastGood bool
}

// New returns kalypso render.
func New(e *cli.Host) *cobra.Command {
	opts := &Options{}
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
	opts.Flags.Add(cmd, e)
	opts.PublishFlags.Add(cmd)
	cmd.Flags().StringVar(&opts.outputDir, "output-dir", "", "write the result to this `folder` and publish nothing; what kalypso did not write there stays")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "show the difference to the GitOps branch, change nothing")
	cmd.Flags().BoolVar(&opts.exitCode, "exit-code", false, "exit with code 4 if there are changes")
	cmd.Flags().BoolVar(&opts.keepLastGood, "keep-last-good", false, "compile a broken registration at the commit that went out last instead of failing; the exit code is 1 nevertheless")
	return cmd
}

func (o *Options) check() error {
	switch {
	case o.dryRun && o.outputDir != "":
		return cli.Usage("--dry-run changes nothing, --output-dir writes a folder: give one of them")
	}
	if o.publishes() && (o.Worktree || o.Base == source.WorktreeBase) {
		return cli.Usage("a work tree holds what nobody has committed, so it is not published: give --dry-run or --output-dir FOLDER")
	}
	if o.publishes() && o.Base != "" {
		return cli.Usage("--base shows what promoting would do, and is not published: promote, or give --dry-run or --output-dir FOLDER")
	}
	if err := o.PublishFlags.Check(); err != nil {
		return err
	}
	return o.Flags.Check()
}

// publishes reports whether the result goes to the GitOps repositories.
func (o *Options) publishes() bool { return !o.dryRun && o.outputDir == "" }

func runRender(ctx context.Context, e *cli.Host, opts *Options) error {
	if err := opts.check(); err != nil {
		return err
	}
	ctx, cancel := opts.Limited(ctx)
	defer cancel()
	if opts.publishes() {
		opts.Flags.Permissions = opts.PublishFlags.Permissions
	}
	started, err := session.Start(ctx, &opts.Flags, e, false)
	if err != nil {
		return err
	}
	defer started.Close()
	s := &Publisher{Session: started}
	s.Quarantine = session.Quarantine{KeepLastGood: opts.keepLastGood, Comparing: opts.outputDir == "", AllowDeletions: opts.allowDeletions}
	if opts.publishes() {
		return s.publish(ctx, opts)
	}
	folders := s.compile(ctx, opts)
	defer func() {
		for _, folder := range folders {
			_ = folder.Discard() // nothing, if it was written
		}
	}()
	if ctx.Err() != nil {
		return s.Stopped(ctx)
	}
	if opts.outputDir != "" && !s.Failed() {
		for _, result := range s.Results {
			s.checkFolder(result, opts.folder(s, result.Environment.Name.Value))
		}
	}
	if s.Failed() {
		return s.Finish("nothing was written")
	}
	for _, result := range s.Results {
		if opts.dryRun {
			s.dryRun(ctx, result)
		} else {
			name := result.Environment.Name.Value
			s.write(ctx, result, folders[name], opts.folder(s, name))
		}
	}
	if ctx.Err() != nil && s.Unfinished() {
		return s.Stopped(ctx)
	}
	s.saveBodies(opts.saveBody)
	if err := s.Finish(s.LeftUndone()); err != nil {
		return err
	}
	if opts.exitCode && s.Changed() {
		return cli.ExitWith(cli.ExitChanges)
	}
	return nil
}

// compile compiles the environments, and returns the output folder of each if there are any.
func (s *Publisher) compile(ctx context.Context, opts *Options) map[string]*gitops.Folder {
	folders := map[string]*gitops.Folder{}
	for _, environment := range s.Environments {
		name := environment.Name.Value
		if opts.outputDir != "" {
			folders[name] = gitops.OpenFolder(opts.folder(s, name))
		}
		s.Compile(ctx, environment, folders[name])
	}
	return folders
}

// folder is where an environment is written.
func (o *Options) folder(s *Publisher, environment string) string {
	if len(s.Environments) > 1 {
		return filepath.Join(o.outputDir, environment)
	}
	return o.outputDir
}

// dryRun compares an environment with each of its GitOps branches.
func (s *Publisher) dryRun(ctx context.Context, result *session.Result) {
	if ctx.Err() != nil {
		return
	}
	s.Begin("comparing " + result.Environment.Name.Value + " with what is published")
	outputs := gitops.ReadOutputs(ctx, s.Reader, result.Fleet)
	if len(outputs) == 0 {
		result.Notes = append(result.Notes, "the environment has no GitOpsRepo: everything is listed as added")
		outputs = []gitops.Output{{}}
	}
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
		change, err := change.Compare(ctx, output.Tree, result.Tree)
		if err != nil {
			s.Diags.Error(giterror.RuleRemoteFailed, output.Repo.Path.At, s.Reader.Scrub(err.Error()))
			continue
		}
		shown := session.NewChangeResult(change, output)
		origins, _ := s.Loader.Origins(result.Fleet)
		report := s.report(result, origins)
		report.Change, shown.Report = change, &report
		result.Changes = append(result.Changes, shown)
	}
}

// checkFolder reports what keeps an environment from being written to a folder, before anything is
// written anywhere.
func (s *Publisher) checkFolder(result *session.Result, folder string) {
	s.reportFolder(result, gitops.CheckFolder(folder, result.Tree))
}

// write writes an environment to its folder.
func (s *Publisher) write(ctx context.Context, result *session.Result, folder *gitops.Folder, name string) {
	if ctx.Err() != nil {
		return
	}
	s.Begin("writing " + result.Environment.Name.Value)
	change, err := folder.Write(ctx, result.Tree)
	if err != nil && ctx.Err() != nil {
		return // stopped; the caller reports it
	}
	if err != nil {
		s.reportFolder(result, err)
		return
	}
	result.Changes = append(result.Changes, session.NewChangeResult(change, gitops.Output{}))
	result.Folder = name
}

func (s *Publisher) reportFolder(result *session.Result, err error) {
	if err == nil {
		return
	}
	for line := range strings.Lines(err.Error()) { // several are joined
		s.Diags.Error(ruleOutputFolder, diag.Place{}, result.Environment.Name.Value+" cannot be written: "+strings.TrimSuffix(line, "\n"))
	}
}
