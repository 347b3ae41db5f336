package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// The groups of flags, in the order in which help shows them. A flag without a group is global.
const (
	Source     = "Source"
	Fleet      = "Fleet"
	Output     = "Output"
	Promotion  = "Promotion"
	Publishing = "Publishing"
	Global     = "Global"
)

// inGroup annotates a flag with its group and its position there; rest is the position of flags that --help leaves out.
const (
	inGroup = "group"
	rest    = "rest"
)

// Group puts flags, separated by blanks, into a group of help: those that --help shows, in this order, and those that
// only help all-flags shows. The last call for a flag counts.
func Group(flags *pflag.FlagSet, title, shown, others string) {
	for i, name := range strings.Fields(shown) {
		_ = flags.SetAnnotation(name, inGroup, []string{title, fmt.Sprintf("%02d", i)})
	}
	for _, name := range strings.Fields(others) {
		_ = flags.SetAnnotation(name, inGroup, []string{title, rest})
	}
}

// positionOf returns the group of a flag and its position there.
func positionOf(f *pflag.Flag) (title, position string) {
	if group := f.Annotations[inGroup]; len(group) == 2 {
		return group[0], group[1]
	}
	return Global, ""
}

// WriteUsage writes how a command is used, with the flags that --help leaves out if all is true.
func WriteUsage(w io.Writer, cmd *cobra.Command, all bool) {
	fmt.Fprintln(w, "Usage:")
	if cmd.Runnable() {
		fmt.Fprintf(w, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(w, "\nAvailable Commands:\n")
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(w, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
	left := writeFlags(w, cmd, all)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nUse \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
	}
	if left > 0 {
		_, names, _ := strings.Cut(cmd.CommandPath(), " ")
		fmt.Fprintf(w, "\nUse \"%s help all-flags %s\" to see %s.\n", cmd.Root().Name(), names, diag.Plural(left, "more flag"))
	}
}

// writeFlags writes the flags of a command by group, and returns how many it has left out.
func writeFlags(w io.Writer, cmd *cobra.Command, all bool) (left int) {
	groups := map[string][]*pflag.Flag{}
	add := func(f *pflag.Flag) {
		title, position := positionOf(f)
		switch {
		case f.Hidden:
		case position == rest && !all && cmd.HasParent():
			if cmd.LocalFlags().Lookup(f.Name) != nil { // the help of root shows the others
				left++
			}
		default:
			groups[title] = append(groups[title], f)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	for _, title := range []string{Source, Fleet, Output, Promotion, Publishing, Global} {
		set := pflag.NewFlagSet(title, pflag.ContinueOnError)
		set.SortFlags = false
		slices.SortStableFunc(groups[title], func(a, b *pflag.Flag) int {
			_, first := positionOf(a)
			_, second := positionOf(b)
			return strings.Compare(first, second)
		})
		for _, f := range groups[title] {
			set.AddFlag(f)
		}
		if set.HasFlags() {
			fmt.Fprintf(w, "\n%s flags:\n%s", title, set.FlagUsages())
		}
	}
	return left
}

// PlainUsage takes the quotes that mark the name of a value out of the descriptions of flags.
func PlainUsage(cmd *cobra.Command) {
	plain := func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) }
	cmd.PersistentFlags().VisitAll(plain)
	cmd.Flags().VisitAll(plain)
	for _, sub := range cmd.Commands() {
		PlainUsage(sub)
	}
}

// NewHelp returns kalypso help.
func NewHelp() *cobra.Command {
	complete := func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		if target, left, err := cmd.Root().Find(args); err == nil && len(left) == 0 {
			for _, sub := range target.Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	help := &cobra.Command{
		Use:               "help [COMMAND]",
		Short:             "Show the help of a command",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			target, err := namedCommand(cmd.Root(), args)
			if err != nil {
				return err
			}
			return target.Help()
		},
	}
	help.AddCommand(&cobra.Command{
		Use:               "all-flags [COMMAND]",
		Short:             "Show all flags of a command",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return allFlags(cmd.OutOrStdout(), cmd.Root(), args)
		},
	})
	return help
}

// allFlags writes the usage of a command with all flags; without a name, of each command that has flags of its own.
func allFlags(w io.Writer, root *cobra.Command, args []string) error {
	target, err := namedCommand(root, args)
	if err != nil {
		return err
	}
	target.InitDefaultHelpFlag()
	WriteUsage(w, target, true)
	if target != root {
		return nil
	}
	for _, sub := range root.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" && sub.Name() != "completion" {
			for _, one := range append([]*cobra.Command{sub}, sub.Commands()...) {
				one.InitDefaultHelpFlag()
				fmt.Fprintln(w)
				WriteUsage(w, one, true)
			}
		}
	}
	return nil
}

// namedCommand returns the command with these names, one below the other.
func namedCommand(root *cobra.Command, names []string) (*cobra.Command, error) {
	cmd := root
	for _, name := range names {
		i := slices.IndexFunc(cmd.Commands(), func(sub *cobra.Command) bool { return sub.Name() == name })
		if i < 0 {
			return nil, UnknownCommand(cmd, name)
		}
		cmd = cmd.Commands()[i]
	}
	return cmd, nil
}
