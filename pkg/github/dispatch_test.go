package github_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// cd is a workflow that promotes.
const cd = `
on:
  push:
  workflow_dispatch:
    inputs:
      environment: {required: true}
      commit: {required: true, default: ""}
      note: {}
jobs: {}
`

// withWorkflows is a fixture whose control plane has workflows: what is on main, and what on dev.
func withWorkflows(t *testing.T) (*historian, *githubtest.Repo) {
	t.Helper()
	h := withHistory(t)
	remote := h.hub.Repo("acme/control")
	remote.Push(gitopstest.Commit{Files: gitopstest.Files{
		".github/workflows/cd.yaml": cd, ".github/workflows/ci.yml": "on: [push]\n", ".github/workflows/short.yml": "on: workflow_dispatch\n",
		".github/workflows/list.yml": "on: [push, workflow_dispatch]\n",
	}}, gitopstest.Commit{Branch: "side", Files: gitopstest.Files{
		".github/workflows/cd.yaml": "on: push\n", ".github/workflows/new.yaml": "on: workflow_dispatch\n",
	}})
	return h, remote
}

func inputs() map[string]string {
	return map[string]string{"environment": "stage", "commit": commit("0")}
}

func TestDispatch(t *testing.T) {
	t.Parallel()
	h, remote := withWorkflows(t)
	for _, name := range []string{"cd.yaml", ".github/workflows/cd.yaml"} {
		require.NoError(t, h.control.Dispatch(t.Context(), name, "main", inputs()))
	}
	for _, name := range []string{"short.yml", "list.yml"} {
		require.NoError(t, h.control.Dispatch(t.Context(), name, "main", nil))
	}
	started := remote.Dispatches()
	require.Len(t, started, 4)
	want := githubtest.Dispatch{Workflow: "cd.yaml", Ref: "main", Inputs: inputs(), Author: "github-actions[bot]"}
	assert.Equal(t, []githubtest.Dispatch{want, want}, started[:2])
	assert.Len(t, h.hub.Requests(), 4)
}

func TestDispatchRefused(t *testing.T) {
	t.Parallel()
	h, remote := withWorkflows(t)
	for name, test := range map[string]struct {
		workflow, branch string
		inputs           map[string]string
		kind             github.Kind
		want, hint       string
	}{
		"no such workflow": {
			"gone.yaml", "main", inputs(), github.NotFound, `start the workflow "gone.yaml" on "main" in acme/control: GitHub answers 404`,
			`.github/workflows/gone.yaml not found on the default branch, or the token may not start it: the token needs the permission "actions: write"`,
		},
		"on another branch only": {
			"new.yaml", "side", nil, github.NotFound, "404", ".github/workflows/new.yaml not found on the default branch",
		},
		"no such branch":    {"cd.yaml", "gone", inputs(), github.Invalid, "No ref found for: gone", `branch "gone" not found`},
		"never by hand":     {"ci.yml", "main", nil, github.Invalid, "does not have 'workflow_dispatch' trigger", "write “workflow_dispatch” into “on” of .github/workflows/ci.yml on main"},
		"not there":         {"cd.yaml", "side", inputs(), github.Invalid, "trigger", "of .github/workflows/cd.yaml on side"},
		"a strange input":   {"cd.yaml", "main", map[string]string{"environment": "a", "env": "b"}, github.Invalid, `Unexpected inputs provided: ["env"]`, "the inputs of workflow_dispatch in .github/workflows/cd.yaml on main must be: env, environment"},
		"a missing input":   {"cd.yaml", "main", map[string]string{"commit": "c"}, github.Invalid, "Required input 'environment' not provided", "must be: commit"},
		"not a file":        {"cd", "main", nil, github.Invalid, "that is not the name of a workflow file", "name a .yml or .yaml file in .github/workflows/, without the directory"},
		"a path":            {"../../secrets/x.yaml", "main", nil, github.Invalid, "that is not the name of a workflow file", "without the directory"},
		"another directory": {"workflows/cd.yaml", "main", nil, github.Invalid, "that is not the name of a workflow file", "without the directory"},
		"escaped":           {"a%2Fb?c#d.yaml", "main", nil, github.NotFound, "404", "a%2Fb?c#d.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := h.control.Dispatch(t.Context(), test.workflow, test.branch, test.inputs)
			require.ErrorContains(t, err, test.want)
			var failed *github.Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, test.kind, failed.Kind)
			assert.Contains(t, failed.Hint, test.hint)
		})
	}
	t.Cleanup(func() { assert.Empty(t, remote.Dispatches()) })
}

func TestDispatchOfADisabledWorkflow(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusUnprocessableEntity} {
		f := setup(t, githubtest.Options{}, nil)
		f.hub.Inject(githubtest.Refusal(status, "Cannot trigger a 'workflow_dispatch' on a disabled workflow"), githubtest.Always)
		err := f.repo.Dispatch(t.Context(), "cd.yaml", "main", nil)
		var failed *github.Error
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, "enable .github/workflows/cd.yaml on the page “Actions” of the repository", failed.Hint)
	}
}
