package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// UnknownCommand is the error of a name that no command below cmd has.
func UnknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return UsageHint(nearest(cmd, name, "", names), "unknown command %q for %q", name, cmd.CommandPath())
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageHint(fmt.Sprintf("see %s --help", cmd.CommandPath()), "unexpected argument %q", args[0])
	}
	return nil
}

// FlagError is the error of flags that cannot be parsed, with the nearest flag for one that does not exist.
func FlagError(cmd *cobra.Command, err error) error {
	if unknown := cmd.ValidateArgs(cmd.Flags().Args()); cmd.HasSubCommands() && unknown != nil {
		return unknown // its flags are unknown because the command is
	}
	var names []string
	name := ""
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name = unknown.GetSpecifiedName()
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	}
	return UsageHint(nearest(cmd, name, "--", names), "%w", err)
}

// Args accepts the required arguments, which it names in errors, and at most `most` in all.
func Args(most int, required ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		hint := nearest(cmd, "", "", nil)
		switch {
		case len(args) < len(required):
			return UsageHint(hint, "missing argument %s", required[len(args)])
		case len(args) > most:
			return UsageHint(hint, "unexpected argument %q", args[most])
		}
		return nil
	}
}

// nearest is the hint for wrong usage of a command: the candidate that is similar to name, if any, and the help.
func nearest(cmd *cobra.Command, name, prefix string, candidates []string) string {
	hint := fmt.Sprintf("see %s --help", cmd.CommandPath())
	if near := diag.Nearest(name, candidates); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", prefix+near, hint)
	}
	return hint
}
