package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

func publishedDev() actionsResult {
	return actionsResult{
		Environment: "dev", GitOpsRepo: "fleet", Changed: true, Branch: "deployment/dev", Commit: pushedCommit,
		Plan:        planResult{Summary: "14 targets on 5 cluster types: +2 ~1 -1 =11", Targets: 14, ClusterTypes: 5, Added: 2, Changed: 1, Removed: 1, Unchanged: 11},
		PullRequest: &actionsPullRequest{Number: 7, URL: "https://github.com/acme/fleet/pull/7", Operation: "created"},
		details:     "## What changes\n\n- `a`\n",
	}
}

func upToDateStage() actionsResult {
	return actionsResult{
		Environment: "stage", GitOpsRepo: "fleet", Plan: planResult{Summary: "3 targets on 2 cluster types: +0 ~0 -0 =3", Targets: 3, ClusterTypes: 2, Unchanged: 3},
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

func outputsOf(t *testing.T, results ...actionsResult) map[string]string {
	t.Helper()
	outputs, err := stepOutputs(results)
	require.NoError(t, err)
	return parseOutputs(t, formatOutputs(outputs, "END"))
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	got := outputsOf(t, publishedDev())
	assert.JSONEq(t, `[{"environment":"dev","gitOpsRepo":"fleet","changed":true,"branch":"deployment/dev","commit":"`+pushedCommit+`",
		"pullRequest":{"number":7,"url":"https://github.com/acme/fleet/pull/7","operation":"created"},
		"plan":{"summary":"14 targets on 5 cluster types: +2 ~1 -1 =11","targets":14,"clusterTypes":5,"added":2,"changed":1,"removed":1,"unchanged":11}}]`, got["results"])
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

// TestActionHasTheOutputs keeps the outputs of action.yml those of the program, and those in the docs.
func TestActionHasTheOutputs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../action.yml")
	require.NoError(t, err)
	var action struct {
		Outputs map[string]struct{ Value string } `json:"outputs"`
	}
	require.NoError(t, yaml.Unmarshal(text, &action))
	docs, err := os.ReadFile(filepath.Join(docsFolder, "reference/publishing.md"))
	require.NoError(t, err)
	rendered, err := stepOutputs(nil)
	require.NoError(t, err)
	promoted := promotionOutputs(&checked{Report: promote.Report{Look: &promote.Look{}}}, nil)
	names := map[string]bool{"path": true} // of the program, which the action sets itself
	for _, o := range promoted {
		names[o.name] = true
		assert.Equal(t, "${{ steps.run.outputs."+o.name+" }}", action.Outputs[o.name].Value, o.name)
	}
	for _, o := range rendered {
		names[o.name] = true
		assert.Equal(t, "${{ steps.run.outputs."+o.name+" }}", action.Outputs[o.name].Value, o.name)
		if !strings.Contains(string(docs), "`"+o.name+"`") {
			t.Errorf("docs/reference/publishing.md has nothing about %q", o.name)
		}
	}
	assert.Len(t, action.Outputs, len(names))
}

func TestS13OutputsCannotBeForged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "output")
	hostile := publishedDev()
	hostile.Branch = "x\nEND\nchanged=false\nkalypso-\nadmin<<EOF\nyes\nEOF"
	hostile.Environment = "a\nchanged=false"
	require.NoError(t, writeOutputs(path, actionsReport{results: []actionsResult{hostile}}))
	require.NoError(t, writeOutputs(path, actionsReport{results: []actionsResult{hostile}}))
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

// TestDryPromotionOutputs tell a workflow whether there is something for people to approve.
func TestDryPromotionOutputs(t *testing.T) {
	t.Parallel()
	for action, want := range map[promote.Action]string{
		promote.ActionPromoted: "true", promote.ActionProposed: "true", promote.ActionUnchanged: "false", promote.ActionWaiting: "false",
		promote.ActionRefused: "false", promote.ActionNotPromotable: "false", promote.ActionDeclined: "false",
	} {
		outputs := promotionOutputs(nil, []promote.Outcome{{Environment: "dev", Action: action, DryRun: true}})
		assert.Contains(t, outputs, stepOutput{"changed", want}, action)
		assert.Contains(t, outputs, stepOutput{"actions", "none"}, "nothing was done")
	}
}
