package main

import (
	"context"
	"fmt"
	"reflect"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/about"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/diff"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/doctor"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/explain"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/initialize"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/promotion"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/render"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/report"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/validate"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
)

// run is the whole program: arguments and what it sees of the machine in, exit code out.
func run(ctx context.Context, args []string, given *cli.Host) int {
	e := *given
	e.IO, e.Workflow = actions.InWorkflow(e.IO)
	root := newRoot(&e)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(e.Stderr, "kalypso: interrupted")
		return session.InterruptedCode(context.Cause(ctx))
	}
	return cli.Report(err, e.Stderr)
}

// outputs are the types of what commands print with -o json.
func outputs() map[string]reflect.Type {
	environments := reflect.TypeFor[results.Report[session.Environment]]()
	return map[string]reflect.Type{
		"render": environments, "validate": environments, "report": environments,
		"explain target":       reflect.TypeFor[results.Report[explain.TargetAnswer]](),
		"explain cluster-type": reflect.TypeFor[results.Report[explain.ClusterTypeAnswer]](),
		"explain config":       reflect.TypeFor[results.Report[explain.ConfigAnswer]](),
		"diff":                 reflect.TypeFor[results.Report[diff.Result]](),
		"promote":              reflect.TypeFor[promotion.Report](),
		"check-promote":        reflect.TypeFor[promotion.Report](),
		"init":                 reflect.TypeFor[initialize.Result](),
		"doctor":               reflect.TypeFor[doctor.Result](),
		"version":              reflect.TypeFor[cli.Build](),
	}
}

func newRoot(e *cli.Host) *cobra.Command {
	root := &cobra.Command{
		Use:   "kalypso",
		Short: "Compile the model of a Kubernetes fleet into GitOps manifests",
		Long: `Schedule applications on Kubernetes clusters and publish the manifests to GitOps repositories.

kalypso reads a control plane repository and the application repositories registered in it,
schedules deployment targets on cluster types, and renders their manifests.

You can set every flag with an environment variable, such as KALYPSO_CONTROL_PLANE for --control-plane.

` + cli.ExitCodes,
		Version:       e.Build.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Name() == cobra.ShellCompRequestCmd {
				cli.PlainUsage(cmd.Root()) // completions show it as it is
				e.RegisterCompletions()
				return nil
			}
			if err := cli.Prepare(cmd.Flags(), e); err != nil {
				return err
			}
			cli.NoticeUnknownVariables(cmd.Root(), e, session.Variables()...)
			return nil
		},
	}
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	root.SetVersionTemplate("kalypso {{.Version}}\n")
	root.Flags().Bool("version", false, "print the version") // cobra's own would take -v
	root.PersistentFlags().StringP("directory", "C", "", "run as if started in `DIR`")
	_ = root.MarkPersistentFlagDirname("directory")
	root.PersistentFlags().BoolP("quiet", "q", false, "show no progress and no notices")
	root.PersistentFlags().BoolP("verbose", "v", false, "show each source with its commit, each HTTP request, and durations")
	cli.Group(root.PersistentFlags(), cli.Global, "", "verbose") // the help of root shows it
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		cli.WriteUsage(cmd.OutOrStderr(), cmd, false)
		return nil
	})
	root.SetHelpCommand(cli.NewHelp())
	root.SetFlagErrorFunc(cli.FlagError)
	root.AddCommand(render.New(e), validate.New(e), explain.New(e), about.NewSchema(e, outputs()), diff.New(e), diff.NewComment(e), report.New(e), promotion.NewPromote(e), promotion.NewCheckPromote(e), initialize.New(e), doctor.New(e), about.NewVersion(e), about.NewMan(e))
	root.InitDefaultHelpCmd()
	cli.BooleanWords(root)
	return root
}
