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
	return Usage("unknown command %q for %q%s\nsee %s --help", name, cmd.CommandPath(), nearest(name, "", names), cmd.CommandPath())
}

// FlagError is the error of flags that cannot be parsed, with the nearest flag for one that does not exist.
func FlagError(cmd *cobra.Command, err error) error {
	if unknown := cmd.ValidateArgs(cmd.Flags().Args()); cmd.HasSubCommands() && unknown != nil {
		return unknown // its flags are unknown because the command is
	}
	hint := ""
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		hint = nearest(unknown.GetSpecifiedName(), "--", names)
	}
	return Usage("%w%s\nsee %s --help", err, hint, cmd.CommandPath())
}

// nearest asks whether the nearest candidate is meant, if one is near.
func nearest(name, prefix string, candidates []string) string {
	if near := diag.Nearest(name, candidates); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", prefix+near)
	}
	return ""
}
