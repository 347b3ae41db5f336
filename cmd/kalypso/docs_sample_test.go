package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPlaygroundReadme types what the README.md of the playground says. It is not parallel, as kalypso runs in this process.
func TestPlaygroundReadme(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the clusters are a Unix shell script")
	}
	dir, environ := t.TempDir(), sessionEnvironment(t)
	outputs := playSession(t, dir, environ, []docStep{{command: "kalypso init --sample playground"}})
	require.Zero(t, outputs[0].status, outputs[0].text)
	playground := filepath.Join(dir, "playground")
	text, err := os.ReadFile(filepath.Join(playground, "README.md"))
	require.NoError(t, err)
	blocks, err := blocksOf("README.md", string(text))
	require.NoError(t, err)
	require.Len(t, blocks, 1)
	var steps []docStep
	for line := range strings.Lines(blocks[0].text) {
		steps = append(steps, docStep{block: blocks[0], command: strings.TrimSpace(line)})
	}
	outputs = playSession(t, playground, environ, steps)
	require.NoError(t, failedStep(steps, outputs))
	assert.Contains(t, outputs[len(outputs)-1].text, "\ndev has deployed ")
	entries, err := os.ReadDir(playground)
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.Name() != "README.md" {
			assert.Contains(t, string(text), "`"+entry.Name(), "README.md says nothing about it")
		}
	}
}
