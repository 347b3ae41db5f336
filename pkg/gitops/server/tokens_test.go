package server_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

func TestAdviceToWrite(t *testing.T) {
	t.Parallel()
	const here = "https://github.com/acme/gitops"
	workflow := []string{"GITHUB_ACTIONS", "true", credentials.EnvGitHub, "token-github", "GITHUB_REPOSITORY"}
	for name, test := range map[string]struct {
		env    []string
		origin string
		want   string
	}{
		"nothing":             {nil, "", "set KALYPSO_GITOPS_TOKEN or GITHUB_TOKEN"},
		"workflow, own":       {append(workflow, "acme/gitops"), credentials.EnvGitHub, `write "permissions: {contents: write, pull-requests: write}" into the job`},
		"workflow, another":   {append(workflow, "acme/control"), credentials.EnvGitHub, "the GITHUB_TOKEN of a workflow reaches only acme/control: set KALYPSO_GITOPS_TOKEN, or use a GitHub App"},
		"role":                {[]string{credentials.EnvGitOps, "token-output"}, credentials.EnvGitOps, "publishing needs the permission contents: write on it"},
		"App":                 {nil, credentials.AppOrigin, "a ruleset"},
		"GITHUB_TOKEN, local": {[]string{credentials.EnvGitHub, "token-github"}, credentials.EnvGitHub, "check that the credential has not expired and has access, or set KALYPSO_GITOPS_TOKEN"},
	} {
		k := credentials.NewKeyring(gitopstest.Environment(test.env...), nil, nil)
		a, err := giturl.ParseAddress(here)
		require.NoError(t, err)
		var c *credentials.Credential
		if test.origin != "" {
			c = &credentials.Credential{Origin: test.origin}
		}
		said := k.AdviceToWrite(model.Output, c, a)
		assert.Contains(t, said, "contents: write", name)
		assert.Contains(t, said, test.want, name)
	}
}
