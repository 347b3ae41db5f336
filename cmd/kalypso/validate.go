package main

import (
	"context"

	"github.com/spf13/cobra"
)

func newValidate(e *edges) *cobra.Command {
	opts := &fleetFlags{}
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Compile all environments, publish nothing, report every problem",
		Long: `Compile all environments, or those that --env names, and report every problem in them.
Nothing is written or published.`,
		Example: `  kalypso validate
  kalypso validate --env dev --env stage --control-plane ./control-plane`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runValidate(cmd.Context(), e, opts) },
	}
	opts.add(cmd, e)
	return cmd
}

func runValidate(ctx context.Context, e *edges, opts *fleetFlags) error {
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
	if ctx.Err() != nil {
		return session.stopped(ctx)
	}
	return session.finish("")
}
