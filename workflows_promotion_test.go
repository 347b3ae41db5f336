package kalypso_test

import (
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// example is a workflow that people copy.
func example(t *testing.T, name string) automation {
	t.Helper()
	return readAutomation(t, filepath.Join("docs", "workflows", name))
}

func examples(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("docs/workflows/*")
	require.NoError(t, err)
	for i, path := range found {
		found[i] = filepath.Base(path)
	}
	return found
}

// TestS14ExamplesMayWriteNothingElse lists all that the tokens of the examples' jobs may write. Whatever else is written
// is by a token of an App, which kalypso narrows, or which the step says how to narrow.
func TestS14ExamplesMayWriteNothingElse(t *testing.T) {
	t.Parallel()
	written := map[string]string{}
	for _, name := range examples(t) {
		workflow := example(t, name)
		require.NotNil(t, workflow.Permissions, name)
		assert.Empty(t, *workflow.Permissions, "%s: at the top", name)
		for job, of := range workflow.Jobs {
			for permission, access := range of.Permissions {
				if access != "read" {
					written[name+" "+job] += permission + ": " + access
				}
			}
		}
	}
	assert.Equal(t, map[string]string{
		"ci.yaml status":               "statuses: write",
		"check-promote.yaml check":     "id-token: write",
		"preview.yaml preview":         "pull-requests: write", // a comment
		"preview-comment.yaml comment": "pull-requests: write",
	}, written)
}

// TestS14TokensOfAppsAreNarrow: for one repository, with one permission.
func TestS14TokensOfAppsAreNarrow(t *testing.T) {
	t.Parallel()
	granted := map[string]string{}
	for _, name := range examples(t) {
		for _, step := range example(t, name).steps() {
			if !strings.HasPrefix(step.Uses, "actions/create-github-app-token@") {
				continue
			}
			assert.Equal(t, "acme", step.With["owner"], name)
			assert.Equal(t, "control-plane", step.With["repositories"], name)
			for input, access := range step.With {
				if permission, found := strings.CutPrefix(input, "permission-"); found {
					granted[name] += permission + ": " + access.(string)
				}
			}
		}
	}
	assert.Equal(t, map[string]string{"notify.yaml": "contents: write", "gitops-merged.yaml": "actions: write"}, granted)
}

// TestWaitingRunsStrandNoCommit: of a concurrency group one run waits at most, and the next one cancels it. So a group
// that is about commits is about one commit.
func TestWaitingRunsStrandNoCommit(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]string{
		"ci.yaml":            {"github.sha"},
		"cd.yaml":            {"inputs.environment", "inputs.commit || github.sha"}, // which is the newest without one
		"check-promote.yaml": {"matrix.environment", "inputs.commit"},
		"gitops-merged.yaml": {"github.ref", "github.sha"},
	} {
		workflow := example(t, name)
		group := workflow.Concurrency
		for _, job := range workflow.Jobs {
			if job.Concurrency != nil {
				require.Nil(t, group, "%s: one group is enough", name)
				group = job.Concurrency
			}
		}
		require.NotNil(t, group, name)
		assert.Equal(t, false, group.CancelInProgress, name)
		for _, part := range parts {
			assert.Contains(t, group.Group, "${{ "+part+" }}", name)
		}
	}
}

// TestEveryMergeIsTold: a promotion that changes nothing else changes .github/tracking, which the seeds' workflow
// ignored.
func TestEveryMergeIsTold(t *testing.T) {
	t.Parallel()
	push := example(t, "gitops-merged.yaml").On.Push
	assert.Equal(t, []string{"branches"}, slices.Collect(maps.Keys(push)), "neither paths nor paths-ignore")
}

// TestWorkflowsOfTheChainFit keeps what is sent and what is taken the same.
func TestWorkflowsOfTheChainFit(t *testing.T) {
	t.Parallel()
	want := []string{"commit", "environment"} // what --dispatch sends, too
	for _, name := range []string{"cd.yaml", "check-promote.yaml"} {
		assert.Equal(t, want, slices.Sorted(maps.Keys(example(t, name).On.WorkflowDispatch.Inputs)), name)
	}
	sent := regexp.MustCompile(`inputs\[([a-z]+)\]`).FindAllStringSubmatch(script(t, "gitops-merged.yaml", "Start check-promote"), -1)
	var names []string
	for _, match := range sent {
		names = append(names, match[1])
	}
	assert.ElementsMatch(t, want, names)
}

// script is a step of an example.
func script(t *testing.T, workflow, name string) string {
	t.Helper()
	for _, step := range example(t, workflow).steps() {
		if step.Name == name {
			require.NotEmpty(t, step.Run)
			return step.Run
		}
	}
	t.Fatalf("%s has no step %q", workflow, name)
	return ""
}

// play runs a step as the runner does, with a gh that prints its arguments.
func play(t *testing.T, text string, env map[string]string) (said string, err error) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	// A function, as a program that was just written may be busy for the processes of other tests.
	cmd := exec.CommandContext(t.Context(), bash, "-e", "-c", "gh() { printf '<%s>\\n' \"$@\"; }\n"+text)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + cmd.Dir}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestGHTalksToItsServer: without a host gh takes github.com, and sends it the token of whatever server this is.
func TestGHTalksToItsServer(t *testing.T) {
	t.Parallel()
	found := 0
	for _, name := range examples(t) {
		for _, step := range example(t, name).steps() {
			if at := strings.Index(step.Run, "gh "); at >= 0 {
				found++
				host := strings.Index(step.Run, `export GH_HOST="${GITHUB_SERVER_URL#*://}"`)
				assert.True(t, host >= 0 && host < strings.Index(step.Run, "gh api"), "%s: %s", name, step.Name)
				assert.NotEmpty(t, step.Env["GH_TOKEN"], name)
				assert.Equal(t, step.Env["GH_TOKEN"], step.Env["GH_ENTERPRISE_TOKEN"], name)
			}
		}
	}
	assert.Equal(t, 4, found)
}

func TestCIStatus(t *testing.T) {
	t.Parallel()
	text := script(t, "ci.yaml", "Set the commit status")
	for results, want := range map[string]string{
		"success success":   "<state=success>",
		"success skipped":   "<state=success>",
		"success failure":   "<state=failure>",
		"failure cancelled": "<state=failure>",
		"cancelled success": "<state=error>",
	} {
		said, err := play(t, text, map[string]string{
			"RESULTS": results, "PAGE": "https://github.com/acme/cp/actions/runs/1", "GITHUB_REPOSITORY": "acme/cp", "GITHUB_SHA": "abc",
		})
		require.NoError(t, err, said)
		assert.Contains(t, said, want, results)
		assert.Contains(t, said, "<POST>\n<repos/acme/cp/statuses/abc>\n")
		assert.Contains(t, said, "<context=ci>\n")
		assert.Contains(t, said, "<target_url=https://github.com/acme/cp/actions/runs/1>\n")
	}
}

func TestGitOpsMergedStartsTheCheck(t *testing.T) {
	t.Parallel()
	text := script(t, "gitops-merged.yaml", "Start check-promote")
	env := map[string]string{"CONTROL_PLANE": "acme/control-plane", "BASE": "main", "BRANCH": "stage", "COMMIT": "abc"}
	said, err := play(t, text, env)
	require.NoError(t, err, said)
	assert.Equal(t, `<api>
<--method>
<POST>
<repos/acme/control-plane/actions/workflows/check-promote.yaml/dispatches>
<-f>
<ref=main>
<-f>
<inputs[environment]=stage>
<-f>
<inputs[commit]=abc>
`, said)

	env["BRANCH"] = "release\n::add-mask::x"
	said, err = play(t, text, env)
	require.Error(t, err)
	assert.Equal(t, "::error::this workflow has no environment for the branch\n", said)
}

// TestS14NoTokenForApplicationsByDefault: a token that may send a dispatch can also push to the control plane.
func TestS14NoTokenForApplicationsByDefault(t *testing.T) {
	t.Parallel()
	assert.Empty(t, example(t, "notify.yaml").On.Push)
	assert.Contains(t, example(t, "render.yaml").On.Schedule, map[string]string{"cron": "7,22,37,52 * * * *"})
}

// TestS14PreviewIsUnpackedInItsOwnFolder: the author of the pull request chooses the file names in an artifact.
func TestS14PreviewIsUnpackedInItsOwnFolder(t *testing.T) {
	t.Parallel()
	said, err := play(t, script(t, "preview-comment.yaml", "Find the pull request and its preview"), map[string]string{
		"RUNNER_TEMP": "/runner temp", "RUN": "7", "GH_REPO": "acme/cp", "GITHUB_OUTPUT": "/dev/null", "HEAD": "fork:idea",
	})
	require.NoError(t, err, said)
	assert.Contains(t, said, "<--dir>\n</runner temp/kalypso-preview>\n")
	var used []string
	for _, step := range example(t, "preview-comment.yaml").steps() {
		if args, found := step.With["args"]; found {
			used = append(used, strings.Fields(strings.ReplaceAll(args.(string), "${{ ", "${{"))...)
		}
	}
	assert.Equal(t, "${{runner.temp", used[len(used)-2])
	assert.Equal(t, "}}/kalypso-preview/kalypso-preview.md", used[len(used)-1])
}

// TestGitOpsMergedKnowsItsBranches keeps the branches that start the workflow and those that it knows the same.
func TestGitOpsMergedKnowsItsBranches(t *testing.T) {
	t.Parallel()
	text := script(t, "gitops-merged.yaml", "Start check-promote")
	branches := example(t, "gitops-merged.yaml").On.Push["branches"].([]any)
	require.NotEmpty(t, branches)
	for _, branch := range branches {
		said, err := play(t, text, map[string]string{"CONTROL_PLANE": "a/b", "BASE": "main", "BRANCH": branch.(string), "COMMIT": "abc"})
		require.NoError(t, err, said)
		assert.Contains(t, said, "<inputs[environment]="+branch.(string)+">")
	}
}
