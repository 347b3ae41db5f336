package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

// onTerminal runs kalypso on a terminal with these environment variables.
func onTerminal(t *testing.T, env map[string]string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &cli.Host{IO: term.IO{
		Stdout: &out, Stderr: &errs, StdoutTerminal: true, StderrTerminal: true,
		Env: func(name string) string { return env[name] }, WorkingDir: os.Getwd, Now: time.Now,
	}})
	return out.String(), errs.String(), code
}

// TestTerminalNamesExplain shows people where the rule of the first error is described.
func TestTerminalNamesExplain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "workload.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workloat\nmetadata: {name: a}\n"), 0o644))
	_, stderr, code := onTerminal(t, nil, "validate", "--workload", file)
	assert.Equal(t, cli.ExitModel, code)
	assert.Regexp(t, `(?s)1 error\nsee kalypso explain unknown-kind\n$`, stderr)
	_, stderr, _ = onTerminal(t, nil, "validate", "-q", "--workload", file)
	assert.NotContains(t, stderr, "see kalypso")
}
