package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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
		Environ: func() []string {
			variables := os.Environ()
			for name, value := range env {
				variables = append(variables, name+"="+value)
			}
			return variables
		},
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

// TestTerminalPager shows long text in a pager, and only that.
func TestTerminalPager(t *testing.T) {
	t.Parallel()
	fleet := []string{
		"--control-plane", "../../testdata/fleets/harvest/in/control-plane", "--env", "dev",
		"--replace", "https://github.com/oatwick-grocers/harvest-global=../../testdata/fleets/harvest/in/global",
		"--replace", "https://github.com/oatwick-grocers/*=../../testdata/fleets/harvest/in/*",
	}
	const mark = "shown by the pager"
	env := map[string]string{"KALYPSO_PAGER": "sh -c 'cat; echo " + mark + "'"}
	for name, test := range map[string]struct {
		args  []string
		paged bool
	}{
		"a rule":        {[]string{"explain", "unknown-field"}, true},
		"explain":       {append([]string{"explain", "cluster-type", "store-next"}, fleet...), true},
		"a dry run":     {append([]string{"render", "--dry-run"}, fleet...), true},
		"a diff":        {append([]string{"diff", "--with-env", "stage"}, fleet...), true},
		"JSON":          {append([]string{"explain", "cluster-type", "store-next", "-o", "json"}, fleet...), false},
		"short results": {append([]string{"validate"}, fleet...), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := onTerminal(t, env, test.args...)
			require.Zero(t, code, stderr)
			text, paged := strings.CutSuffix(stdout, mark+"\n")
			assert.Equal(t, test.paged, paged)
			plain, _, _ := onTerminal(t, map[string]string{"PAGER": "cat"}, test.args...)
			assert.Equal(t, plain, text)
			assert.NotEmpty(t, plain)
		})
	}
}

// TestTerminalErasesProgress begins the line of a usage error at the first column, and not behind the phase of the run.
func TestTerminalErasesProgress(t *testing.T) {
	t.Parallel()
	_, stderr, code := onTerminal(t, nil, "validate", "--control-plane", "../../testdata/fleets/harvest/in/control-plane", "--env", "nope")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Regexp(t, `\r *\rkalypso: environment "nope" not found\n`, stderr)
}
