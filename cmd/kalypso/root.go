package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The exit codes, as exitCodes has them.
const (
	exitDone    = 0
	exitModel   = 1
	exitUsage   = 2
	exitRemote  = 3
	exitChanges = 4
	exitTimeUp  = 5
	// exitSignal and the number of a signal is the code of a run that the signal ended.
	exitSignal = 128
)

// exitCodes explains them to people.
const exitCodes = `Exit codes:
    0  done, or nothing to do
    1  the model, the rendering or the fleet is at fault, or what would be published
    2  wrong usage
    3  a remote failed: network, permission, rate limit, lost races
    4  with --exit-code: there are changes
    5  time is up (--timeout), or with --once it is too early
  130  interrupted (SIGINT)
  143  terminated (SIGTERM)
`

// exitError is an error with the code that the process ends with.
type exitError struct {
	code int
	// err is nil if everything has been said.
	err error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// run is the whole program: arguments and edges in, exit code out.
func run(ctx context.Context, args []string, e *edges) int {
	e, workflow := inWorkflow(e)
	e.workflow = workflow // in a statement of one, this would be another e
	root := newRoot(e)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var exit *exitError
	switch {
	case err == nil:
		return exitDone
	case ctx.Err() != nil:
		fmt.Fprintln(e.stderr, "kalypso: interrupted")
		return interruptedCode(context.Cause(ctx))
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintf(e.stderr, "kalypso: %v\n", exit.err)
		}
		return exit.code
	default: // cobra's own errors are about the command line
		fmt.Fprintf(e.stderr, "kalypso: %v\n", err)
		return exitUsage
	}
}

func newRoot(e *edges) *cobra.Command {
	root := &cobra.Command{
		Use:   "kalypso",
		Short: "Compile the model of a Kubernetes fleet into the manifests that its clusters pull",
		Long: `kalypso reads a control plane repository and the application repositories that it
registers, schedules deployment targets on cluster types, and renders the manifests of each.

Every flag can be given as an environment variable: --control-plane as KALYPSO_CONTROL_PLANE.

` + exitCodes,
		Version:       e.version,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return fromEnvironment(cmd.Flags(), e.env)
		},
	}
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.SetVersionTemplate("kalypso {{.Version}}\n")
	root.Flags().Bool("version", false, "print the version") // cobra's own would take -v
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError("%w\nsee %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(newRender(e), newValidate(e), newExplain(e), newSchema(e), newDiff(e), newComment(e), newPicture(e), newPromote(e), newCheckPromote(e), newInit(e), newVersion(e), newMan(e))
	return root
}

// oneAlone annotates a flag that repeats and whose values may hold commas: in its variable there is one in each line.
const oneAlone = "one value in a line"

// fromEnvironment sets the flags that were not given from KALYPSO_… variables. Values of a flag
// that repeats are separated by line breaks or commas, or just by line breaks where values have commas.
func fromEnvironment(flags *pflag.FlagSet, env func(string) string) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		name := variableOf(f.Name)
		value := env(name)
		if f.Changed || value == "" || f.Name == "help" || f.Name == "version" {
			return
		}
		values := []string{value}
		if f.Value.Type() == "stringArray" {
			_, lines := f.Annotations[oneAlone]
			values = strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == ',' && !lines })
		}
		for _, value := range values {
			if err := flags.Set(f.Name, strings.TrimSpace(value)); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
		_ = flags.SetAnnotation(f.Name, ofVariable, nil) // there is this flag
	})
	if len(errs) > 0 {
		return &exitError{exitUsage, errors.Join(errs...)}
	}
	return nil
}

// ofVariable annotates a flag that a variable has set.
const ofVariable = "set by a variable"

// fromVariable tells whether a flag was set by a variable and not on the command line.
func fromVariable(f *pflag.Flag) bool {
	_, is := f.Annotations[ofVariable]
	return is
}

// variableOf is the environment variable that a flag can be given as.
func variableOf(flag string) string {
	return "KALYPSO_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
