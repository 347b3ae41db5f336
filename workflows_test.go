package kalypso_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// workflowStep is what workflows and composite actions have in common.
type workflowStep struct {
	Name  string            `json:"name"`
	Uses  string            `json:"uses"`
	Run   string            `json:"run"`
	Shell string            `json:"shell"`
	With  map[string]any    `json:"with"`
	Env   map[string]string `json:"env"`
}

// automation is a workflow or a composite action.
type automation struct {
	// On is what starts a workflow. YAML 1.1, as it is read here, takes the key for a boolean.
	On          workflowEvents         `json:"true"`
	Permissions *any                   `json:"permissions"`
	Concurrency *concurrency           `json:"concurrency"`
	Jobs        map[string]workflowJob `json:"jobs"`
	Inputs      map[string]struct{}    `json:"inputs"`
	Outputs     map[string]struct{}    `json:"outputs"`
	Runs        struct {
		Steps []workflowStep `json:"steps"`
	} `json:"runs"`
}

type workflowJob struct {
	Permissions map[string]string `json:"permissions"`
	Concurrency *concurrency      `json:"concurrency"`
	Steps       []workflowStep    `json:"steps"`
}

type workflowEvents struct {
	Push             map[string]any      `json:"push"`
	Schedule         []map[string]string `json:"schedule"`
	WorkflowDispatch struct {
		Inputs map[string]struct{} `json:"inputs"`
	} `json:"workflow_dispatch"`
}

type concurrency struct {
	Group            string `json:"group"`
	CancelInProgress any    `json:"cancel-in-progress"`
}

func (a automation) steps() []workflowStep {
	steps := slices.Clone(a.Runs.Steps)
	for _, job := range slices.Sorted(maps.Keys(a.Jobs)) {
		steps = append(steps, a.Jobs[job].Steps...)
	}
	return steps
}

// pinned is an action by commit, with a comment that says which version it is.
var pinned = regexp.MustCompile(`^[^@]+@[0-9a-f]{40}$`)

// flaws lists what makes an automation less safe than it can be.
func (a automation) flaws() []string {
	var flaws []string
	if len(a.Jobs) > 0 && a.Permissions == nil {
		flaws = append(flaws, "no permissions at the top: the default may write")
	}
	for i, step := range a.steps() {
		switch {
		case strings.Contains(step.Run, "${{"):
			flaws = append(flaws, fmt.Sprintf("step %d has an expression in its script", i+1))
		case step.Run != "" && len(a.Runs.Steps) > 0 && step.Shell != "bash":
			flaws = append(flaws, fmt.Sprintf("step %d has no shell", i+1))
		case step.Uses != "" && !strings.HasPrefix(step.Uses, "./") && step.Uses != ours && !pinned.MatchString(step.Uses):
			flaws = append(flaws, fmt.Sprintf("step %d uses %s, which can change", i+1, step.Uses))
		}
	}
	return flaws
}

// ours is how examples refer to the action of this repository: whoever copies them chooses the commit.
const ours = "kalypso-gitops/kalypso@COMMIT"

func readAutomation(t *testing.T, path string) automation {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var a automation
	require.NoError(t, yaml.Unmarshal(text, &a), path)
	require.NotEmpty(t, a.steps(), path)
	return a
}

// automations are all files that GitHub runs, or that people copy so that it does.
func automations(t *testing.T) []string {
	t.Helper()
	paths := []string{"action.yml"}
	for _, pattern := range []string{".github/workflows/*", "docs/workflows/*"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		paths = append(paths, found...)
	}
	return paths
}

func TestS14WorkflowsAreSafe(t *testing.T) {
	t.Parallel()
	for _, path := range automations(t) {
		assert.Empty(t, readAutomation(t, path).flaws(), path)
	}
}

// TestGroupsAreApart: of a concurrency group of a repository one run waits, so those of two workflows are not the same.
func TestGroupsAreApart(t *testing.T) {
	t.Parallel()
	groups := map[string]string{}
	for _, path := range automations(t) {
		a := readAutomation(t, path)
		for _, job := range a.Jobs {
			if job.Concurrency != nil {
				a.Concurrency = job.Concurrency
			}
		}
		if a.Concurrency == nil {
			continue
		}
		fixed := regexp.MustCompile(`\$\{\{.*?\}\}`).ReplaceAllString(a.Concurrency.Group, "*")
		assert.NotContains(t, groups, fixed, path)
		groups[fixed] = path
	}
	assert.Greater(t, len(groups), 8)
}

func TestS14UnsafeWorkflowsAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"jobs: {a: {steps: [{run: x}]}}":                                           "no permissions",
		"permissions: {}\njobs: {a: {steps: [{run: 'echo ${{ github.actor }}'}]}}": "an expression in its script",
		"permissions: {}\njobs: {a: {steps: [{uses: a/b@v1}]}}":                    "a/b@v1, which can change",
		"runs: {steps: [{run: x}]}":                                                "no shell",
	} {
		var a automation
		require.NoError(t, yaml.Unmarshal([]byte(text), &a))
		flaws := a.flaws()
		require.Len(t, flaws, 1, text)
		assert.Contains(t, flaws[0], want)
	}
}

// TestIssueForms keeps the forms such as GitHub takes them.
func TestIssueForms(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(".github/ISSUE_TEMPLATE/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var form struct {
			Name        string   `json:"name"`
			Description string   `json:"description"`
			Labels      []string `json:"labels"`
			Body        []struct {
				Type        string            `json:"type"`
				ID          string            `json:"id"`
				Attributes  map[string]string `json:"attributes"`
				Validations map[string]bool   `json:"validations"`
			} `json:"body"`
		}
		require.NoError(t, yaml.UnmarshalStrict(text, &form), path)
		assert.NotEmpty(t, form.Name, path)
		assert.NotEmpty(t, form.Description, path)
		seen := map[string]bool{}
		for _, field := range form.Body {
			assert.Contains(t, []string{"markdown", "textarea"}, field.Type, path)
			assert.Equal(t, field.Type == "markdown", field.Attributes["label"] == "", path)
			assert.False(t, seen[field.ID], "%s: %s comes twice", path, field.ID)
			seen[field.ID] = true
		}
	}
}

// TestPinsAgree keeps an action that several files use at one commit.
func TestPinsAgree(t *testing.T) {
	t.Parallel()
	pins := map[string]string{}
	for _, path := range automations(t) {
		for _, step := range readAutomation(t, path).steps() {
			if name, commit, found := strings.Cut(step.Uses, "@"); found {
				if known, seen := pins[name]; seen {
					assert.Equal(t, known, commit, "%s in %s", name, path)
				}
				pins[name] = commit
			}
		}
	}
	assert.Contains(t, pins, "actions/setup-go")
}

var inputOf = regexp.MustCompile(`inputs\.([a-z-]+)`)

// TestActionUsesItsInputs keeps the inputs of the action, those that its steps take, and those that its
// examples give the same.
func TestActionUsesItsInputs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("action.yml")
	require.NoError(t, err)
	a := readAutomation(t, "action.yml")
	used := map[string]bool{}
	for _, match := range inputOf.FindAllStringSubmatch(string(text), -1) {
		used[match[1]] = true
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(a.Inputs)), slices.Collect(maps.Keys(used)))

	scripts, err := os.ReadFile("hack/action/run.sh")
	require.NoError(t, err)
	for _, step := range a.Runs.Steps {
		for name := range step.Env {
			if input, found := strings.CutPrefix(name, "INPUT_"); found && input != "VERSION" {
				assert.Contains(t, string(scripts), "take "+input+")", "run.sh does not read it")
			}
		}
	}
	for _, path := range automations(t) {
		for _, step := range readAutomation(t, path).steps() {
			if step.Uses == ours || step.Uses == "./" {
				for name := range step.With {
					assert.Contains(t, a.Inputs, name, path)
				}
			}
		}
	}
}
