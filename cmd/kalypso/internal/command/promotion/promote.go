// Package promotion is kalypso promote and kalypso check-promote.
package promotion

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
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
		Short: "Let an environment have a commit of the base branch",
		Long: `Promote a commit of the control plane's base branch to an environment: write it into the
BaseRepo "main" of the environment's branch, commit and push that, and set the status
"ENVIRONMENT environment" of the commit to Promoted. If the environment has the commit already,
nothing is done.

Refused are a commit that is not on the base branch (--unmerged), one that is older than what
the environment has (--rollback), and one that an environment before it in the chain has not
deployed (--skip-gates). The chain is spec.promotion.next of the Environments.`,
		Example: `  kalypso promote --env dev
  kalypso promote --env stage --commit 4c1f9e2a
  kalypso promote --env prod --commit 4c1f9e2a --pull-request --reviewer acme/platform
  kalypso promote --env prod --commit 1b2c3d4e --rollback --render
  kalypso promote --env stage --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPromote(cmd.Context(), e, opts) },
	}
	opts.AddControlPlane(cmd, e)
	opts.AddParsing(cmd)
	opts.AddTimeout(cmd)
	flags := cmd.Flags()
	flags.Lookup("env").Usage = "`environment` that gets the commit (repeatable)"
	flags.StringVar(&opts.commit, "commit", "", "`commit` to promote, or the beginning of one (default: the one that the workflow runs for, else the newest of the base branch)")
	flags.BoolVar(&opts.dryRun, "dry-run", false, "say what would be done, change nothing")
	flags.BoolVar(&opts.overrides.Rollback, "rollback", false, "promote a commit that is older than what the environment has")
	flags.BoolVar(&opts.overrides.Unmerged, "unmerged", false, "promote a commit that is not on the base branch; give its full id")
	opts.promoteFlags.add(cmd)
	return cmd
}

func (o *promoteOptions) check() error {
	if o.dryRun && o.render {
		return cli.Usage("--dry-run changes nothing, --render publishes: give one of them")
	}
	if err := checkCommit(o.given, o.commit); err != nil {
		return err
	}
	return o.promoteFlags.check()
}

func runPromote(ctx context.Context, e *cli.Host, opts *promoteOptions) error {
	if err := cmp.Or(opts.check(), opts.checkIdle(e.Env)); err != nil {
		return err
	}
	return runPromotion(ctx, e, &opts.Flags, &opts.promoteFlags, func(ctx context.Context, run *promotionRun) error {
		commit := run.defaultCommit(opts.commit)
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

// checkCommit finds what cannot be a commit. An empty one is a variable that is not set, and not what is newest.
func checkCommit(given *pflag.FlagSet, commit string) error {
	switch {
	case commit == "" && given.Changed("commit"):
		return cli.Usage(`--commit "": it is empty; leave the flag out for the newest commit`)
	case commit != "" && !giturl.IsCommit(commit):
		return cli.Usage("--commit %q: write the id of a commit: 7 to 40 digits from 0 to 9 and a to f", commit)
	default:
		return nil
	}
}
