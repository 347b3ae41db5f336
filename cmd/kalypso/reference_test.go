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
)

// The references in docs are made from the program itself: make golden rewrites them.

func TestCommandReference(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString("<!-- made by make golden -->\n# Commands and flags\n\n")
	b.WriteString("Every flag can be given as an environment variable: `--control-plane` as `KALYPSO_CONTROL_PLANE`. Values of a\n" +
		"flag that repeats are separated by line breaks or commas there.\n")
	root := newRoot(&edges{stdout: &b, stderr: &b, env: func(string) string { return "" }, workingDir: os.Getwd})
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			writeCommand(&b, cmd)
		}
	}
	assertReference(t, "cli.md", b.String())
}

func writeCommand(b *bytes.Buffer, cmd *cobra.Command) {
	description := cmd.Long
	if description == "" || cmd.Name() == "completion" {
		description = cmd.Short
	}
	cmd.InitDefaultHelpFlag()
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n```text\n%s\n```\n", cmd.CommandPath(), strings.TrimSpace(description), strings.TrimSpace(cmd.UsageString()))
}

var ruleOf = regexp.MustCompile(`: (error|warning|notice): .* \[([a-z0-9-]+)\]$|^(error|warning|notice): .* \[([a-z0-9-]+)\]$`)

// TestErrorReference collects an example of each rule from the bad fleets.
func TestErrorReference(t *testing.T) {
	t.Parallel()
	examples := map[string]string{}
	archives, err := filepath.Glob(filepath.Join(badFleets, "*.txtar"))
	require.NoError(t, err)
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		require.NoError(t, err)
		said, _ := findFile(archive, "want")
		collectExamples(examples, archive, filepath.Base(name), said)
	}
	var b strings.Builder
	b.WriteString("<!-- made by make golden -->\n# Errors, warnings and notices\n\n" +
		"Each has a rule that does not change: tools may match on it (`-o json`). The examples are from\n" +
		"[the catalogue of bad fleets](../testdata/bad/README.md), where the whole input can be seen.\n")
	for _, rule := range slices.Sorted(maps.Keys(examples)) {
		fmt.Fprintf(&b, "\n## %s\n\n%s", rule, examples[rule])
	}
	assertReference(t, "errors.md", b.String())
}

// collectExamples adds the rules of one archive that have no example yet.
func collectExamples(examples map[string]string, archive *txtar.Archive, name, said string) {
	what, _, _ := strings.Cut(string(archive.Comment), "\nExpect:")
	lines := strings.Split(said, "\n")
	for i, line := range lines {
		match := ruleOf.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		rule := match[2] + match[4]
		if _, seen := examples[rule]; seen {
			continue
		}
		text := line
		for _, more := range lines[i+1:] {
			if !strings.HasPrefix(more, "    ") {
				break
			}
			text += "\n" + more
		}
		examples[rule] = fmt.Sprintf("%s ([%s](../testdata/bad/%s))\n\n```text\n%s\n```\n", strings.TrimSpace(what), strings.TrimSuffix(name, ".txtar"), name, text)
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
	assert.Equal(t, string(want), text, "make golden rewrites %s", name)
}
