package cli

import (
	"fmt"

	"github.com/spf13/cobra"

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

// nearest asks whether the nearest candidate is meant, if one is near.
func nearest(name, prefix string, candidates []string) string {
	if near := diag.Nearest(name, candidates); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", prefix+near)
	}
	return ""
}
