package main

import (
	"bytes"
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
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

// The references in docs are made from the program itself: make docs rewrites them.

func TestCommandReference(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString("<!-- made by make docs -->\n# Commands and flags\n\n")
	b.WriteString("Every flag can be given as an environment variable: `--control-plane` as `KALYPSO_CONTROL_PLANE`. Values of a\n" +
		"flag that repeats are separated by line breaks or commas there. A flag without a value is 1, true, yes or on, or 0,\n" +
		"false, no or off, in any case.\n\n## Exit codes\n\n```text\n" + strings.TrimPrefix(cli.ExitCodes, "Exit codes:\n") + "```\n")
	root := newRoot(&cli.Host{IO: term.IO{Stdout: &b, Stderr: &b, Env: func(string) string { return "" }, WorkingDir: os.Getwd}})
	root.InitDefaultCompletionCmd()
	commands := documentedCommands(root)
	common := commonFlags(commands)
	require.Contains(t, common, "--help")
	b.WriteString("\n## Common flags\n\nEvery command has `--directory`, `--help` and `--quiet`. The other flags below belong to the commands that name them.\n\n```text\n")
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

// commonFlags are the flags that mean the same in at least three commands.
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
		if count >= 3 {
			common[help.name] = help
		}
	}
	return common
}

// everyCommandHas are flags that no command names.
var everyCommandHas = map[string]bool{"--directory": true, "--help": true, "--quiet": true}

// writeCommand writes a section about a command, which has only the names of common flags.
func writeCommand(b *bytes.Buffer, cmd *cobra.Command, common map[string]flagHelp) {
	description := cmd.Long
	if description == "" || cmd.Name() == "completion" {
		description = cmd.Short
	}
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

// otherRules are those that a folder of text files cannot show.
var otherRules = map[string]string{
	"access-denied":        "A server refuses the credentials, or has no such repository for them. The message says which were used.",
	"base-ahead":           "The base branch has moved on since the environment was promoted. `--base` compiles what it would get.",
	"branch-not-found":     "A repository has no such branch.",
	"commit-not-found":     "A repository has no such commit. The hint says how an environment is promoted.",
	"cut-history":          "A clone is shallow, and what was asked depends on commits that it does not have: `git fetch --unshallow`.",
	"deployment-branch":    "The branch that would be pushed is the one that the pull request is for, or one that another GitOpsRepo is pushed to.",
	"fleet-unreachable":    "A fleet could not be asked what its clusters run. The message says why; without an answer nothing is promoted.",
	"foreign-base":         "The BaseRepo `main` of an environment names another repository or branch than the base branch of the control plane, whose commits are promoted.",
	"gate-closed":          "An earlier environment has not deployed the commit, or its status [does not count](promotion.md#whose-statuses-count). `kalypso check-promote` checks the rollout; `--skip-gates` promotes anyway.",
	"gate-unknown":         "Whether an environment before has deployed the commit cannot be known, as there are no statuses. `--skip-gates` promotes all the same.",
	"invalid-tracking":     "`.github/tracking/Promoted_Commit_Id` holds something else than the id of a commit.",
	"no-clusters":          "No cluster pulls the GitOps branch, so nothing is known to be deployed. `--allow-no-clusters` says that this is fine.",
	"not-deployed":         "The fleet has not deployed a commit. The message counts the clusters and quotes the first that failed.",
	"not-on-base":          "A commit that is to be promoted is not on the base branch. `--unmerged` promotes it all the same.",
	"not-on-gitops-branch": "The commit that is to be checked is not on the GitOps branch of the environment.",
	"older-commit":         "An environment has something newer than the commit, or something that the commit does not contain. `--rollback` takes it back on purpose.",
	"report-file":          "The file of a report cannot be written.",
	"post-deploy":          "The fleet has deployed a commit, and the post-deployment command did not end with code 0.",
	"unsafe-edit":          "The file of a BaseRepo is written so that its commit cannot be changed without a doubt that something else changes. The hint says what to write by hand.",
	"file-too-large":       "A file is larger than the limit for its repository (`--tenant-limit file-bytes=N`).",
	"health-unseen":        "A reconciler reports healthy before the objects that it applies are healthy, or a fleet cannot read a reconciler of the published tree. The message names the first one, the hint says what to change.",
	"held-back":            "A registration is broken, and `--keep-last-good` compiles it at the last published commit, or leaves what is published of it as it is.",
	"host-unreachable":     "A host does not answer: name, network, certificate or time.",
	"invalid-repository":   "What should be a repository or folder cannot be read as one.",
	"kept-folder":          "A target would replace what is published in a folder that may be of a registration which `--keep-last-good` holds back, or take the name of its workload. Whose it is can be told when that one is fixed.",
	"lfs-pointer":          "A file that would be read is a Git LFS pointer, whose content is elsewhere.",
	"not-text":             "A YAML file is not UTF-8 text, or holds a NUL byte.",
	"other-branch":         "The work tree of a clone holds another branch than the one that is asked for.",
	"output-folder":        "The folder of `--output-dir` cannot be written, or holds something that is not kalypso's.",
	"foreign-commits":      "The deployment branch has commits that kalypso did not make, and the GitOps branch does not contain their changes. Merge them, or overwrite them with `--force`.",
	"foreign-path":         "Something that kalypso did not write stands where the output is to be published.",
	"github-failed":        "GitHub does not do what publishing needs: the message says what was tried and why not, the hint which permission is missing.",
	"gitops-path":          "The GitOpsRepo has a new `path`, but the output that the clusters pull lies at the root of its branch.",
	"lost-races":           "Each time that the output was to be published, somebody else had published, merged or promoted something newer meanwhile.",
	"changed-owner":        "A published target would change its owner from one WorkloadRegistration to another. Publish once without it, so that the clusters remove it; `render --keep-last-good` does that automatically. [Who owns a name](../explanation/security.md#who-owns-a-name).",
	"unverified-sources":   "The output was published, but one of its source repositories could not be listed again afterwards. If that source has changed, the next run publishes the change.",
	"many-deletions":       "More than half of the published targets would be removed (and at least five), or the last one. `--allow-deletions` removes them.",
	"not-found":            "What `explain` is asked about is not in what could be read of the environments.",
	"no-gitops-repo":       "The environment has no GitOpsRepo, so there is nowhere to publish it.",
	"output-path":          "A file would be written where none of ours may be.",
	"pack-refused":         "What a server sends would exhaust the machine, or is damaged. `--tenant-limit repository-bytes=N` sets the limit of an application repository for a run.",
	"push-refused":         "A server does not let kalypso write a branch. The message has the reason that it gives, the hint what can be done.",
	"remote-branch":        "A clone has the branch only as a remote-tracking one, which was read.",
	"remote-failed":        "A server fails again and again, or does not speak the Git protocol, or the server of an application repository exceeded its time limit for a run (`--tenant-limit seconds=N`).",
	"self-check":           "The output does not stand the last check before it is published. That is a mistake of kalypso's own.",
	"save-body":            "The file of `--save-body` cannot be written. What was published is published.",
	"schema-too-large":     "A JSON Schema is larger, or nested deeper, than can be checked.",
	"source-too-large":     "All files of one registration are larger than the limit (`--tenant-limit registration-bytes=N`).",
	"submodule":            "A submodule lies where files are read: it is not followed.",
	"symlink":              "A symbolic link lies where files are read: it is not followed.",
	"time-is-up":           "The run took longer than `--timeout` gives it. The message says what it was about; errors beside it name the repositories that had not answered.",
	"too-large":            "A document has too many values once its aliases are expanded (`--tenant-limit values=N`).",
	"too-many-documents":   "A file holds too many documents (`--tenant-limit documents=N`).",
	"too-many-files":       "A registration holds too many files (`--tenant-limit files=N`).",
	"too-many-patterns":    "The .sourceignore files of a repository hold too many lines, or lines with too many stars for the number of files.",
	"too-many-problems":    "A file has more problems than are shown.",
	"too-many-targets":     "An application repository has too many deployment targets (`--tenant-limit targets=N`).",
	"unchecked-commit":     "A plain folder stands for a repository: a commit in it is taken at its word.",
	"uncommitted-changes":  "A clone has changes that were not read. `--worktree` reads them.",
	"whole-folder":         "A plain folder stands for a repository and has a folder for `main`, but none for the branch that is asked for.",
	"unreadable":           "A file or folder cannot be read.",
}

// ruleInCode finds the rules that the stages report.
var ruleInCode = regexp.MustCompile(`(?:\.(?:Error|Warning|Notice)|report|fail|problem|flaw\{|add)\(?\s*"([a-z]+(?:-[a-z]+)*)",|[rR]ule[A-Za-z]* *= *"([a-z-]+)"|rule: *"([a-z-]+)"`)

// TestEveryRuleIsDocumented reads the code for rules that the reference does not have.
func TestEveryRuleIsDocumented(t *testing.T) {
	t.Parallel()
	reference, err := os.ReadFile("../../docs/reference/errors.md")
	require.NoError(t, err)
	documented := map[string]bool{}
	for line := range strings.Lines(string(reference)) {
		if rule, isRule := strings.CutPrefix(line, "## "); isRule {
			documented[strings.TrimSpace(rule)] = true
		}
	}
	found := 0
	for _, room := range []string{"../../pkg", "."} {
		found += checkRules(t, room, documented)
	}
	assert.Greater(t, found, 50, "the pattern does not find the rules any more")
}

// checkRules reads the code below a folder for rules that are not documented, and counts them.
func checkRules(t *testing.T, room string, documented map[string]bool) (found int) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(room, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		for _, match := range ruleInCode.FindAllStringSubmatch(string(code), -1) {
			rule := match[1] + match[2] + match[3]
			found++
			assert.True(t, documented[rule], "%s: docs/reference/errors.md has nothing about %s", path, rule)
		}
		return err
	}))
	return found
}

var ruleOf = regexp.MustCompile(`: (error|warning|notice): .* \[([a-z0-9-]+)\]$|^(error|warning|notice): .* \[([a-z0-9-]+)\]$`)

// TestErrorReference collects an example of each rule from the bad fleets.
func TestErrorReference(t *testing.T) {
	t.Parallel()
	examples := map[string]string{}
	archives, err := filepath.Glob(filepath.Join(badFleets, "*.txtar"))
	require.NoError(t, err)
	for _, named := range []bool{true, false} { // the best example of a rule is named after it
		for _, name := range archives {
			archive, err := txtar.ParseFile(name)
			require.NoError(t, err)
			said, _ := findFile(archive, "want")
			collectExamples(examples, archive, filepath.Base(name), said, named)
		}
	}
	var b strings.Builder
	b.WriteString("<!-- made by make docs -->\n# Errors, warnings and notices\n\n" +
		"Each has a rule that does not change: tools may match on it (`-o json`). The examples are from\n" +
		"[the catalogue of bad fleets](../../testdata/bad/README.md), where the whole input can be seen.\n")
	for rule, what := range otherRules {
		assert.NotContains(t, examples, rule, "it has an example now")
		examples[rule] = what + "\n"
	}
	for _, rule := range slices.Sorted(maps.Keys(examples)) {
		fmt.Fprintf(&b, "\n## %s\n\n%s", rule, examples[rule])
	}
	assertReference(t, "reference/errors.md", b.String())
}

// collectExamples adds the rules of one archive that have no example yet; named asks for those that
// the archive is named after.
func collectExamples(examples map[string]string, archive *txtar.Archive, name, said string, named bool) {
	what, _, _ := strings.Cut(string(archive.Comment), "\nExpect:")
	lines := strings.Split(said, "\n")
	for i, line := range lines {
		match := ruleOf.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		rule := match[2] + match[4]
		if _, seen := examples[rule]; seen || named && !strings.HasPrefix(name, rule) {
			continue
		}
		text := line
		for _, more := range lines[i+1:] {
			if !strings.HasPrefix(more, "    ") {
				break
			}
			text += "\n" + more
		}
		examples[rule] = fmt.Sprintf("%s ([%s](../../testdata/bad/%s))\n\n```text\n%s\n```\n", strings.TrimSpace(what), strings.TrimSuffix(name, ".txtar"), name, text)
	}
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
