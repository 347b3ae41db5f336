package actions

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

const (
	controlPlaneURL = "https://github.com/acme/control-plane"
	pushedCommit    = "1111111111111111111111111111111111111111"
	otherCommit     = "2222222222222222222222222222222222222222"
)

// actionsEnv is the environment of a step that runs for a push to dev.
func actionsEnv(more map[string]string) func(string) string {
	env := map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "Acme/control-plane",
		"GITHUB_REF_TYPE": "branch", "GITHUB_REF_NAME": "dev", "GITHUB_SHA": pushedCommit, "GITHUB_WORKSPACE": "/workspace/x",
	}
	for name, value := range more {
		env[name] = value
	}
	return func(name string) string { return env[name] }
}

func place(repo, branch, path string, line, column int) diag.Place {
	return diag.Place{File: &diag.File{Repo: repo, Branch: branch, Path: path}, Line: line, Column: column}
}

func TestNewWorkflow(t *testing.T) {
	t.Parallel()
	guard := term.NewGuard(&bytes.Buffer{})
	w := NewWorkflow(actionsEnv(map[string]string{"GITHUB_OUTPUT": "/o", "GITHUB_STEP_SUMMARY": "/s"}), guard)
	assert.Equal(t, &Workflow{
		checkout:   checkout{Repo: "https://github.com/Acme/control-plane", branch: "dev", commit: pushedCommit, workspace: "/workspace/x"},
		outputFile: "/o", summaryFile: "/s", commands: guard,
	}, w)
	tag := NewWorkflow(actionsEnv(map[string]string{"GITHUB_REF_TYPE": "tag", "GITHUB_REF_NAME": "dev"}), guard)
	assert.Empty(t, tag.branch, "a tag is no branch, whatever its name")
}

func TestInWorkflow(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	outside := term.IO{Stdout: &stdout, Stderr: &stderr, Env: func(string) string { return "" }}
	same, none := InWorkflow(outside)
	assert.Same(t, &stdout, same.Stdout)
	assert.Nil(t, none)

	inside, w := InWorkflow(term.IO{Stdout: &stdout, Stderr: &stderr, Env: actionsEnv(nil)})
	require.NotNil(t, w)
	for _, stream := range []io.Writer{inside.Stdout, inside.Stderr} {
		_, err := stream.Write([]byte("::error::theirs\n"))
		require.NoError(t, err)
	}
	w.commands.Command("::error::ours")
	assert.Equal(t, ":\\:error::theirs\n", stdout.String())
	assert.Equal(t, ":\\:error::theirs\n::error::ours\n", stderr.String())
}

func TestCheckoutHolds(t *testing.T) {
	t.Parallel()
	here := NewWorkflow(actionsEnv(nil), nil).checkout
	for name, test := range map[string]struct {
		at     diag.Place
		commit string
		want   bool
	}{
		"pushed branch":             {place(controlPlaneURL, "dev", "a.yaml", 1, 1), pushedCommit, true},
		"commit not known":          {place(controlPlaneURL, "dev", "a.yaml", 1, 1), "", true},
		"branch has moved":          {place(controlPlaneURL, "dev", "a.yaml", 1, 1), otherCommit, false},
		"other branch":              {place(controlPlaneURL, "main", "a.yaml", 1, 1), "", false},
		"no branch":                 {place(controlPlaneURL, "", "a.yaml", 1, 1), "", false},
		"other repository":          {place("https://github.com/acme/app", "dev", "a.yaml", 1, 1), "", false},
		"other host":                {place("https://ghe.acme.example/acme/control-plane", "dev", "a.yaml", 1, 1), "", false},
		"the repository as a whole": {place(controlPlaneURL, "dev", "", 0, 0), "", false},
		"work tree":                 {place("/workspace/x", "", "a.yaml", 1, 1), "", true},
		"another directory":         {place("/workspace/y", "", "a.yaml", 1, 1), "", false},
	} {
		assert.Equal(t, test.want, here.holds(test.at.File, test.commit), name)
	}
	nowhere := NewWorkflow(actionsEnv(map[string]string{"GITHUB_REF_NAME": "", "GITHUB_REPOSITORY": ""}), nil).checkout
	assert.False(t, nowhere.holds(place(controlPlaneURL, "", "a.yaml", 1, 1).File, ""))
	assert.False(t, nowhere.holds(place("", "", "a.yaml", 1, 1).File, ""))
}

func TestReadCommits(t *testing.T) {
	t.Parallel()
	source := func(branch, commit string) *model.Source {
		return &model.Source{Repo: controlPlaneURL, Commit: commit, Ref: model.Ref{Branch: branch}}
	}
	commits := Commits{}
	commits.Add([]*model.Source{source("dev", pushedCommit), source("main", otherCommit), source("dev", pushedCommit)})
	commits.Add([]*model.Source{source("main", pushedCommit), source("main", otherCommit)})
	assert.Equal(t, pushedCommit, commits.of(place(controlPlaneURL, "dev", "a", 0, 0).File))
	assert.Empty(t, commits.of(place(controlPlaneURL, "main", "a", 0, 0).File), "two commits")
	assert.Empty(t, Commits(nil).of(place(controlPlaneURL, "dev", "a", 0, 0).File))
}

func TestWorkflowSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	output, summary := filepath.Join(dir, "output"), filepath.Join(dir, "summary")
	require.NoError(t, os.WriteFile(output, []byte("earlier=1\n"), 0o600))
	require.NoError(t, os.WriteFile(summary, []byte("earlier\n\n"), 0o600))
	var stderr bytes.Buffer
	w := NewWorkflow(actionsEnv(map[string]string{"GITHUB_OUTPUT": output, "GITHUB_STEP_SUMMARY": summary}), term.NewGuard(&stderr))
	var diags diag.List
	diags.Error("unknown-field", place(controlPlaneURL, "dev", "cluster-type.yaml", 5, 3), `unknown field "reconcilr"`, diag.Hint(`did you mean "reconciler"?`))
	diags.Error("unknown-field", place(controlPlaneURL, "dev", "cluster-type.yaml", 5, 3), `unknown field "reconcilr"`, diag.Hint(`did you mean "reconciler"?`))
	require.NoError(t, w.Say(Report{Title: "kalypso render", Outcome: "1 error: nothing was published", Diags: diags, Results: []Result{publishedDev()}}))

	assert.Equal(t, `::error file=cluster-type.yaml,line=5,col=3,title=unknown-field::unknown field "reconcilr"%0Ahint: did you mean "reconciler"?`+"\n",
		stderr.String(), "once")
	written, err := os.ReadFile(output)
	require.NoError(t, err)
	assert.Equal(t, "true", parseOutputs(t, string(written))["changed"])
	assert.Equal(t, "1", parseOutputs(t, string(written))["earlier"], "what was there stays")
	written, err = os.ReadFile(summary)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(written), "earlier\n\n## kalypso render\n\n1 error\\: nothing was published\n\n| Severity | Source"), string(written))
}

func TestWorkflowSaysWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := NewWorkflow(actionsEnv(map[string]string{"GITHUB_OUTPUT": dir, "GITHUB_STEP_SUMMARY": filepath.Join(dir, "no", "such")}), term.NewGuard(&bytes.Buffer{}))
	err := w.Say(Report{Title: "kalypso render"})
	require.ErrorContains(t, err, "write the outputs of the step: ")
	require.ErrorContains(t, err, "write the summary of the step: ")
	require.NoError(t, NewWorkflow(actionsEnv(nil), term.NewGuard(&bytes.Buffer{})).Say(Report{}), "a runner that takes neither")
}
