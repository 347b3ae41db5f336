package initialize_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/scaffold"
)

var update = flag.Bool("update", false, "rewrite docs/workflows")

// documented is the fleet of the documentation.
func documented() scaffold.Fleet {
	f := scaffold.SampleFleet()
	f.FleetSources = allAsk(f, "azure-resource-graph")
	return f
}

// allAsk says that all environments of a fleet ask the same.
func allAsk(f scaffold.Fleet, fleets ...string) map[string][]string {
	asks := map[string][]string{}
	for _, environment := range f.Environments {
		asks[environment] = fleets
	}
	return asks
}

// TestDocWorkflows keeps what the documentation shows and what init writes the same.
func TestDocWorkflows(t *testing.T) {
	t.Parallel()
	const directory = "../../../../../docs/workflows"
	want := scaffold.Files{}
	for _, place := range scaffold.Places() {
		files, err := documented().Workflows(place)
		require.NoError(t, err)
		maps.Copy(want, files)
	}
	if *update {
		for name, text := range want {
			require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644))
		}
	}
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(directory, entry.Name()))
		require.NoError(t, err)
		assert.Equal(t, want[entry.Name()], string(text), "make docs rewrites %s", entry.Name())
		names = append(names, entry.Name())
	}
	assert.Equal(t, slices.Sorted(maps.Keys(want)), names)
}

// TestWorkflowsOfEveryFleet looks at the workflows of fleets with other names and other clusters.
func TestWorkflowsOfEveryFleet(t *testing.T) {
	t.Parallel()
	for _, asks := range []string{"azure-resource-graph:one,two", "flux:east", "argocd:https://argocd.example.com", "command:./a b 'c'", "none"} {
		f := scaffold.Fleet{
			ControlPlane: "git@github.com:zed/no.git", GitOps: "https://github.com/zed/yes", Base: "true", Environments: []string{"on", "007", "null"},
			Reconciler: "argocd", Action: "zed/kalypso@1",
		}
		f.FleetSources = allAsk(f, asks)
		for _, place := range scaffold.Places() {
			files, err := f.Workflows(place)
			require.NoError(t, err)
			require.NotEmpty(t, files)
			for name, text := range files {
				var parsed map[string]any
				require.NoError(t, yaml.UnmarshalStrict([]byte(text), &parsed), "%s\n%s", name, text)
				assert.NotContains(t, text, "[[", name)
				assert.NotContains(t, text, "acme", name)
				assert.NotContains(t, text, "kalypso-gitops/kalypso@", name)
				assert.NotContains(t, text, "\n\n\n", name)
			}
		}
	}
}

// TestWorkflowsSayWhatWasGiven: names that YAML would take for something else arrive as they are.
func TestWorkflowsSayWhatWasGiven(t *testing.T) {
	t.Parallel()
	f := scaffold.Fleet{
		ControlPlane: "https://github.com/007/null", GitOps: "https://github.com/007/out", Base: "1.10", Environments: []string{"007", "no"},
		Reconciler: "flux", FleetSources: map[string][]string{"no": {"command:./a 'b' # c", "flux:y"}}, Action: "zed/kalypso@1",
	}
	at := func(place scaffold.Place, file string, path ...any) any {
		files, err := f.Workflows(place)
		require.NoError(t, err)
		var value any
		require.NoError(t, yaml.Unmarshal([]byte(files[file]), &value))
		for _, key := range path {
			switch key := key.(type) {
			case string:
				value = value.(map[string]any)[key]
			case int:
				value = value.([]any)[key]
			}
		}
		return value
	}
	// YAML 1.1 takes the key "on" for a boolean.
	assert.Equal(t, []any{"007", "no"}, at(scaffold.OfControlPlane, "cd.yaml", "true", "workflow_dispatch", "inputs", "environment", "options"))
	assert.Equal(t, []any{"1.10"}, at(scaffold.OfControlPlane, "ci.yaml", "true", "push", "branches"))
	assert.Equal(t, "007", at(scaffold.OfControlPlane, "ci.yaml", "jobs", "promote", "steps", 0, "with", "env"))
	branch, err := f.BaseBranch()
	require.NoError(t, err)
	for environment, fleets := range map[string][]any{"no": {"command:./a 'b' # c", "flux:y"}, "007": {"none"}} {
		var written struct {
			Spec struct {
				Promotion struct{ Checks struct{ Fleet []any } }
			}
		}
		require.NoError(t, yaml.Unmarshal([]byte(branch[".environments/"+environment+".yaml"]), &written))
		assert.Equal(t, fleets, written.Spec.Promotion.Checks.Fleet)
	}
	assert.Equal(t, []any{"007", "no"}, at(scaffold.OfEnvironment, "render.yaml", "true", "push", "branches"))
	assert.Equal(t, []any{"1.10", "007", "no"}, at(scaffold.OfEnvironment, "preview.yaml", "true", "pull_request", "branches"))
	for place, file := range map[scaffold.Place]string{scaffold.OfGitOps: "gitops-merged.yaml", scaffold.OfApplication: "notify.yaml"} {
		job := map[scaffold.Place]string{scaffold.OfGitOps: "notify", scaffold.OfApplication: "notify"}[place]
		assert.Equal(t, "007", at(place, file, "jobs", job, "steps", 0, "with", "owner"))
		assert.Equal(t, "null", at(place, file, "jobs", job, "steps", 0, "with", "repositories"))
		assert.Equal(t, "007/null", at(place, file, "jobs", job, "steps", 1, "env", "CONTROL_PLANE"))
	}
	assert.Equal(t, "1.10", at(scaffold.OfGitOps, "gitops-merged.yaml", "jobs", "notify", "steps", 1, "env", "BASE"))
}

// TestWorkflowsInstallARelease if there is one.
func TestWorkflowsInstallARelease(t *testing.T) {
	t.Parallel()
	f := documented()
	f.Release = "v1.2.3"
	for _, place := range scaffold.Places() {
		files, err := f.Workflows(place)
		require.NoError(t, err)
		for name, text := range files {
			assert.Equal(t, strings.Count(text, f.Action), strings.Count(text, "        with:\n          version: v1.2.3\n"), name)
			require.NoError(t, yaml.UnmarshalStrict([]byte(text), &map[string]any{}), name)
		}
	}
}

// TestWorkflowAsksTheFleet looks at what differs between kinds of fleets.
func TestWorkflowAsksTheFleet(t *testing.T) {
	t.Parallel()
	for asks, wants := range map[string][]string{
		"azure-resource-graph": {"azure/login@", "id-token: write", "AZURE_TOKEN_CREDENTIALS"},
		"flux:east,west":       {"secrets.KUBECONFIG"},
		"argocd:https://a.b":   {"secrets.ARGOCD_AUTH_TOKEN"},
		"command:./x":          {"actions/checkout@"},
		"none":                 nil,
	} {
		f := documented()
		f.FleetSources = map[string][]string{"prod": {asks}}
		files, err := f.Workflows(scaffold.OfControlPlane)
		require.NoError(t, err)
		text := files["check-promote.yaml"]
		for _, other := range []string{"azure/login@", "id-token: write", "AZURE_TOKEN_CREDENTIALS", "secrets.KUBECONFIG", "secrets.ARGOCD_AUTH_TOKEN", "actions/checkout@"} {
			assert.Equal(t, slices.Contains(wants, other), strings.Contains(text, other), "%s in the check of %s", other, asks)
		}
		assert.NotContains(t, text, "--fleet", "each environment has its own")
		assert.Equal(t, asks != "none", strings.Contains(text, "--failure-grace=5m"), asks)
	}
}

func TestWorkflowsOfNoPlace(t *testing.T) {
	t.Parallel()
	_, err := documented().Workflows("nowhere")
	require.EqualError(t, err, `unknown place "nowhere"`)
}

// TestBranches lists what init writes.
func TestBranches(t *testing.T) {
	t.Parallel()
	f := documented()
	for name, test := range map[string]struct {
		files func() (scaffold.Files, error)
		want  []string
	}{
		"base": {f.BaseBranch, []string{
			".environments/dev.yaml", ".environments/prod.yaml", ".environments/stage.yaml",
			".github/workflows/cd.yaml", ".github/workflows/check-promote.yaml", ".github/workflows/ci.yaml",
			".github/workflows/preview-comment.yaml", ".github/workflows/preview-workload.yaml", ".github/workflows/preview.yaml",
			".github/workflows/render.yaml",
			"README.md", "registrations/hello-world.yaml", "templates/argocd.yaml", "templates/flux.yaml", "templates/namespace.yaml",
		}},
		"environment": {func() (scaffold.Files, error) { return f.EnvironmentBranch("dev", "abc") }, []string{
			".github/workflows/preview.yaml", ".github/workflows/render.yaml", "base-repo.yaml", "cluster-types/cloud.yaml",
			"configs/all.yaml", "gitops-repo.yaml", "policies/applications.yaml",
		}},
		"gitops": {f.GitOpsBranch, []string{".github/workflows/gitops-merged.yaml", "README.md"}},
	} {
		files, err := test.files()
		require.NoError(t, err, name)
		assert.Equal(t, test.want, slices.Sorted(maps.Keys(files)), name)
	}
}

// TestChain looks at the order of the environments.
func TestChain(t *testing.T) {
	t.Parallel()
	files, err := documented().BaseBranch()
	require.NoError(t, err)
	for environment, next := range map[string]string{"dev": "[stage]", "stage": "[prod]", "prod": ""} {
		text := files[fmt.Sprintf(".environments/%s.yaml", environment)]
		assert.Equal(t, next != "", strings.Contains(text, "next:"), text)
		assert.Contains(t, text, "fleet: [\"azure-resource-graph\"]")
		assert.Contains(t, text, next)
	}
}

// TestShellWord: what is pasted into a shell, or loaded by one, is one word.
func TestShellWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a/b.c": "a/b.c", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "*": "'*'", "": "''", "a\nb": "'a\nb'",
	} {
		assert.Equal(t, want, scaffold.ShellWord(text))
	}
}

// TestReadyMeansHealthy: without wait, Flux reports success for an application that the API server refuses. What pulls the
// platform's directory waits for the Kustomizations in it, so it needs more time than they have.
func TestReadyMeansHealthy(t *testing.T) {
	t.Parallel()
	files, err := documented().BaseBranch()
	require.NoError(t, err)
	page, err := os.ReadFile("../../../../../docs/how-to/let-clusters-pull.md")
	require.NoError(t, err)
	tenant, platform := timeoutOfKustomization(t, files["templates/flux.yaml"]), timeoutOfKustomization(t, string(page))
	assert.Greater(t, platform, tenant)

	pages, err := filepath.Glob("../../../../../docs/*/*.md")
	require.NoError(t, err)
	for _, path := range append(pages, "../../../../../README.md", "../../../../../docs/tutorial.md") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Len(t, waits.FindAllString(string(text), -1), strings.Count(string(text), "kind: Kustomization\n"), "Kustomizations that wait in %s", path)
	}
	assert.Contains(t, string(page), "resource.customizations.health.argoproj.io_Application:")
	assert.Contains(t, string(page), "      allowEmpty: true")
}

var (
	waits    = regexp.MustCompile(`(?m)^ +wait: true\b`)
	timeouts = regexp.MustCompile(`(?m)^ +timeout: (\S+)`)
)

// timeoutOfKustomization is the only timeout in a text.
func timeoutOfKustomization(t *testing.T, text string) time.Duration {
	t.Helper()
	found := timeouts.FindAllStringSubmatch(text, -1)
	require.Len(t, found, 1)
	timeout, err := time.ParseDuration(found[0][1])
	require.NoError(t, err)
	return timeout
}
