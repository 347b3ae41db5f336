// Package validate is kalypso validate.
package validate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// New returns kalypso validate.
func New(e *cli.Host) *cobra.Command {
	opts, workload, keepLastGood := &session.Flags{MoreFormats: []string{"junit", "sarif"}}, "", false
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check the model of all environments and report every problem",
		Long: `Compile all environments, or those in --env, and report every problem in them and in the promotion
chain. This command writes and publishes nothing.

With --keep-last-good, the errors of an application are warnings if render --keep-last-good would use
its last published commit instead. Errors in the control plane are still errors.

--workload checks only the workloads of one application, in its own repository, without the control
plane.`,
		Example: `  kalypso validate
  kalypso validate --workload workload/
  kalypso validate --env dev --env stage --control-plane ./control-plane
  kalypso validate --keep-last-good
  kalypso validate -o sarif >kalypso.sarif`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("workload") && keepLastGood {
				return cli.Usage("--keep-last-good cannot be combined with --workload")
			}
			if cmd.Flags().Changed("workload") {
				return validateWorkload(e, opts, workload)
			}
			return session.Connect(cmd.Context(), opts, e, func(ctx context.Context, s *session.Session) error {
				s.View.MoreFormats = formats(controlPlane)
				if err := s.ReadControlPlane(ctx, true); err != nil {
					return err
				}
				s.Quarantine = session.Quarantine{KeepLastGood: keepLastGood, Tolerant: keepLastGood}
				return check(ctx, s)
			})
		},
	}
	opts.Add(cmd, e)
	opts.AddStrict(cmd)
	cmd.Flags().BoolVar(&keepLastGood, "keep-last-good", false, "report errors as warnings for registrations that render --keep-last-good quarantines")
	cmd.Flags().StringVar(&workload, "workload", "", "check only the workloads in this `path`, a file or directory of an application repository")
	cli.Group(cmd.Flags(), cli.Source, "env control-plane workload committed base replace", "base-branch keep-last-good")
	cli.Group(cmd.Flags(), cli.Output, "strict output", "color")
	return cmd
}

// formats are the formats of -o that other commands do not have. own returns the repository that was checked.
func formats(own func(*session.Session) string) map[string]func(*session.Session, diag.List) error {
	return map[string]func(*session.Session, diag.List) error{
		"sarif": func(s *session.Session, diags diag.List) error { return writeSARIF(s.Stdout, diags, own(s)) },
		"junit": writeJUnit,
	}
}

// controlPlane returns the repository of the control plane; empty if it cannot be read.
func controlPlane(s *session.Session) string {
	if main := s.Loader.Main(); main != nil {
		return main.Repo
	}
	return ""
}

// check compiles all environments and reports what is wrong with them.
func check(ctx context.Context, s *session.Session) error {
	_, diags := promote.NewChain(s.Known)
	s.Diags.Add(diags)
	checkFleets(s)
	for _, environment := range s.Environments {
		s.Compile(ctx, environment, nil)
	}
	if ctx.Err() != nil {
		return s.Stopped(ctx)
	}
	for _, result := range s.Results {
		checkCounted(result)
		s.RefuseWarnings(result)
	}
	return s.Finish("")
}

// checkFleets reports fleets of which nobody knows how to ask them.
func checkFleets(s *session.Session) {
	for _, environment := range s.Known {
		if environment.Promotion == nil || environment.Promotion.Checks.LeftToPerson() {
			continue
		}
		for _, text := range environment.Promotion.Checks.Fleets {
			name, _, _ := strings.Cut(text.Value, ":")
			if !slices.Contains(fleet.Names(), name) {
				s.Diags.Error("unknown-fleet", text.At, fmt.Sprintf("unknown fleet source %q", name),
					diag.Hint(diag.DidYouMean(name, append(fleet.Names(), model.NoFleet))))
			}
		}
	}
}

// checkCounted reports a promotion that asks about clusters of which there are none.
func checkCounted(r *session.Result) {
	if r.Environment.Promotion == nil {
		return
	}
	var clusterTypes []*model.ClusterType
	if r.Fleet != nil {
		clusterTypes = r.Fleet.ClusterTypes
	}
	selector := r.Environment.Promotion.Checks.ClusterTypes
	counted, diags := schedule.SelectClusterTypes(selector, clusterTypes)
	r.Diags.Add(diags)
	if len(counted) == 0 && len(clusterTypes) > 0 && !r.Fleet.Incomplete && !diags.HasErrors() {
		r.Diags.Warning("no-match", selector.At, fmt.Sprintf("the clusterTypeSelector of environment %q selects no cluster type, so no cluster counts for its promotion",
			r.Environment.Name.Value))
	}
}
