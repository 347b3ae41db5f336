package initialize

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/scaffold"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

// initAnswered runs init on a terminal on which somebody answers.
func initAnswered(t *testing.T, answers io.Reader, args ...string) (plan scaffold.Fleet, asked string, err error) {
	t.Helper()
	var stderr bytes.Buffer
	e := &cli.Host{IO: term.IO{
		Stderr: &stderr, Stdin: answers, StdinTerminal: true, StderrTerminal: true, Env: func(string) string { return "" },
	}, Build: cli.Build{Commit: "0123"}}
	f := &initFlags{baseBranch: "main", environments: args}
	plan, err = f.plan(t.Context(), e, f.fields(), nil)
	return plan, stderr.String(), err
}

func TestInitAsks(t *testing.T) {
	t.Parallel()
	plan, asked, err := initAnswered(t, strings.NewReader("https://github.com/zed/model\n\n\n\nflux:one,two\nazure-resource-graph\n\n"))
	require.NoError(t, err, asked)
	assert.Equal(t, scaffold.Fleet{
		ControlPlane: "https://github.com/zed/model", GitOps: "https://github.com/zed/gitops", Base: "main",
		Environments: []string{"dev", "stage", "prod"}, Reconciler: "flux", Action: "kalypso-gitops/kalypso@0123",
		FleetSources: map[string][]string{"dev": {"flux:one,two"}, "stage": {"azure-resource-graph"}, "prod": {"azure-resource-graph"}},
	}, plan)
	assert.Equal(t, "URL of the control plane: "+
		"URL of the platform GitOps repository [https://github.com/zed/gitops]: "+
		"Environments, in promotion order [dev stage prod]: "+
		"GitOps reconciler, flux or argocd [flux]: "+
		"Fleet source of check-promote for dev (azure-resource-graph, flux:CONTEXT, argocd:URL, command:PROGRAM or none) [none]: "+
		"Fleet source of check-promote for stage (azure-resource-graph, flux:CONTEXT, argocd:URL, command:PROGRAM or none) [none]: "+
		"Fleet source of check-promote for prod (azure-resource-graph, flux:CONTEXT, argocd:URL, command:PROGRAM or none) [azure-resource-graph]: ", asked)
}

// TestInitAsksAgain says what is wrong with an answer.
func TestInitAsksAgain(t *testing.T) {
	t.Parallel()
	plan, asked, err := initAnswered(t, strings.NewReader("\nmodel\nhttps://github.com/zed/model\nhttps://github.com/zed/model\nhttps://github.com/zed/out\nfluxx\nflux\nargocd\nflux:east\n"), "one")
	require.NoError(t, err)
	assert.Equal(t, []string{"one"}, plan.Environments)
	assert.Equal(t, "https://github.com/zed/out", plan.GitOps)
	assert.Equal(t, map[string][]string{"one": {"flux:east"}}, plan.FleetSources)
	for _, want := range []string{
		"  not a repository URL: use https://HOST/OWNER/NAME or git@HOST:OWNER/NAME, without a password\n", "  https://github.com/zed/model is the control plane; use another repository\n",
		`  unknown reconciler "fluxx": must be flux or argocd` + "\n", "  name its URL: argocd:https://argocd.example.com\n",
	} {
		assert.Contains(t, asked, want)
	}
	assert.NotContains(t, asked, "Environments", "it was given")
}

// TestInitHearsNothing ends when nobody answers any more.
func TestInitHearsNothing(t *testing.T) {
	t.Parallel()
	_, _, err := initAnswered(t, strings.NewReader(""))
	require.EqualError(t, err, "no answer; set --control-plane")
	code, _ := cli.ExitOf(err)
	assert.Equal(t, cli.ExitUsage, code)
}

// TestInitIsInterrupted while it waits for an answer.
func TestInitIsInterrupted(t *testing.T) {
	t.Parallel()
	silent, writer := io.Pipe()
	t.Cleanup(func() { _ = writer.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	f := &initFlags{baseBranch: "main"}
	e := &cli.Host{IO: term.IO{Stderr: io.Discard, Stdin: silent, StdinTerminal: true, StderrTerminal: true, Env: func(string) string { return "" }}}
	_, err := f.plan(ctx, e, f.fields(), nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestOwnAction(t *testing.T) {
	t.Parallel()
	const commit = "0123456789012345678901234567890123456789"
	for _, test := range []struct{ version, commit, want, release string }{
		{"v1.2.3", commit, "kalypso-gitops/kalypso@" + commit + " # v1.2.3", "v1.2.3"},
		{"v1.2.3-rc.1", commit, "kalypso-gitops/kalypso@" + commit + " # v1.2.3-rc.1", "v1.2.3-rc.1"},
		{"v1.2.4-0.20261122104412-012345678901", commit, "kalypso-gitops/kalypso@" + commit, ""},
		{"v1.2.4-rc.1.0.20261122104412-012345678901", commit, "kalypso-gitops/kalypso@" + commit, ""},
		{"devel", "", "kalypso-gitops/kalypso@COMMIT # EDIT: the commit of a release that you trust", ""},
	} {
		ref, release := ownAction(cli.Build{Version: test.version, Commit: test.commit})
		assert.Equal(t, test.want, ref, test.version)
		assert.Equal(t, test.release, release, test.version)
	}
	ref, _ := ownAction(cli.Build{Version: "v1.2.3+dirty", Commit: commit, Modified: true})
	assert.Equal(t, scaffold.UnknownAction, ref)
}

// TestInitAsksNobody where there is a terminal, but no person.
func TestInitAsksNobody(t *testing.T) {
	t.Parallel()
	f := &initFlags{baseBranch: "main", controlPlane: "https://github.com/zed/model"}
	e := &cli.Host{IO: term.IO{
		Stderr: io.Discard, Stdin: strings.NewReader("https://github.com/zed/out\n\n\n\n"), StdinTerminal: true, StderrTerminal: true,
		Env: func(name string) string { return map[string]string{"CI": "true"}[name] },
	}}
	_, err := f.plan(t.Context(), e, f.fields(), nil)
	require.ErrorContains(t, err, "required flags not set: --gitops")
}
