package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// What is rendered does not depend on where commits go next, so a broken chain stops promotions alone.
func TestRenderWithBrokenChain(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile(filepath.Join(badFleets, "promotion-cycle.txtar"))
	require.NoError(t, err)
	files := map[string]string{}
	for _, file := range archive.Files {
		files[file.Name] = string(file.Data)
	}
	dir := writeExamples(t, files)
	out := filepath.Join(dir, "out")
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{
		"render", "--env", "dev", "--control-plane", filepath.Join(dir, "control-plane"),
		"--replace", "https://github.com/acme/*=" + dir + "/*", "--output-dir", out,
	}, &edges{stdout: &stdout, stderr: &stderr, env: func(string) string { return "" }, workingDir: os.Getwd})
	require.Equal(t, exitDone, code, stderr.String())
	assert.NotContains(t, stderr.String(), "circle")
	assert.FileExists(t, filepath.Join(out, "edge", "cart-web", "reconciler.yaml"))
}
