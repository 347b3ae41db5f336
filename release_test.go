package kalypso_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestReleaseComesAfterTheTests looks at what a release may do, and what has to be before it.
func TestReleaseComesAfterTheTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(".github/workflows/release.yaml")
	require.NoError(t, err)
	var workflow struct {
		Jobs map[string]struct {
			Needs       string            `json:"needs"`
			Uses        string            `json:"uses"`
			Environment string            `json:"environment"`
			Permissions map[string]string `json:"permissions"`
			Steps       []workflowStep    `json:"steps"`
		} `json:"jobs"`
	}
	require.NoError(t, yaml.Unmarshal(text, &workflow))
	assert.Equal(t, "./.github/workflows/ci.yaml", workflow.Jobs["ci"].Uses)
	assert.Equal(t, map[string]string{"contents": "read"}, workflow.Jobs["ci"].Permissions)
	release := workflow.Jobs["release"]
	assert.Equal(t, "ci", release.Needs)
	assert.Equal(t, "release", release.Environment)
	assert.Equal(t, map[string]string{"contents": "write", "packages": "write", "id-token": "write", "attestations": "write"}, release.Permissions)
	order := ""
	for _, step := range release.Steps {
		switch {
		case strings.Contains(step.Run, "merge-base --is-ancestor HEAD origin/main"):
			order += "on main, "
		case strings.Contains(step.Run, "goreleaser release"):
			order += "published, "
			assert.Equal(t, "${{ github.ref_name }}", step.Env["GORELEASER_CURRENT_TAG"], "a commit may have two tags")
		case strings.HasPrefix(step.Uses, "actions/setup-go@"):
			assert.Equal(t, false, step.With["cache"], "what jobs of lesser trust can write to")
		case strings.HasPrefix(step.Uses, "actions/attest"):
			order += "attested, "
		}
	}
	assert.Equal(t, "on main, published, attested, attested, ", order)
}

// TestReleaseNamesAreThoseOfTheAction: the action looks for archives by name.
func TestReleaseNamesAreThoseOfTheAction(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(".goreleaser.yaml")
	require.NoError(t, err)
	var config struct {
		ProjectName string `json:"project_name"`
		Archives    []struct {
			NameTemplate string   `json:"name_template"`
			Formats      []string `json:"formats"`
		} `json:"archives"`
		Checksum struct {
			NameTemplate string `json:"name_template"`
			Algorithm    string `json:"algorithm"`
		} `json:"checksum"`
	}
	require.NoError(t, yaml.Unmarshal(text, &config))
	require.Len(t, config.Archives, 1)
	name := config.Archives[0].NameTemplate + "." + strings.Join(config.Archives[0].Formats, ".")
	for field, variable := range map[string]string{
		"{{ .ProjectName }}": config.ProjectName, "{{ .Version }}": "${version#v}", "{{ .Os }}": "${os}", "{{ .Arch }}": "${arch}",
	} {
		name = strings.ReplaceAll(name, field, variable)
	}
	script, err := os.ReadFile("hack/action/install.sh")
	require.NoError(t, err)
	assert.Contains(t, string(script), `archive="`+name+`"`)
	assert.Contains(t, string(script), "for file in "+config.Checksum.NameTemplate+` "$archive"`)
	assert.Equal(t, "sha256", config.Checksum.Algorithm)
}
