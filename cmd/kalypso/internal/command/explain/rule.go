package explain

import (
	"bytes"
	_ "embed" // rules.md
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Rules has a section of Markdown for each rule, in alphabetical order. docs/reference/errors.md is made from it.
//
//go:embed rules.md
var Rules string

// ruleNames returns the ids of all rules.
func ruleNames() []string {
	var names []string
	for line := range strings.Lines(Rules) { // in every run: a regular expression would take a millisecond
		if name, heading := strings.CutPrefix(line, "## "); heading {
			names = append(names, strings.TrimSuffix(name, "\n"))
		}
	}
	return names
}

// ruleArgs accepts the id of one rule.
func ruleArgs(cmd *cobra.Command, args []string) error {
	names := ruleNames()
	if len(args) == 0 || slices.Contains(names, args[0]) {
		return cli.Args(1)(cmd, args)
	}
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	hint := fmt.Sprintf("see %s --help", cmd.CommandPath())
	if near := diag.Nearest(args[0], names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return cli.UsageHint(hint, "unknown rule or command %q for %q", args[0], cmd.CommandPath())
}

// describe returns the description of a rule.
func describe(rule string) []byte {
	_, section, _ := strings.Cut(Rules, "## "+rule+"\n\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return Plain(section)
}

// Plain returns text of Rules with examples indented instead of fenced and without comments.
func Plain(rules string) []byte {
	var b bytes.Buffer
	indent := ""
	for line := range strings.Lines(rules) {
		switch {
		case strings.HasPrefix(line, "<!--"):
		case strings.HasPrefix(line, "```text"):
			indent = "    "
		case strings.HasPrefix(line, "```"):
			indent = ""
		case line == "\n":
			b.WriteString(line)
		default:
			b.WriteString(indent + line)
		}
	}
	return b.Bytes()
}
