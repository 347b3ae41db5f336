package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
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
	}, &cli.Host{IO: term.IO{Stdout: &stdout, Stderr: &stderr, Env: func(string) string { return "" }, WorkingDir: os.Getwd}})
	require.Equal(t, cli.ExitDone, code, stderr.String())
	assert.NotContains(t, stderr.String(), "circle")
	assert.FileExists(t, filepath.Join(out, "edge", "cart-web", "reconciler.yaml"))
}
