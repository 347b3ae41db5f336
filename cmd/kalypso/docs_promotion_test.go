package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

// readDoc reads a document.
func readDoc(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docsFolder, name))
	require.NoError(t, err)
	return string(text)
}

// docCommands are the lines in fenced blocks that run kalypso, without comments.
func docCommands(text string) []string {
	var commands []string
	for _, block := range regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " # ")
			if strings.HasPrefix(line, "kalypso ") {
				commands = append(commands, line)
			}
		}
	}
	return commands
}

// TestPromotionDocQuickstart keeps what the quickstart shows and what a script runs the same.
func TestPromotionDocQuickstart(t *testing.T) {
	t.Parallel()
	_, text, found := strings.Cut(readDoc(t, "reference/promotion.md"), "## Quickstart\n")
	require.True(t, found)
	quickstart, _, _ := strings.Cut(text, "\n## ")
	script, err := os.ReadFile("testdata/script/promotion-quickstart.txtar")
	require.NoError(t, err)
	rest := string(script)
	commands := docCommands(quickstart)
	require.NotEmpty(t, commands)
	for _, command := range commands {
		_, after, runs := strings.Cut(rest, "\nrun "+command+"\n")
		require.True(t, runs, "the script does not run %q, or not in this order", command)
		rest = "\n" + after
	}
	program := regexp.MustCompile(`(?m)^ *(printf .*)$`).FindStringSubmatch(quickstart)
	require.NotNil(t, program)
	assert.Contains(t, string(script), "\n"+program[1]+"\n")
}

// flagsOf finds what a command line names that the command does not have.
func flagsOf(t *testing.T, line string) (unknown []string) {
	t.Helper()
	root := newRoot(&cli.Host{IO: term.IO{Env: func(string) string { return "" }}})
	cmd, _, err := root.Find(strings.Fields(line)[1:])
	require.NoError(t, err, line)
	require.NotEqual(t, root, cmd, line)
	for _, name := range flagName.FindAllStringSubmatch(line, -1) {
		if cmd.Flag(name[1]) == nil {
			unknown = append(unknown, name[1])
		}
	}
	return unknown
}

var flagName = regexp.MustCompile(`(?:^|[ "'])--([a-z][a-z-]*)`)

func TestPromotionDocFlags(t *testing.T) {
	t.Parallel()
	text := readDoc(t, "reference/promotion.md")
	commands := docCommands(text)
	require.Greater(t, len(commands), 10)
	for _, command := range commands {
		if !strings.Contains(command, "--fleet command:") && !strings.Contains(command, "'command:") { // which have flags of their own
			assert.Empty(t, flagsOf(t, command), command)
		}
	}
	known := map[string]bool{}
	for _, cmd := range newRoot(&cli.Host{IO: term.IO{Env: func(string) string { return "" }}}).Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	}
	for _, name := range regexp.MustCompile("`--([a-z][a-z-]*)").FindAllStringSubmatch(text, -1) {
		assert.True(t, known[name[1]], "there is no flag --%s", name[1])
	}
}

// TestPromotionDocStatuses keeps the list of statuses complete.
func TestPromotionDocStatuses(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../pkg/promote/status.go")
	require.NoError(t, err)
	descriptions := regexp.MustCompile(`"([A-Z][A-Za-z :]+)(?: %[^"]*)?"`).FindAllStringSubmatch(string(source), -1)
	require.Greater(t, len(descriptions), 5)
	text := readDoc(t, "reference/promotion.md")
	for _, description := range descriptions {
		if !strings.Contains(text, "- `"+description[1]) {
			t.Errorf("docs/reference/promotion.md has no status %q", description[1])
		}
	}
}

// TestWorkflowsUseFlagsThatExist runs no workflow, but looks at what they would run.
func TestWorkflowsUseFlagsThatExist(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(docsFolder, "workflows", "*"))
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, file := range files {
		for _, with := range actionInputs(t, file) {
			command := fmt.Sprint(with["command"])
			seen[command] = true
			args := fmt.Sprint(with["args"])
			assert.Empty(t, flagsOf(t, "kalypso "+command+" "+strings.Join(strings.Fields(args), " ")), file)
		}
	}
	assert.Equal(t, map[string]bool{"render": true, "validate": true, "promote": true, "check-promote": true, "comment": true, "diff": true}, seen)
}

// actionInputs are what a workflow gives our action.
func actionInputs(t *testing.T, file string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string         `json:"uses"`
				With map[string]any `json:"with"`
			} `json:"steps"`
		} `json:"jobs"`
	}
	require.NoError(t, yaml.Unmarshal(text, &workflow))
	var inputs []map[string]any
	for _, job := range workflow.Jobs {
		for _, step := range job.Steps {
			if strings.HasPrefix(step.Uses, "kalypso-gitops/kalypso@") {
				inputs = append(inputs, step.With)
			}
		}
	}
	return inputs
}
