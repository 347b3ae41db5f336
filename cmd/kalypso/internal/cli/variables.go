package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// variablePrefix is what the names of all variables of kalypso start with.
const variablePrefix = "KALYPSO_"

// NoticeUnknownVariables reports variables that are not read but have a name similar to one that is. further are those
// that are read and are not flags. Variables with other names may be meant for scripts.
func NoticeUnknownVariables(root *cobra.Command, e *Host, further ...string) {
	if e.Quiet {
		return
	}
	var known []string
	for _, name := range further {
		known = append(known, flagOf(name))
	}
	known = appendFlags(known, root)
	variables := e.Variables()
	slices.Sort(variables)
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		flag := flagOf(name)
		if value == "" || !strings.HasPrefix(name, variablePrefix) || slices.Contains(known, flag) || isOfFleetCommand(name) {
			continue
		}
		if near := nearestSetting(flag, known); near != "" {
			fmt.Fprintf(e.Stderr, "notice: %s is not a setting; did you mean %s?\n", diag.Safe(name), Variable(near))
		}
	}
}

// isOfFleetCommand reports whether a variable is one that the program of a fleet source gets.
func isOfFleetCommand(name string) bool {
	return strings.HasPrefix(name, variablePrefix+"FLEET_") || name == variablePrefix+"PROMOTED_COMMIT"
}

// flagOf is the inverse of Variable.
func flagOf(variable string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, variablePrefix), "_", "-"))
}

// appendFlags adds the names of the flags of a command and of those below it.
func appendFlags(names []string, cmd *cobra.Command) []string {
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	cmd.PersistentFlags().VisitAll(add)
	cmd.Flags().VisitAll(add)
	for _, sub := range cmd.Commands() {
		names = appendFlags(names, sub)
	}
	return names
}
