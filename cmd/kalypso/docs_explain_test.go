package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

// answered are a command of docs/how-to/explain.md and the answer below it.
var answered = regexp.MustCompile("(?m)^```sh\nkalypso ((?:explain|diff) .*)\n```\n\n```text\n((?s:.*?))^```$")

// TestExplainDoc runs every command of docs/how-to/explain.md that has an answer, and compares that.
func TestExplainDoc(t *testing.T) {
	path, err := filepath.Abs(filepath.Join(docsFolder, "how-to/explain.md"))
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	t.Chdir("../../testdata/fleets/harvest/in")
	replace, err := os.ReadFile("replace.txt")
	require.NoError(t, err)
	variables := map[string]string{"KALYPSO_CONTROL_PLANE": "control-plane", "KALYPSO_REPLACE": string(replace)}
	found := 0
	want := answered.ReplaceAllStringFunc(string(text), func(block string) string {
		found++
		command := answered.FindStringSubmatch(block)[1]
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(command), &cli.Host{IO: term.IO{
			Stdout: &stdout, Stderr: &stderr, Env: func(name string) string { return variables[name] }, WorkingDir: os.Getwd,
		}})
		assert.Equal(t, cli.ExitDone, code, stderr.String())
		return "```sh\nkalypso " + command + "\n```\n\n```text\n" + stdout.String() + "```"
	})
	assert.Equal(t, 5, found)
	if *update && want != string(text) {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(text), "make docs rewrites it")
}
