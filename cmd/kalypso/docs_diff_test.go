package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

// TestDiffDoc runs the command of docs/how-to/diff.md, whose output it shows in parts: an ellipsis stands for lines that
// are left out.
func TestDiffDoc(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(docsFolder, "how-to/diff.md"))
	require.NoError(t, err)
	t.Chdir("../../testdata/fleets/harvest/in")
	replace, err := os.ReadFile("replace.txt")
	require.NoError(t, err)
	variables := map[string]string{"KALYPSO_CONTROL_PLANE": "control-plane", "KALYPSO_REPLACE": string(replace)}
	blocks := answered.FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 1)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), strings.Fields(blocks[0][1]), &cli.Host{IO: term.IO{
		Stdout: &stdout, Stderr: &stderr, Env: func(name string) string { return variables[name] }, WorkingDir: os.Getwd,
	}})
	require.Equal(t, cli.ExitDone, code, stderr.String())
	_, shown, _ := strings.Cut(blocks[0][0], "```text\n")
	rest := stdout.String()
	for part := range strings.SplitSeq(strings.TrimSuffix(shown, "```"), "…\n") {
		before, after, found := strings.Cut(rest, part)
		assert.True(t, found, "the output has not, or not here:\n%s", part)
		if rest = after; !found {
			rest = before
		}
	}
}
