package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

const allSettings = `pullRequest:
  labels: [fleet, "size: all"]
  reviewers: [octocat, acme/platform, "kalypso[bot]"]
  assignees: [ann_acme]
  draft: true
  autoMerge: ~
  branch: fleet/dev
  title: "Deploy to dev: #7"
commit:
  author: Fleet Bot <fleet@example.com>
  signing: required
`

const gitOpsRepoHead = api + "kind: GitOpsRepo\n"

// settingsOf is what the only GitOpsRepo of a text says.
func settingsOf(t *testing.T, content string) (Publishing, diag.List) {
	t.Helper()
	objects, diags := parse(Platform, tree{"f.yaml": content})
	require.Len(t, objects.GitOpsRepos, 1, "%v", shown(diags))
	return objects.GitOpsRepos[0].Publishing, diags
}

func TestPublishing(t *testing.T) {
	t.Parallel()
	promotion := promotionOf(t, inField(allSettings))
	inSpec, diags := settingsOf(t, gitOpsRepoHead+"metadata: {name: a}\nspec:\n  repo: r\n  branch: b\n"+indented(allSettings, 2))
	require.Empty(t, shown(diags))
	annotated, diags := settingsOf(t, gitOpsRepoHead+"metadata:\n  name: a\n  annotations:\n    kalypso.io/publishing: |\n"+indented(allSettings, 6)+"spec: {repo: r, branch: b}\n")
	require.Empty(t, shown(diags))
	for where, p := range map[string]Publishing{"promotion": promotion.Publishing, "field": inSpec, "annotation": annotated} {
		assert.Equal(t, "[fleet size: all] [octocat acme/platform kalypso[bot]] [ann_acme] true  fleet/dev Deploy to dev: #7 Fleet Bot <fleet@example.com> required",
			fmt.Sprint(p.PullRequest.Labels, p.PullRequest.Reviewers, p.PullRequest.Assignees, p.PullRequest.Draft.Value, " ", p.PullRequest.AutoMerge, " ",
				p.PullRequest.Branch, " ", p.PullRequest.Title, " ", p.Commit.Author, " ", p.Commit.Signing), where)
	}
	assert.Equal(t, 8, inSpec.PullRequest.Labels[0].At.Line)
}

// Settings that the flags would refuse are errors at their places.
func TestPublishingRefused(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		"pullRequest: {labels: fleet}":                             "7:25 wrong-type",
		"pullRequest: {labels: ['']}":                              "7:26 invalid-value",
		"pullRequest: {labels: [5]}":                               "7:26 wrong-type",
		"pullRequest: {labels: ['a,b']}":                           "7:26 invalid-value",
		"pullRequest: {labels: [\"a\\nb\"]}":                       "7:26 invalid-value",
		"pullRequest: {labels: [" + strings.Repeat("a", 51) + "]}": "7:26 invalid-value",
		"pullRequest: {reviewers: ['@ann']}":                       "7:29 invalid-value",
		"pullRequest: {reviewers: [acme/a/b]}":                     "7:29 invalid-value",
		"pullRequest: {assignees: [acme/platform]}":                "7:29 invalid-value",
		"pullRequest: {draft: 'true'}":                             "7:24 wrong-type",
		"pullRequest: {draft: true, autoMerge: always}":            "7:41 invalid-value",
		"pullRequest: {autoMerge: true}":                           "7:28 wrong-type",
		"pullRequest: {autoMerge: never}":                          "7:28 invalid-value",
		"pullRequest: {branch: refs/heads/a}":                      "7:25 invalid-value",
		"pullRequest: {branch: [a]}":                               "7:25 wrong-type",
		"pullRequest: {title: \"a\\nb\"}":                          "7:24 invalid-value",
		"pullRequest: {title: ' '}":                                "7:24 invalid-value",
		"pullRequest: {title: \"\\u202eevil\"}":                    "7:24 invalid-value",
		"pullRequest: {title: " + strings.Repeat("ä", 257) + "}":   "7:24 invalid-value",
		"commit: {author: ann@example.com}":                        "7:20 invalid-value",
		"commit: {author: '\"Ann <x>\" <ann@example.com>'}":        "7:20 invalid-value",
		"commit: {signing: true}":                                  "7:21 wrong-type",
		"commit: {signingKey: key}":                                "7:12 unknown-field",
	} {
		t.Run(settings, func(t *testing.T) {
			t.Parallel()
			_, diags := settingsOf(t, gitOpsRepoHead+"metadata: {name: a}\nspec:\n  repo: r\n  branch: b\n  "+settings+"\n")
			assert.Equal(t, []string{want}, places(diags), "%v", shown(diags))
		})
	}
}

// Tenants and commits of main set nothing: a GitOpsRepo is read only from the branch of an environment.
func TestPublishingOfOthers(t *testing.T) {
	t.Parallel()
	content := gitOpsRepoHead + "metadata: {name: a}\nspec:\n  repo: r\n  branch: b\n" + indented(allSettings, 2)
	for role, rule := range map[Role]string{Tenant: "tenant-kind", Base: "not-counted"} {
		objects, diags := parse(role, tree{"f.yaml": content})
		assert.Empty(t, objects.GitOpsRepos)
		assert.Contains(t, rules(diags), rule)
	}
}
