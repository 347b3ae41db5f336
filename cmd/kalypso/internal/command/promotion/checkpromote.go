package promotion

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/command"
)

// Defaults of the flags of check-promote.
const (
	defaultFleetTimeout = 5 * time.Minute
	defaultInterval     = 5 * time.Second
	defaultGrace        = 30 * time.Second
)

// checkPromoteOptions are the flags of kalypso check-promote.
type checkPromoteOptions struct {
	session.Flags
	promoteFlags
	commit       string
	gitOpsRepo   string
	fleets       []string
	healthy      string
	atLeast      model.Healthy // what healthy says
	expect       int
	wait         time.Duration
	interval     time.Duration
	grace        time.Duration
	once         bool
	allowNone    bool
	postDeploy   string
	seedStatuses bool
}

// NewCheckPromote returns kalypso check-promote.
func NewCheckPromote(e *cli.Host) *cobra.Command {
	opts := &checkPromoteOptions{}
	cmd := &cobra.Command{
		Use:   "check-promote",
		Short: "Check a rollout and promote it when healthy",
		Long: `Check whether the clusters of an environment run a merged commit of its GitOps repository. Run this
command in a job after the merge. The command sets the commit status "ENVIRONMENT environment" on
the promoted commit of the control plane: Deploying during the check, then Deployed or Failed to
deploy. When it is deployed, it is promoted to the next environments.

The commit counts as deployed when every cluster that pulls the GitOps branch runs it, or a newer
commit of the branch, and is healthy in two consecutive polls. The rollout fails when a failure
persists for 30s (--failure-grace). spec.promotion.checks of the Environment sets the fleet source,
the number of clusters and the timeout; flags override it. You can interrupt the command and run it
again.

Fleet sources (--fleet NAME[:ARGUMENT], repeatable):
  azure-resource-graph[:SUBSCRIPTION,...]  Flux configurations in Azure Resource Graph
  flux[:CONTEXT,...]                       clusters of the kubeconfig
  argocd:URL                               Applications of an Argo CD server (ARGOCD_AUTH_TOKEN)
  command:PROGRAM [ARGUMENT ...]           a program that prints the clusters as JSON
  none                                     no query: a person sets the commit status`,
		Example: `  kalypso check-promote --env dev --commit "$GITOPS_COMMIT" --fleet azure-resource-graph
  kalypso check-promote --env stage --fleet flux:stage-eu,stage-us --timeout 30m
  kalypso check-promote --env dev --fleet command:./clusters.sh --post-deploy ./smoke-test.sh
  kalypso check-promote --env dev --fleet argocd:https://argocd.example.com --once -o json
  kalypso check-promote --env dev --fleet azure-resource-graph --dispatch cd.yaml`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCheckPromote(cmd.Context(), e, opts) },
	}
	opts.AddControlPlane(cmd, e)
	opts.AddParsing(cmd)
	flags := cmd.Flags()
	flags.Lookup("env").Usage = "`environment` to check"
	flags.StringVar(&opts.commit, "commit", "", "`commit` of the GitOps repository (default: the latest of its branch)")
	flags.StringVar(&opts.gitOpsRepo, "gitops-repo", "", "`name` of the GitOpsRepo that contains --commit, if the environment has several")
	flags.StringArrayVar(&opts.fleets, "fleet", nil, "`fleet` source to query, as listed above (repeatable; default: spec.promotion.checks.fleet)")
	_ = flags.SetAnnotation("fleet", cli.OneAlone, nil) // there is this flag
	flags.StringVar(&opts.healthy, "healthy", "", "`number` or percentage of clusters that must have deployed the commit (default 100%)")
	flags.IntVar(&opts.expect, "expect", 0, "minimum `number` of clusters")
	flags.DurationVar(&opts.wait, "timeout", defaultFleetTimeout, "time to wait for the fleet, such as 90s or 30m")
	flags.DurationVar(&opts.interval, "interval", defaultInterval, "polling interval")
	flags.DurationVar(&opts.grace, "failure-grace", defaultGrace, "how long a failure must persist")
	flags.BoolVar(&opts.once, "once", false, "check once, and exit with code 5 if the commit is not deployed yet")
	flags.BoolVar(&opts.allowNone, "allow-no-clusters", false, "succeed without registered clusters")
	flags.StringVar(&opts.postDeploy, "post-deploy", "", "`command`, such as tests, to run when the clusters have deployed the commit; it may run more than once")
	flags.BoolVar(&opts.seedStatuses, "seed-statuses", false, "use the commit status format of the Kalypso Scheduler workflows")
	flags.StringArrayVar(&opts.next, "next", nil, "`environment` to promote the commit to (repeatable; default: $NEXT_ENVIRONMENT, else spec.promotion.next; \"\" for none)")
	flags.StringVar(&opts.dispatch, "dispatch", "", "instead of promoting, start the workflow in this `file` of .github/workflows with the inputs environment and commit")
	opts.promoteFlags.add(cmd, e)
	cli.Group(flags, cli.Source, "env commit control-plane", "gitops-repo replace base-branch")
	cli.Group(flags, cli.Fleet, "fleet healthy timeout once post-deploy", "expect interval failure-grace allow-no-clusters seed-statuses")
	cli.Group(flags, cli.Promotion, "next pull-request render", "dispatch skip-gates skip-compile keep-last-good target-url")
	return cmd
}

func (o *checkPromoteOptions) check() error {
	if len(o.Environments) > 1 || len(o.Environments) == 1 && strings.Contains(o.Environments[0], ",") {
		return cli.Usage("--env: one environment is checked at a time")
	}
	if o.commit != "" && !giturl.IsCommit(o.commit) { // a workflow gets it from elsewhere
		return cli.InvalidValue("commit", o.commit, "a commit SHA of 7 to 40 hexadecimal digits")
	}
	if o.given.Changed("expect") && o.expect < 1 {
		return cli.InvalidValue("expect", o.expect, "a number above 0")
	}
	if o.healthy != "" {
		var err error
		if o.atLeast, err = model.ParseHealthy(o.healthy); err != nil {
			return cli.Usage("--healthy %s: %w", o.healthy, err)
		}
	}
	for _, d := range []struct {
		flag string
		time time.Duration
		zero bool
	}{{"timeout", o.wait, false}, {"interval", o.interval, false}, {"failure-grace", o.grace, true}} {
		if d.time < 0 || d.time == 0 && !d.zero {
			return cli.InvalidValue(d.flag, d.time, "a positive duration such as 90s or 10m")
		}
	}
	if o.postDeploy != "" {
		if _, err := command.Find(o.postDeploy); err != nil {
			return cli.Usage("--post-deploy %s: %w", o.postDeploy, err)
		}
	}
	return o.promoteFlags.check()
}

func runCheckPromote(ctx context.Context, e *cli.Host, opts *checkPromoteOptions) error {
	if err := cmp.Or(opts.check(), opts.checkIdle(e.Env)); err != nil {
		return err
	}
	switch {
	case opts.given.Changed("next"):
		opts.next, opts.nextGiven = cli.Split(opts.next), true
	case e.Env("NEXT_ENVIRONMENT") != "":
		opts.next, opts.nextGiven = cli.Split([]string{e.Env("NEXT_ENVIRONMENT")}), true
	}
	return runPromotion(ctx, e, &opts.Flags, &opts.promoteFlags, func(ctx context.Context, run *promotionRun) error {
		if len(run.Environments) != 1 {
			return cli.Usage("--env: one environment is checked at a time: %s", strings.Join(session.EnvironmentNames(run.Environments), ", "))
		}
		return (&deploymentCheck{promotionRun: run, flags: opts, environment: run.Environments[0]}).run(ctx)
	})
}

// The rules of a fleet that has not deployed a commit.
const (
	ruleNotDeployed = "not-deployed"
	ruleNoClusters  = "no-clusters"
	rulePostDeploy  = "post-deploy"
	// ruleHealthUnseen is the rule for a reconciler that does not report the health of the objects that it applies.
	ruleHealthUnseen = "health-unseen"
)
