package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
)

// OneAlone annotates a flag that repeats and whose values may hold commas: in its variable there is one in each line.
const OneAlone = "one value in a line"

// Prepare sets the flags that were not given from variables and applies those that every command has.
func Prepare(flags *pflag.FlagSet, e *Host) error {
	if err := refuseEmpty(flags); err != nil {
		return err
	}
	given := replacedVariables(flags, e.Env)
	if err := fromEnvironment(flags, e.Env); err != nil {
		return err
	}
	e.Quiet, _ = flags.GetBool("quiet")
	e.Verbose, _ = flags.GetBool("verbose")
	if e.Quiet && e.Verbose {
		return Usage("--quiet and --verbose cannot be combined")
	}
	for _, name := range given {
		if !e.Quiet {
			fmt.Fprintf(e.Stderr, "notice: --%s replaces the values of %s\n", name, Variable(name))
		}
	}
	dir, _ := flags.GetString("directory")
	if dir == "" {
		return nil
	}
	if err := e.Chdir(dir); err != nil {
		return Usage("-C %s: %w", dir, WithoutPath(err))
	}
	return nil
}

// refuseEmpty returns an error if a flag that was given is empty: most often, its value is a variable that is not set.
func refuseEmpty(flags *pflag.FlagSet) error {
	var empty []string
	clearing := []string{"next", "label", "reviewer", "assignee"} // an empty value means none
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if slices.Contains(values, "") && !slices.Contains(clearing, f.Name) {
			empty = append(empty, "--"+f.Name)
		}
	})
	if len(empty) == 0 {
		return nil
	}
	return UsageHint("set a value or omit the flag", "%s is empty", strings.Join(empty, ", "))
}

// replacedVariables returns the flags that repeat and were given although their variable is set too. Its values do not
// count, which people who expect them to be added must see.
func replacedVariables(flags *pflag.FlagSet, env func(string) string) (names []string) {
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "stringArray" && !FromVariable(f) && env(Variable(f.Name)) != "" {
			names = append(names, f.Name)
		}
	})
	return names
}

// fromEnvironment sets the flags that were not given from KALYPSO_… variables. Values of a flag
// that repeats are separated by line breaks or commas, or just by line breaks where values have commas.
func fromEnvironment(flags *pflag.FlagSet, env func(string) string) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		name := Variable(f.Name)
		value := strings.TrimSpace(env(name))
		if f.Changed || value == "" || f.Name == "help" || f.Name == "version" {
			return
		}
		values := []string{value}
		if f.Value.Type() == "stringArray" {
			_, lines := f.Annotations[OneAlone]
			values = strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == ',' && !lines })
		}
		for _, value := range values {
			if err := flags.Set(f.Name, strings.TrimSpace(value)); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
		_ = flags.SetAnnotation(f.Name, ofVariable, nil) // the flag exists
	})
	if len(errs) > 0 {
		return Usage("%w", errors.Join(errs...))
	}
	return nil
}

// BooleanWords makes the boolean flags of a command, and of those below it, take what people write for true and false.
func BooleanWords(cmd *cobra.Command) {
	accept := func(f *pflag.Flag) {
		if f.Value.Type() == "bool" {
			f.Value = boolean{f.Value}
		}
	}
	cmd.PersistentFlags().VisitAll(accept)
	cmd.Flags().VisitAll(accept)
	for _, sub := range cmd.Commands() {
		BooleanWords(sub)
	}
}

type boolean struct{ pflag.Value }

// IsBoolFlag is what pflag recognizes a boolean by.
func (boolean) IsBoolFlag() bool { return true }

func (b boolean) Set(text string) error {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "1", "t", "true", "y", "yes", "on":
		return b.Value.Set("true")
	case "0", "f", "false", "n", "no", "off":
		return b.Value.Set("false")
	}
	return errors.New("must be true or false")
}

// ofVariable annotates a flag that a variable has set.
const ofVariable = "set by a variable"

// FromVariable reports whether a flag was set by a variable and not on the command line.
func FromVariable(f *pflag.Flag) bool {
	_, is := f.Annotations[ofVariable]
	return is
}

// Variable is the environment variable that a flag can be given as.
func Variable(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// AddOutputFlag adds -o, with more formats than those of every command.
func AddOutputFlag(cmd *cobra.Command, e *Host, format *string, more ...string) {
	formats := append(results.Formats(), more...)
	cmd.Flags().StringVarP(format, "output", "o", results.Text, fmt.Sprintf("output `format`: %s", strings.Join(formats, ", ")))
	Group(cmd.Flags(), Output, "output", "")
	e.CompleteFlag(cmd, "output", formats...)
}

// CompleteFlag completes the value of a flag with fixed values.
func (h *Host) CompleteFlag(cmd *cobra.Command, flag string, values ...string) {
	h.CompleteFlagFunc(cmd, flag, func(*cobra.Command) []string { return values })
}

// CompleteFlagFunc completes the value of a flag with the values that complete returns.
func (h *Host) CompleteFlagFunc(cmd *cobra.Command, flag string, complete func(*cobra.Command) []string) {
	h.completions = append(h.completions, func() {
		_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return complete(cmd), cobra.ShellCompDirectiveNoFileComp
		})
	})
}

// RegisterCompletions prepares the run of a shell that completes. Other runs leave it out: cobra keeps the functions in a
// global variable, so that the commands of a run would stay in memory until the process ends.
func (h *Host) RegisterCompletions() {
	for _, register := range h.completions {
		register()
	}
}

// Split splits the values of a flag that repeats, each of which may be a list with commas. GitHub trims names:
// one with blanks around it would be missing in every run.
func Split(values []string) []string {
	var names []string
	for name := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// WithoutPath leaves out the path, which the message names already.
func WithoutPath(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
