package github_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
)

func TestLocate(t *testing.T) {
	t.Parallel()
	none := github.Server{}
	public := github.Server{URL: "https://github.com", API: "https://api.github.com"}
	enterprise := github.Server{URL: "https://ghe.example.com", API: "https://ghe.example.com/api/v3"}
	local := github.Server{URL: "http://127.0.0.1:8080", API: "http://127.0.0.1:8081"}
	at := func(api string) github.Location {
		return github.Location{API: api, Owner: "acme", Name: "gitops"}
	}
	onPublic := at("https://api.github.com")
	onEnterprise := at("https://ghe.example.com/api/v3")
	for name, test := range map[string]struct {
		server github.Server
		url    string
		want   github.Location
	}{
		"github.com":                {none, "https://github.com/acme/gitops", onPublic},
		"by ssh":                    {none, "git@github.com:acme/gitops.git", onPublic},
		"by ssh on port 443":        {none, "ssh://git@ssh.github.com:443/acme/gitops.git", onPublic},
		"in a workflow":             {public, "https://GitHub.com/acme/gitops/", onPublic},
		"from Enterprise":           {enterprise, "https://github.com/acme/gitops", onPublic},
		"Enterprise":                {enterprise, "https://ghe.example.com/acme/gitops.git", onEnterprise},
		"Enterprise by its API":     {github.Server{API: enterprise.API}, "https://ghe.example.com/acme/gitops", github.Location{}},
		"Enterprise by its name":    {github.Server{URL: "https://GHE.example.com/"}, "https://ghe.example.com/acme/gitops", onEnterprise},
		"data residency":            {none, "https://octo.ghe.com/acme/gitops", at("https://api.octo.ghe.com")},
		"with a port":               {local, "http://127.0.0.1:8080/acme/gitops", at("http://127.0.0.1:8081")},
		"another port":              {local, "http://127.0.0.1:8082/acme/gitops", github.Location{}},
		"another scheme":            {enterprise, "http://ghe.example.com/acme/gitops", github.Location{}},
		"Enterprise, unknown":       {public, "https://ghe.example.com/acme/gitops", github.Location{}},
		"another forge":             {public, "https://gitlab.com/acme/gitops", github.Location{}},
		"like github.com":           {none, "https://github.com.evil.example/acme/gitops", github.Location{}},
		"like ghe.com":              {none, "https://notghe.com/acme/gitops", github.Location{}},
		"a deeper path":             {none, "https://github.com/acme/gitops/more", github.Location{}},
		"no name":                   {none, "https://github.com/acme", github.Location{}},
		"a path of this machine":    {none, "/srv/acme/gitops", github.Location{}},
		"a query within the name":   {none, "https://github.com/acme/git%3Fops", github.Location{}},
		"dots in place of an owner": {none, "https://github.com/acme/..", github.Location{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			normal, err := giturl.NormalURL(test.url)
			if err != nil {
				normal = test.url
			}
			location, found := test.server.Locate(normal)
			assert.Equal(t, test.want != github.Location{}, found)
			if found {
				assert.Equal(t, test.want, location)
				_, err := github.New(github.Options{API: location.API})
				require.NoError(t, err)
			}
		})
	}
}
