package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/explain"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

// The references in docs are made from the program itself: make docs rewrites them.

func TestCommandReference(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString("<!-- made by make docs -->\n# Commands and flags\n\n")
	b.WriteString("Every flag can be given as an environment variable: `--control-plane` as `KALYPSO_CONTROL_PLANE`. In the\n" +
		"variable of a repeatable flag, separate the values with commas or line breaks. For a Boolean flag, set the variable to 1,\n" +
		"true, yes or on, or to 0, false, no or off.\n\nOn a terminal, `diff`, `render --dry-run` and `explain` use the pager in `KALYPSO_PAGER`, else `PAGER`, else `less`; `cat`\n" +
		"or an empty value turns it off.\n\n## Exit codes\n\n```text\n" + strings.TrimPrefix(cli.ExitCodes, "Exit codes:\n") + "```\n")
	root := newRoot(&cli.Host{IO: term.IO{Stdout: &b, Stderr: &b, Env: func(string) string { return "" }, WorkingDir: os.Getwd}})
	root.InitDefaultCompletionCmd()
	commands := documentedCommands(root)
	common := commonFlags(commands)
	require.Contains(t, common, "--help")
	b.WriteString("\n## Common flags\n\nEvery command has `--directory`, `--help`, `--quiet` and `--verbose`. The other flags below apply to the commands that list them.\n\n```text\n")
	for _, name := range slices.Sorted(maps.Keys(common)) {
		fmt.Fprintf(&b, "  %-30s %s\n", common[name].syntax, common[name].text)
	}
	b.WriteString("```\n")
	for _, cmd := range commands {
		writeCommand(&b, cmd, common)
	}
	assertReference(t, "reference/cli.md", b.String())
}

// documentedCommands are all commands below one, in the order of the reference.
func documentedCommands(cmd *cobra.Command) (all []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && cmd.Name() != "completion" {
			sub.InitDefaultHelpFlag()
			all = append(append(all, sub), documentedCommands(sub)...)
		}
	}
	return all
}

// flagHelp is a line of help about a flag. The condition is "with --render", or empty.
type flagHelp struct{ name, syntax, condition, text string }

var flagLine = regexp.MustCompile(`^ {2,6}((?:-\w, )?(--[a-z-]+).*?) {3,}(?:(with --[^:]*): )?(.*)$`)

func parseFlag(line string) (flagHelp, bool) {
	match := flagLine.FindStringSubmatch(line)
	if match == nil {
		return flagHelp{}, false
	}
	if match[2] == "--help" {
		match[4] = "show the help of the command"
	}
	return flagHelp{match[2], match[1], match[3], match[4]}, true
}

// commonFlags are the flags that mean the same in at least three commands: of each name, what it means in most of them.
func commonFlags(commands []*cobra.Command) map[string]flagHelp {
	counts := map[flagHelp]int{}
	for _, cmd := range commands {
		var usage bytes.Buffer
		cli.WriteUsage(&usage, cmd, true)
		for line := range strings.Lines(usage.String()) {
			if help, is := parseFlag(strings.TrimSuffix(line, "\n")); is {
				help.condition = ""
				counts[help]++
			}
		}
	}
	common := map[string]flagHelp{}
	for help, count := range counts {
		other, found := common[help.name]
		more := cmp.Or(cmp.Compare(count, counts[other]), strings.Compare(other.text, help.text)) > 0
		if count >= 3 && (!found || more) { // of two descriptions the more frequent one
			common[help.name] = help
		}
	}
	return common
}

// everyCommandHas are flags that no command names.
var everyCommandHas = map[string]bool{"--directory": true, "--help": true, "--quiet": true, "--verbose": true}

// indented is a list in a help text, which Markdown would join to one paragraph.
var indented = regexp.MustCompile(`(?m)(?:^  .*\n)+`)

// writeCommand writes a section about a command, which has only the names of common flags.
func writeCommand(b *bytes.Buffer, cmd *cobra.Command, common map[string]flagHelp) {
	description := cmd.Long
	if description == "" || cmd.Name() == "completion" {
		description = cmd.Short
	}
	description = indented.ReplaceAllString(strings.TrimSpace(description)+"\n", "\n```text\n$0```\n")
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n```text\n", cmd.CommandPath(), strings.TrimSpace(description))
	var usage bytes.Buffer
	cli.WriteUsage(&usage, cmd, true)
	names := map[string][]string{}
	var title string
	for line := range strings.Lines(usage.String()) {
		help, is := parseFlag(strings.TrimSuffix(line, "\n"))
		condition := help.condition
		help.condition = ""
		switch {
		case is && everyCommandHas[help.name]:
		case is && common[help.name] == help:
			names[condition] = append(names[condition], help.name)
		case strings.HasSuffix(line, " flags:\n"):
			title = "\n" + line
		case line == "\n":
			title = line
		default:
			b.WriteString(title + line)
			title = ""
		}
	}
	if len(names) > 0 {
		b.WriteString("\nCommon flags:\n")
	}
	for _, condition := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(b, "  %s%s\n", strings.TrimPrefix(condition+": ", ": "), strings.Join(names[condition], ", "))
	}
	b.WriteString("```\n")
}

// ruleInCode finds the rules that the stages report.
var ruleInCode = regexp.MustCompile(`(?:\.(?:Error|Warning|Notice)|report|fail|problem|flaw\{|add)\(?\s*"([a-z]+(?:-[a-z]+)*)",|[rR]ule[A-Za-z]* *= *"([a-z-]+)"|rule: *"([a-z-]+)"`)

// TestEveryRuleIsDocumented reads the code for rules that kalypso explain does not know.
func TestEveryRuleIsDocumented(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, section := range ruleSections() {
		documented[section.rule] = true
	}
	found := 0
	for _, directory := range []string{"../../pkg", "."} {
		found += checkRules(t, directory, documented)
	}
	assert.Greater(t, found, 50, "the pattern does not find the rules any more")
}

// checkRules reads the code below a directory for rules that are not documented, and counts them.
func checkRules(t *testing.T, directory string, documented map[string]bool) (found int) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		for _, match := range ruleInCode.FindAllStringSubmatch(string(code), -1) {
			rule := match[1] + match[2] + match[3]
			found++
			assert.True(t, documented[rule], "%s: rules.md has no section %s", path, rule)
		}
		return err
	}))
	return found
}

const rulesFile = "internal/command/explain/rules.md"

// ruleSection describes a rule.
type ruleSection struct{ rule, text string }

func ruleSections() []ruleSection {
	var sections []ruleSection
	for section := range strings.SplitSeq("\n"+explain.Rules, "\n## ") {
		if rule, text, ok := strings.Cut(section, "\n"); ok {
			sections = append(sections, ruleSection{rule, text})
		}
	}
	return sections
}

// exampleInRules is the bad fleet of an example, lines of its input, if any, and the message.
var exampleInRules = regexp.MustCompile("(<!-- ([a-z0-9-]+) -->\n)```text\n([^`]*\n\n)?([^`]*)```\n")

// TestErrorReference compares the examples of rules with the bad fleets, and docs/reference/errors.md with the rules.
// With -update it rewrites the messages of examples.
func TestErrorReference(t *testing.T) {
	t.Parallel()
	shown, text := rulesShown(t), explain.Rules
	var rules []string
	for _, section := range ruleSections() {
		rules = append(rules, section.rule)
		assert.LessOrEqual(t, strings.Count(section.text, "<!--"), 1, "%s: more than one example", section.rule)
		example := exampleInRules.FindStringSubmatch(section.text)
		if !assert.Equal(t, shown[section.rule], example != nil, "%s: it has an example exactly if a bad fleet shows it", section.rule) || example == nil {
			continue
		}
		archive, err := txtar.ParseFile(filepath.Join(badFleets, example[2]+".txtar"))
		require.NoError(t, err, section.rule)
		said, _ := findFile(archive, "want")
		message := messageOf(section.rule, said)
		assert.NotEmpty(t, message, "%s: %s does not show it", section.rule, example[2])
		text = strings.Replace(text, example[0], example[1]+"```text\n"+example[3]+message+"```\n", 1)
		for line := range strings.Lines(strings.TrimSpace(example[3])) {
			assert.Contains(t, string(txtar.Format(archive)), strings.TrimSpace(line), "%s: %s has no such line", section.rule, example[2])
		}
	}
	assert.True(t, slices.IsSorted(rules), "sections are in alphabetical order")
	if *update {
		require.NoError(t, os.WriteFile(rulesFile, []byte(text), 0o644))
	}
	source, err := os.ReadFile(rulesFile)
	require.NoError(t, err)
	assert.Equal(t, string(source), text, "make docs rewrites the examples")
	assertReference(t, "reference/errors.md", "<!-- made by make docs from cmd/kalypso/"+rulesFile+" -->\n# Errors, warnings and notices\n\n"+
		"Each message ends with its rule, which does not change, so tools can match on it. `kalypso explain RULE` prints a\nsection of this page.\n\n"+string(explain.Plain(text)))
}

// rulesShown are the rules that bad fleets show.
func rulesShown(t *testing.T) map[string]bool {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(badFleets, "*.txtar"))
	require.NoError(t, err)
	shown := map[string]bool{}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		require.NoError(t, err)
		said, _ := findFile(archive, "want")
		for line := range strings.Lines(said) {
			if match := ruleOf.FindStringSubmatch(line); match != nil {
				shown[match[1]] = true
			}
		}
	}
	return shown
}

var (
	ruleOf = regexp.MustCompile(`(?:^|: )(?:error|warning|notice): .* \[([a-z0-9-]+)\]\n$`)
	// ownerOf is the beginning of a place that a reader does not need.
	ownerOf = regexp.MustCompile(`(?m)^( *)github\.com/acme/|\$WORK/`)
)

// messageOf returns the first message of a rule, with the lines that belong to it and short places.
func messageOf(rule, said string) string {
	message := ""
	for line := range strings.Lines(said) {
		match := ruleOf.FindStringSubmatch(line)
		switch {
		case message == "" && match != nil && match[1] == rule, message != "" && strings.HasPrefix(line, "    "):
			message += line
		case message != "":
			return ownerOf.ReplaceAllString(message, "$1")
		}
	}
	return message
}

func assertReference(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("../../docs", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), text, "make docs rewrites %s", name)
}
