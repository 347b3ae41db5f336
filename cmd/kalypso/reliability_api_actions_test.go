package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// inActions makes the runs of a hub steps of a workflow, which runs for a push to dev of the control plane. It
// returns what reads the outputs and the summary of the last one.
func (h *hub) inActions() (outputs func() map[string]string, summary func() string) {
	h.t.Helper()
	dir := h.t.TempDir()
	for name, value := range map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "acme/control-plane", "GITHUB_REF_NAME": "dev", "GITHUB_REF_TYPE": "branch",
		"GITHUB_OUTPUT": filepath.Join(dir, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(dir, "summary"), "CI": "true",
	} {
		h.env[name] = value
	}
	read := func(name string) string {
		h.t.Helper()
		written, err := os.ReadFile(h.env[name])
		require.NoError(h.t, err)
		require.NoError(h.t, os.Remove(h.env[name]))
		return string(written)
	}
	return func() map[string]string { return outputsIn(h.t, read("GITHUB_OUTPUT")) }, func() string { return read("GITHUB_STEP_SUMMARY") }
}

// TestR15Actions: a step says what it did: to later steps, on the page of the run, and in the log.
func TestR15Actions(t *testing.T) {
	t.Parallel()
	fleet := promotedFleet(t)
	h := newHub(t, fleet, hubOptions{})
	outputs, summary := h.inActions()

	h.mustRender()
	pull := h.assertOnePullRequest()
	got := outputs()
	var results []actions.Result
	require.NoError(t, json.Unmarshal([]byte(got["results"]), &results))
	require.Len(t, results, 1)
	assert.Equal(t, "dev", results[0].Environment)
	delete(got, "results")
	url := h.WebURL + "/acme/gitops/pull/1"
	assert.Equal(t, map[string]string{
		"changed": "true", "pull-request-number": "1", "pull-request-url": url, "pull-request-operation": "created",
		"commit": pull.HeadCommit, "branch": "deployment/dev",
		"targets": "3", "cluster-types": "1", "added": "3", "changed-targets": "0", "removed": "0", "unchanged": "0",
	}, got)
	said := summary()
	for _, want := range []string{"3 targets on 1 cluster type", "[pull request #1](" + url + ") created"} {
		assert.Contains(t, unescapeMarkdown(said), want)
	}

	h.mustRender()
	got = outputs()
	assert.Equal(t, "unchanged", got["pull-request-operation"])
	assert.Equal(t, "1", got["pull-request-number"])
	assert.Equal(t, pull.HeadCommit, got["commit"])
	summary()

	addRepo(t, fleet, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "changed")})
	h.mustRender()
	assert.Equal(t, "updated", outputs()["pull-request-operation"])
	summary()

	h.repo.MergePull(1, "merge")
	h.mustRender()
	got = outputs()
	assert.Equal(t, "false", got["changed"])
	assert.Empty(t, got["pull-request-number"])
	assert.Contains(t, unescapeMarkdown(summary()), "up to date")

	addRepo(t, fleet, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "again")})
	h.mustRender()
	outputs()
	summary()
	addRepo(t, fleet, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "changed")})
	h.mustRender()
	got = outputs()
	assert.Equal(t, "closed", got["pull-request-operation"])
	assert.Equal(t, "2", got["pull-request-number"])
	h.assertNoSecret()
}

// TestR15ActionsFails: failures are reported in annotations, outputs and summary, too.
func TestR15ActionsFails(t *testing.T) {
	t.Parallel()
	h := newHub(t, promotedFleet(t), hubOptions{repo: githubtest.RepoOptions{ActionsMayNotOpenPulls: true}})
	outputs, summary := h.inActions()
	got := h.render()
	assert.Equal(t, cli.ExitRemote, got.code)
	assert.Regexp(t, `(?m)^::error .*title=github-failed::.*GitHub Actions is not permitted to create or approve pull requests\.`, got.stderr)
	assert.Contains(t, unescapeMarkdown(summary()), "GitHub Actions is not permitted")
	said := outputs()
	assert.Empty(t, said["pull-request-number"])
	assert.Equal(t, h.repo.Branches()["deployment/dev"], said["commit"], "it was pushed")
	assert.Contains(t, got.stderr, "not everything was published")
	h.assertNoSecret()
}

var markdownEscapes = regexp.MustCompile(`\\([[:punct:]])|<code>|</code>`)

// unescapeMarkdown removes the escapes of sanitized text.
func unescapeMarkdown(text string) string { return markdownEscapes.ReplaceAllString(text, "$1") }

// hostile is text that means something to the runner, to GitHub or to a terminal.
const hostile = "x ::error::boom ##[error]boom @acme/admins Fixes #1 <img src=x> [a](https://evil.example.com) %0A::set-output name=changed::false"

// invisible is text of which people do not see all, or see it in another order.
const invisible = "\u202egnp \u2066"

// TestR15HostileText: what tenants write gives no orders: not to the runner, not to GitHub, not to a terminal.
func TestR15HostileText(t *testing.T) {
	t.Parallel()
	fleet := promotedFleet(t)
	addRepo(t, fleet, "app-2", gitopstest.Commit{Files: gitopstest.Files{"workload/workload.yaml": acmeObject("Workload", "app-2",
		"spec: {deploymentTargets: [{name: web, environment: dev, manifests: {repo: "+acme("app-2")+", branch: "+fmt.Sprintf("%q", hostile)+", path: .}}]}")}})
	h := newHub(t, fleet, hubOptions{})
	outputs, summary := h.inActions()
	got := h.render()
	require.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.Contains(t, h.git("show", "deployment/dev:edge/app-2-web/reconciler.yaml"), "@acme/admins Fixes #1", "it is data, and stays")
	assertInert(t, h, got, outputs(), summary())
	got = h.render("-o", "json")
	assert.True(t, json.Valid([]byte(got.stdout)), got.stdout)
	assertInert(t, h, got, outputs(), summary())
	got = h.render("--dry-run")
	assertInert(t, h, got, outputs(), summary())
}

// TestR15HostileErrors: the same for what is refused, which is quoted in the reason.
func TestR15HostileErrors(t *testing.T) {
	t.Parallel()
	matrix(t)
	for _, key := range []string{hostile, invisible, "\n::error::boom", "\r\n##[error]boom", "::error file=a::boom", "\u00a0::error::boom"} {
		fleet := promotedFleet(t)
		addRepo(t, fleet, "app-2", gitopstest.Commit{Files: gitopstest.Files{"workload/workload.yaml": acmeObject("Workload", "app-2",
			"spec: {"+fmt.Sprintf("%q", key)+": 1, deploymentTargets: [{name: web, environment: dev, manifests: {repo: "+acme("app-2")+", branch: main, path: .}}]}")}})
		h := newHub(t, fleet, hubOptions{})
		outputs, summary := h.inActions()
		got := h.render()
		assert.Equal(t, cli.ExitModel, got.code, got.stderr)
		assertInert(t, h, got, outputs(), summary())
		assert.Empty(t, h.Writes())
		got = h.render("-o", "json")
		var parsed struct {
			Diagnostics []struct{ Message string }
		}
		require.NoError(t, json.Unmarshal([]byte(got.stdout), &parsed), got.stdout)
		assert.NotEmpty(t, parsed.Diagnostics)
		assertInert(t, h, got, outputs(), summary())
	}
}

// ourCommand is a command of the runner as kalypso writes it: the text is escaped, so it is one line.
var ourCommand = regexp.MustCompile(`^::(error|warning|notice) ((file=[^,:]*,)?(line=\d+,)?(col=\d+,)?title=[a-z-]+)?::`)

// shownAsWritten is what Markdown shows as it is.
var shownAsWritten = regexp.MustCompile("(?s)````*.*?````*|<code>.*?</code>|`[^`\n]*`|\\\\[[:punct:]]")

// assertInert makes sure that nothing of hostile text is alive.
func assertInert(t *testing.T, h *hub, got outcome, outputs map[string]string, summary string) {
	t.Helper()
	for _, stream := range []string{got.stdout, got.stderr} {
		for line := range strings.Lines(stream) {
			begin := strings.TrimLeftFunc(line, func(r rune) bool { return r <= ' ' || r >= 0x7f })
			if ourCommand.MatchString(line) {
				continue // the runner looks for no other form in it
			}
			assert.False(t, strings.HasPrefix(begin, "::"), "an order to the runner: %s", line)
			assert.NotContains(t, line, "##[", "an order to the runner")
		}
		assert.NotContains(t, stream, "\u202e")
		assert.NotContains(t, stream, "\x1b")
	}
	assert.NotEqual(t, "boom", outputs["changed"])
	assert.Contains(t, []string{"true", "false"}, outputs["changed"])
	markdown := summary
	for _, pull := range h.repo.Pulls() {
		markdown += "\n" + pull.Body
		assert.Regexp(t, `^[A-Za-z0-9 ._+()/,:~=→-]+$`, pull.Title)
	}
	markdown = shownAsWritten.ReplaceAllString(markdown, "")
	for _, alive := range []string{"@acme", "<img", "](https://evil", "\u202e"} {
		assert.NotContains(t, markdown, alive)
	}
	assert.NotRegexp(t, `Fixes #1\b`, markdown)
	for _, alive := range []string{"@acme", "Fixes #1", "\u202e"} {
		assert.NotContains(t, h.git("log", "--all", "--format=%B"), alive)
	}
	h.assertSilent()
}

// TestR30UpgradesAreVisible: the title names a version with different output. One that makes the same
// changes nothing.
func TestR30UpgradesAreVisible(t *testing.T) {
	t.Parallel()
	fleet := promotedFleet(t)
	h := newHub(t, fleet, hubOptions{})
	h.mustRender()
	h.Forget()
	h.version = "v1.3.0"
	h.mustRender()
	assert.Empty(t, h.Writes(), "while it waits to be merged")
	assert.NotContains(t, h.assertOnePullRequest().Title, "v1.3.0")
	h.repo.MergePull(1, "merge")
	h.Forget()
	h.version = "v1.4.0"
	assert.Contains(t, h.mustRender().stdout, "up to date")
	assert.Empty(t, h.Writes())

	addRepo(t, fleet, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "changed")}) // it could be the renderer, too
	h.mustRender()
	assert.Contains(t, h.assertOnePullRequest().Title, "kalypso v1.2.3 → v1.4.0")
}

// TestR14TenThousandTargets: however much changes, GitHub takes the text, and the counts are in it.
func TestR14TenThousandTargets(t *testing.T) {
	t.Parallel()
	matrix(t)
	const clusterTypes, targets = 20, 500
	fleet := promotedFleet(t)
	specs := make([]string, targets)
	for i := range specs {
		specs[i] = fmt.Sprintf("{name: web-%03d, environment: dev, manifests: {repo: %s, branch: main, path: .}}", i, acme("app-1"))
	}
	addRepo(t, fleet, "app-1", gitopstest.Commit{Files: gitopstest.Files{
		"workload/workload.yaml": acmeObject("Workload", "app-1", "spec: {deploymentTargets: ["+strings.Join(specs, ", ")+"]}"),
	}})
	for _, app := range appsOfAcme[1:] {
		addRepo(t, fleet, app, gitopstest.Commit{Files: gitopstest.Files{"workload/README.md": "Nothing.\n"}})
	}
	dev := acmeDev()
	delete(dev, "types.yaml")
	for i := range clusterTypes {
		dev[fmt.Sprintf("type-%02d.yaml", i)] = acmeObject("ClusterType", fmt.Sprintf("edge-%02d", i), "spec: {reconciler: flux, namespaceService: default}")
	}
	addRepo(t, fleet, "control-plane", gitopstest.Commit{Branch: "dev", Files: dev})
	h := newHub(t, fleet, hubOptions{})
	outputs, summary := h.inActions()
	h.mustRender("--tenant-limit", "targets=1000")
	pulls := h.repo.OpenPulls()
	require.Len(t, pulls, 1)
	assert.LessOrEqual(t, utf8.RuneCountInString(pulls[0].Body), 65_536)
	assert.Contains(t, pulls[0].Body, "20 cluster types, 10000 assignments: +10000 ~0 -0")
	assert.LessOrEqual(t, len(summary()), 1<<20)
	assert.Equal(t, "10000", outputs()["added"])
	assert.LessOrEqual(t, len(h.Writes()), 3)
	h.assertSilent()
}

// outputsIn reads a file of outputs as SetOutputFileCommand of actions/runner does.
func outputsIn(t *testing.T, text string) map[string]string {
	t.Helper()
	outputs := map[string]string{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] == "" {
			continue
		}
		name, value, found := strings.Cut(lines[i], "=")
		if before, delimiter, heredoc := strings.Cut(lines[i], "<<"); heredoc && (!found || len(before) < len(name)) {
			var values []string
			for i++; lines[i] != delimiter; i++ {
				values = append(values, lines[i])
			}
			outputs[before] = strings.Join(values, "\n")
			continue
		}
		require.True(t, found, lines[i])
		outputs[name] = value
	}
	return outputs
}
