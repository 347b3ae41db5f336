package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// commandOf returns what users of other tools mean by a name.
func commandOf(name string) string {
	switch name {
	case "plan":
		return `"diff" or "render --dry-run"`
	case "apply", "publish":
		return `"render"`
	case "check", "lint":
		return `"validate"`
	}
	return ""
}

// UnknownCommand is the error of a name that no command below cmd has.
func UnknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if meant := commandOf(name); meant != "" && !cmd.HasParent() {
		return UsageHint("did you mean "+meant+"? see kalypso --help", "unknown command %q for %q", name, cmd.CommandPath())
	}
	return UsageHint(nearest(cmd, name, "", names), "unknown command %q for %q", name, cmd.CommandPath())
}

// environmentName matches the name of an environment.
var environmentName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// NoArgs refuses arguments, which are often the name of an environment.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := nearest(cmd, "", "", nil)
	if cmd.Flags().Lookup("env") != nil && environmentName.MatchString(args[0]) {
		hint = fmt.Sprintf("an environment is selected with --env %s; %s", args[0], hint)
	}
	return UsageHint(hint, "unexpected argument %q", args[0])
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
	if near := nearestSetting(name, candidates); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", prefix+near, hint)
	}
	return hint
}

// nearestSetting returns the candidate that is most similar to name, else one that name continues without a new word, as
// environment continues env; "" if there is none.
func nearestSetting(name string, candidates []string) string {
	if near := diag.Nearest(name, candidates); near != "" {
		return near
	}
	for _, candidate := range candidates {
		if rest, ok := strings.CutPrefix(name, candidate); ok && len(candidate) > 2 && !strings.Contains(rest, "-") {
			return candidate
		}
	}
	return ""
}
