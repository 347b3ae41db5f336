package actions

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
)

func publishedDev() Result {
	return Result{
		Environment: "dev", GitOpsRepo: "fleet", Changed: true, Branch: "deployment/dev", Commit: pushedCommit,
		Plan:        results.Plan{Summary: "9 targets on 5 cluster types, 14 assignments: +2 ~1 -1", Plan: change.Plan{Assignments: 14, Targets: 9, ClusterTypes: 5, Added: 2, Changed: 1, Removed: 1, Unchanged: 11}},
		PullRequest: &PullRequest{Number: 7, URL: "https://github.com/acme/fleet/pull/7", Operation: "created"},
		Details:     "## What changes\n\n- `a`\n",
	}
}

func upToDateStage() Result {
	return Result{
		Environment: "stage", GitOpsRepo: "fleet", Plan: results.Plan{Summary: "2 targets on 2 cluster types, 3 assignments: +0 ~0 -0", Plan: change.Plan{Assignments: 3, Targets: 2, ClusterTypes: 2, Unchanged: 3}},
	}
}

// parseOutputs reads a file of outputs as SetOutputFileCommand of actions/runner does.
func parseOutputs(t *testing.T, text string) map[string]string {
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

func outputsOf(t *testing.T, results ...Result) map[string]string {
	t.Helper()
	outputs, err := StepOutputs(results)
	require.NoError(t, err)
	return parseOutputs(t, formatOutputs(outputs, "END"))
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	got := outputsOf(t, publishedDev())
	assert.JSONEq(t, `[{"environment":"dev","gitOpsRepo":"fleet","changed":true,"branch":"deployment/dev","commit":"`+pushedCommit+`",
		"pullRequest":{"number":7,"url":"https://github.com/acme/fleet/pull/7","operation":"created"},
		"plan":{"summary":"9 targets on 5 cluster types, 14 assignments: +2 ~1 -1","targets":14,"deploymentTargets":9,"clusterTypes":5,"added":2,"changed":1,"removed":1,"unchanged":11}}]`, got["results"])
	delete(got, "results")
	assert.Equal(t, map[string]string{
		"changed": "true", "pull-request-number": "7", "pull-request-url": "https://github.com/acme/fleet/pull/7", "pull-request-operation": "created",
		"commit": pushedCommit, "branch": "deployment/dev", "targets": "14", "cluster-types": "5",
		"added": "2", "changed-targets": "1", "removed": "1", "unchanged": "11",
	}, got)
}

func TestOutputsOfSeveralEnvironments(t *testing.T) {
	t.Parallel()
	got := outputsOf(t, upToDateStage(), publishedDev())
	assert.Equal(t, "true", got["changed"])
	assert.Equal(t, "17", got["targets"])
	assert.Equal(t, "14", got["unchanged"])
	assert.Equal(t, "\n7", got["pull-request-number"], "a line for each")
	assert.Equal(t, "\ncreated", got["pull-request-operation"])
	var results []map[string]any
	require.NoError(t, json.Unmarshal([]byte(got["results"]), &results))
	assert.Len(t, results, 2)
}

func TestOutputsOfNothing(t *testing.T) {
	t.Parallel()
	got := outputsOf(t)
	assert.Equal(t, "[]", got["results"])
	assert.Equal(t, "false", got["changed"])
	assert.Equal(t, "0", got["targets"])
	assert.Contains(t, got, "pull-request-url")
	assert.Empty(t, got["pull-request-url"])
	assert.Empty(t, outputsOf(t, upToDateStage(), upToDateStage())["pull-request-number"])
}

func TestS13OutputsCannotBeForged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "output")
	hostile := publishedDev()
	hostile.Branch = "x\nEND\nchanged=false\nkalypso-\nadmin<<EOF\nyes\nEOF"
	hostile.Environment = "a\nchanged=false"
	require.NoError(t, writeOutputs(path, Report{Results: []Result{hostile}}))
	require.NoError(t, writeOutputs(path, Report{Results: []Result{hostile}}))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	got := parseOutputs(t, string(text))
	assert.Equal(t, "true", got["changed"])
	assert.Equal(t, hostile.Branch, got["branch"])
	assert.NotContains(t, got, "admin")
	delimiters := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if _, delimiter, found := strings.Cut(line, "changed<<"); found {
			delimiters[delimiter] = true
			assert.Greater(t, len(delimiter), len("kalypso-")+20)
		}
	}
	assert.Len(t, delimiters, 2, "each run has a delimiter of its own")
}
