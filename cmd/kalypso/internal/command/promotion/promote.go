// Package promotion is kalypso promote and kalypso check-promote.
package promotion

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/render"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// promoteOptions are the flags of kalypso promote.
type promoteOptions struct {
	session.Flags
	promoteFlags
	commit string
}

// NewPromote returns kalypso promote.
func NewPromote(e *cli.Host) *cobra.Command {
	opts := &promoteOptions{}
	cmd := &cobra.Command{
		Use:   "promote",
		Short: "Promote a commit to an environment",
		Long: `Promote a commit of the control plane's base branch to an environment: write its SHA to the object
BaseRepo "main" on the environment's branch, push the change, and set the status "ENVIRONMENT environment" of
the commit to Promoted. If the commit is already promoted, nothing changes.

promote refuses a commit that is not on the base branch (unless --unmerged), that is older than the
promoted commit (unless --rollback), or that an earlier environment of the promotion chain has not
deployed (unless --skip-gates). spec.promotion.next of the Environments defines the chain. It also
refuses a commit that breaks compilation of the environment (unless --skip-compile).`,
		Example: `  kalypso promote --env dev
  kalypso promote --env stage --commit 4c1f9e2a
  kalypso promote --env prod --commit 4c1f9e2a --pull-request --reviewer acme/platform
  kalypso promote --env prod --commit 1b2c3d4e --rollback --render
  kalypso promote --env stage --dry-run`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPromote(cmd.Context(), e, opts) },
	}
	opts.AddControlPlane(cmd, e)
	opts.AddParsing(cmd)
	opts.AddTimeout(cmd)
	flags := cmd.Flags()
	flags.Lookup("env").Usage = "`environment` to promote to (repeatable)"
	flags.StringVar(&opts.commit, "commit", "", "`commit` to promote: a commit SHA or a Git revision such as HEAD~1 or a tag (default: the commit of the workflow, else the latest of the base branch)")
	flags.BoolVar(&opts.dryRun, "dry-run", false, "show what would be promoted, change nothing")
	flags.BoolVar(&opts.overrides.Rollback, "rollback", false, "promote a commit that is older than the promoted one")
	flags.BoolVar(&opts.overrides.Unmerged, "unmerged", false, "promote a commit that is not on the base branch (needs the full commit SHA)")
	opts.promoteFlags.add(cmd, e)
	cli.Group(flags, cli.Source, "env commit control-plane replace", "base-branch")
	cli.Group(flags, cli.Output, "dry-run output", "color")
	cli.Group(flags, cli.Promotion, "pull-request render rollback unmerged skip-gates skip-compile", "keep-last-good target-url")
	return cmd
}

func (o *promoteOptions) check() error {
	if o.dryRun && o.render {
		return cli.Usage("--dry-run cannot be combined with --render")
	}
	return o.promoteFlags.check()
}

func runPromote(ctx context.Context, e *cli.Host, opts *promoteOptions) error {
	if err := cmp.Or(opts.check(), opts.checkIdle(e.Env)); err != nil {
		return err
	}
	return runPromotion(ctx, e, &opts.Flags, &opts.promoteFlags, func(ctx context.Context, run *promotionRun) error {
		commit, err := run.CommitIn(ctx, run.defaultCommit(opts.commit))
		if err != nil {
			return run.fail(err)
		}
		for _, environment := range run.Environments {
			run.promote(ctx, environment.Name.Value, promotionOf{commit: commit, dryRun: opts.dryRun})
			if ctx.Err() != nil {
				return run.stopped(ctx)
			}
		}
		return run.end(ctx)
	})
}

// defaultCommit is the commit that a workflow runs for, if it was started by the base branch of the control plane;
// else the newest there.
func (r *promotionRun) defaultCommit(given string) string {
	if given != "" {
		return given
	}
	main := r.Loader.Main()
	repo, err := giturl.NormalURL(r.Env("GITHUB_SERVER_URL") + "/" + r.Env("GITHUB_REPOSITORY"))
	if err == nil && repo == main.Repo && r.Env("GITHUB_REF") == "refs/heads/"+main.Ref.Branch {
		return r.Env("GITHUB_SHA")
	}
	return ""
}

// promoteFlags are the flags of commands that promote.
type promoteFlags struct {
	// dryRun changes nothing, so it needs no permission to write.
	dryRun bool
	render.PublishFlags
	pullRequest  bool
	render       bool
	skipCompile  bool
	keepLastGood bool
	targetURL    string
	overrides    promote.Overrides
	// dispatch is the workflow that promotes instead; empty to promote here.
	dispatch string
	// next are the environments that come after the one that is checked, if nextGiven.
	next      []string
	nextGiven bool
	// given are the flags of the command, for Changed.
	given *pflag.FlagSet
}

func (f *promoteFlags) add(cmd *cobra.Command, e *cli.Host) {
	flags := cmd.Flags()
	flags.BoolVar(&f.pullRequest, "pull-request", false, "open a pull request from promotion/ENVIRONMENT instead of pushing")
	flags.BoolVar(&f.render, "render", false, "compile and publish after the promotion, as kalypso render does")
	flags.BoolVar(&f.overrides.SkipGates, "skip-gates", false, "promote even if an earlier environment has not deployed the commit")
	flags.BoolVar(&f.skipCompile, "skip-compile", false, "promote without compiling the environment with the commit first")
	flags.BoolVar(&f.keepLastGood, "keep-last-good", false, "promote even if an application is broken, and with --render compile it at its last published commit")
	flags.StringVar(&f.targetURL, "target-url", "", "`URL` that the commit statuses link to (default: the workflow run)")
	f.PublishFlags.Add(cmd, e)
	for _, name := range renderFlags() {
		flags.Lookup(name).Usage = "with --render: " + flags.Lookup(name).Usage
	}
	for _, name := range pullRequestFlags() {
		flags.Lookup(name).Usage = "with --pull-request or --render: " + flags.Lookup(name).Usage
	}
	cli.Group(flags, cli.Promotion, "pull-request render", "skip-gates skip-compile keep-last-good target-url")
	cli.Group(flags, cli.Publishing, "", "direct force allow-deletions")
	f.given = flags
}

// renderFlags are those that mean something with --render only, if the command has them.
func renderFlags() []string {
	return []string{"allow-deletions", "branch", "create-branch", "direct", "recompile", "report-issues", "save-body"}
}

// pullRequestFlags are those about pull requests, of a promotion or of what is rendered.
func pullRequestFlags() []string {
	return []string{"assignee", "auto-merge", "draft", "force", "label", "reopen", "reviewer"}
}

// checkIdle refuses flags that would do nothing. Those that a job sets for all its commands, as variables, may.
func (f *promoteFlags) checkIdle(env func(string) string) error {
	given := func(name string) bool { return f.given.Changed(name) && env(cli.Variable(name)) == "" }
	for _, name := range renderFlags() {
		if given(name) && !f.render {
			return cli.Usage("--%s requires --render", name)
		}
	}
	for _, name := range pullRequestFlags() {
		if given(name) && !f.render && !f.pullRequest {
			return cli.Usage("--%s requires --pull-request or --render", name)
		}
	}
	return nil
}

// check finds wrong values.
func (f *promoteFlags) check() error {
	if f.targetURL != "" && !strings.HasPrefix(f.targetURL, "https://") && !strings.HasPrefix(f.targetURL, "http://") {
		return cli.InvalidValue("target-url", f.targetURL, "a URL that begins with https://")
	}
	if f.dispatch != "" && (f.render || f.pullRequest) {
		return cli.Usage("--dispatch cannot be combined with --render or --pull-request")
	}
	if f.dispatch != "" && !strings.HasSuffix(f.dispatch, ".yaml") && !strings.HasSuffix(f.dispatch, ".yml") {
		return cli.InvalidValue("dispatch", f.dispatch, "a workflow file such as cd.yaml")
	}
	return f.PublishFlags.Check()
}

// needs are the permissions on the control plane.
func (f *promoteFlags) needs() github.Needs {
	if f.dryRun {
		return github.Needs{Required: map[string]string{"contents": "read", "statuses": "read"}, Optional: map[string]string{}}
	}
	needs := github.Needs{Required: map[string]string{"contents": "write", "statuses": "write"}, Optional: map[string]string{}}
	if f.pullRequest {
		needs.Required["pull_requests"] = "write"
	}
	if f.dispatch != "" {
		needs.Required["actions"] = "write"
	}
	return needs
}

// permissions are those on the repositories of a role; nil where nothing is promoted or published.
func (f *promoteFlags) permissions(role model.Role) *github.Needs {
	switch {
	case role == model.Main || role == model.Platform || role == model.Base:
		needs := f.needs()
		return &needs
	case f.render:
		return f.PublishFlags.Permissions(role)
	default:
		return nil
	}
}

// pageOfRun returns the URL that statuses link to: --target-url, else the run of the workflow.
func (f *promoteFlags) pageOfRun(env func(string) string) string {
	server, repo, run := env("GITHUB_SERVER_URL"), env("GITHUB_REPOSITORY"), env("GITHUB_RUN_ID")
	if f.targetURL != "" || server == "" || repo == "" || run == "" {
		return f.targetURL
	}
	return server + "/" + repo + "/actions/runs/" + run
}
