package remote

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

func TestTokensByRole(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t, gitopstest.WithPassword("right-token"))
	repo, _ := server.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	env := map[string]string{
		"role": "KALYPSO_SOURCE_TOKEN", "github": "GITHUB_TOKEN", "gh": "GH_TOKEN",
	}
	for name, variable := range env {
		r := newReader(t, Options{Env: gitopstest.Environment(variable, "right-token", "GITHUB_SERVER_URL", server.URL)})
		readOne(t, r, model.Ref{Repo: repo, Branch: "main", Role: model.Tenant})
		assert.NotEmpty(t, name)
	}
	for role, variable := range map[model.Role]string{
		model.Main: credentials.EnvControlPlane, model.Platform: credentials.EnvControlPlane, model.Base: credentials.EnvControlPlane,
		model.Tenant: credentials.EnvSource, model.Output: credentials.EnvGitOps,
	} {
		readOne(t, newReader(t, Options{Env: gitopstest.Environment(variable, "right-token", credentials.EnvTokenHosts, gitopstest.Authority(t, repo))}), model.Ref{Repo: repo, Branch: "main", Role: role})
		d := readError(t, newReader(t, Options{Env: gitopstest.Environment(variable, "wrong-token", credentials.EnvTokenHosts, gitopstest.Authority(t, repo))}), model.Ref{Repo: repo, Branch: "main", Role: role})
		assert.Equal(t, giterror.RuleAccessDenied, d.Rule)
		assert.Contains(t, d.Message, "the one from "+variable+" was sent")
		assert.NotContains(t, d.Message+d.Hint, "wrong-token")
	}
}

func TestOneRepositoryWithTwoTokens(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t, gitopstest.WithPassword("right-token"))
	repo, ids := server.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	r := newReader(t, Options{Env: gitopstest.Environment(credentials.EnvControlPlane, "right-token", credentials.EnvSource, "wrong-token", credentials.EnvTokenHosts, gitopstest.Authority(t, repo))})
	sources, list := r.Read(t.Context(), []model.Ref{
		{Repo: repo, Branch: "main", Role: model.Tenant}, {Repo: repo, Branch: "main", Role: model.Base},
	})
	assert.Nil(t, sources[0])
	require.NotNil(t, sources[1], "%+v", list)
	assert.Equal(t, ids[0], sources[1].Commit)
}

func TestABranchIsTheSameForBothTokens(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	repo, ids := server.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	r := newReader(t, Options{Env: gitopstest.Environment(credentials.EnvControlPlane, "token-control", credentials.EnvSource, "token-source", credentials.EnvTokenHosts, gitopstest.Authority(t, repo))})
	readOne(t, r, model.Ref{Repo: repo, Branch: "main", Role: model.Base})
	server.Add("repo", gitopstest.Commit{Files: gitopstest.Files{"later.yaml": "x"}})
	source := readOne(t, r, model.Ref{Repo: repo, Branch: "main", Role: model.Tenant})
	assert.Equal(t, ids[0], source.Commit)
}

func TestNetrc(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t, gitopstest.WithPassword("netrc-secret"))
	repo, _ := server.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	file := filepath.Join(t.TempDir(), "netrc")
	require.NoError(t, os.WriteFile(file, []byte("# mine\nmachine example.com login a password b\nmachine 127.0.0.1\n  login me\n  password netrc-secret\n"), 0o600))
	readOne(t, newReader(t, Options{Env: gitopstest.Environment("NETRC", file)}), model.Ref{Repo: repo, Branch: "main"})

	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, ".netrc"), []byte("machine 127.0.0.1 login me password wrong-secret"), 0o600))
	d := readError(t, newReader(t, Options{Env: gitopstest.Environment("HOME", home)}), model.Ref{Repo: repo, Branch: "main"})
	assert.Contains(t, d.Message, "the one from netrc was sent")
}

func TestCredentialHelperIsAskedOnlyWhenNeeded(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t, gitopstest.WithPassword("helper-secret"))
	open := gitopstest.NewServer(t)
	private, _ := server.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	public, _ := open.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	var mu sync.Mutex
	var asked []string
	helper := func(_ context.Context, scheme, host, path, user string) (string, string, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, fmt.Sprint(scheme, " ", host, " ", path, " ", user))
		return "me", "helper-secret", nil
	}
	r := newReader(t, Options{Helper: helper})
	readOne(t, r, model.Ref{Repo: public, Branch: "main"})
	assert.Empty(t, asked)
	readOne(t, r, model.Ref{Repo: private, Branch: "main"})
	assert.Equal(t, []string{"http " + gitopstest.Authority(t, private) + " /repo.git "}, asked)
	assert.Empty(t, server.Requests()[0].Authorization)
	for _, request := range open.Requests() {
		assert.Empty(t, request.Authorization)
	}
}

// TestS11TokensStayWithTheirHost reads from two hosts with a secret for each and looks at what the
// other one sees.
func TestS11TokensStayWithTheirHost(t *testing.T) {
	t.Parallel()
	ours, theirs := gitopstest.NewServer(t), gitopstest.NewServer(t)
	a, _ := ours.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	b, _ := theirs.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	env := gitopstest.Environment(credentials.EnvControlPlane, "token-control", credentials.EnvSource, "token-source", credentials.EnvGitOps, "token-output",
		credentials.EnvGitHub, "token-github", "GITHUB_SERVER_URL", ours.URL)
	r := newReader(t, Options{Env: env})
	readOne(t, r, model.Ref{Repo: a, Branch: "main", Role: model.Main})
	_, list := r.Read(t.Context(), []model.Ref{
		{Repo: a, Branch: "main", Role: model.Tenant},
		{Repo: b, Branch: "main", Role: model.Tenant},
		{Repo: b, Branch: "main", Role: model.Base},
		{Repo: a, Branch: "main", Role: model.Output},
	})
	require.Empty(t, list)
	_, err := r.Tip(t.Context(), model.Ref{Repo: b, Branch: "main", Role: model.Output})
	require.NoError(t, err)

	seen := map[string]bool{}
	for _, request := range ours.Requests() {
		_, secret, _ := (&http.Request{Header: http.Header{"Authorization": {request.Authorization}}}).BasicAuth()
		seen[secret] = true
	}
	assert.Equal(t, map[string]bool{"token-control": true, "token-source": true, "token-output": true}, seen)
	require.NotEmpty(t, theirs.Requests())
	for _, request := range theirs.Requests() {
		assert.Empty(t, request.Authorization, "the other host sees nothing")
	}
}

func TestS11AmbiguousTokenIsNotSent(t *testing.T) {
	t.Parallel()
	one, two := gitopstest.NewServer(t, gitopstest.WithPassword("x")), gitopstest.NewServer(t, gitopstest.WithPassword("x"))
	a, _ := one.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	b, _ := two.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	hosts := gitopstest.Authority(t, a) + "," + gitopstest.Authority(t, b)
	r := newReader(t, Options{Env: gitopstest.Environment(credentials.EnvSource, "token-source", credentials.EnvTokenHosts, hosts)})
	_, list := r.Read(t.Context(), []model.Ref{{Repo: a, Branch: "main", Role: model.Tenant}, {Repo: b, Branch: "main", Role: model.Tenant}})
	require.Len(t, list, 2)
	assert.Contains(t, list[0].Hint, "KALYPSO_SOURCE_TOKEN is not sent to "+gitopstest.Authority(t, a)+": a token goes to one host only")
	for _, request := range append(one.Requests(), two.Requests()...) {
		assert.Empty(t, request.Authorization)
	}
}

func TestS11Redirects(t *testing.T) {
	t.Parallel()
	target := gitopstest.NewServer(t)
	moved, _ := target.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	for _, code := range []int{301, 302, 303, 307, 308} {
		redirect := gitopstest.NewServer(t, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, target.URL+r.URL.Path+"?"+r.URL.RawQuery, code)
			})
		})
		before := len(target.Requests())
		ref := model.Ref{Repo: redirect.URL + "/repo.git", Branch: "main", Role: model.Base}
		d := readError(t, newReader(t, Options{Env: gitopstest.Environment(credentials.EnvControlPlane, "token-control", credentials.EnvTokenHosts, gitopstest.Authority(t, redirect.URL))}), ref)
		assert.Equal(t, giterror.RuleRefusedURL, d.Rule)
		assert.Contains(t, d.Message, "it redirects to "+target.URL+", which is not followed: it is not on "+redirect.URL)
		assert.Len(t, target.Requests(), before, "the other host is not even asked")

		d = readError(t, newReader(t, Options{}), ref)
		assert.Equal(t, giterror.RuleRefusedURL, d.Rule)
		assert.Len(t, target.Requests(), before, "not even without a credential")
	}
	for _, request := range target.Requests() {
		assert.Empty(t, request.Authorization)
	}
	assert.NotEmpty(t, moved)
}

func TestS11RedirectOnTheSameHost(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t, gitopstest.WithPassword("token-source"), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if rest, found := strings.CutPrefix(r.URL.Path, "/old/"); found {
				http.Redirect(w, r, "/"+rest+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	server.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	r := newReader(t, Options{Env: gitopstest.Environment(credentials.EnvSource, "token-source", credentials.EnvTokenHosts, gitopstest.Authority(t, server.URL))})
	source := readOne(t, r, model.Ref{Repo: server.URL + "/old/repo.git", Branch: "main", Role: model.Tenant})
	assert.Equal(t, "docs/\n", gitopstest.Content(t, source.FS, ".sourceignore"))
}

// TestS11TokensOfRolesGoToHostsThatAreNamed: GitHub's host, and those of a variable.
func TestS11TokensOfRolesGoToHostsThatAreNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env  []string
		want bool
	}{
		"none":      {nil, false},
		"another":   {[]string{credentials.EnvTokenHosts, "gitlab.example"}, false},
		"the host":  {[]string{credentials.EnvTokenHosts, "gitlab.example, THERE"}, true},
		"as a URL":  {[]string{credentials.EnvTokenHosts, "https://THERE/"}, true},
		"GitHub's":  {[]string{credentials.EnvGitHubServer, "http://THERE"}, true},
		"no suffix": {[]string{credentials.EnvTokenHosts, "0.1,1.THERE"}, false},
	} {
		server := gitopstest.NewServer(t, gitopstest.WithPassword("token-source"))
		repo, _ := server.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
		for i := range test.env {
			test.env[i] = strings.ReplaceAll(test.env[i], "THERE", gitopstest.Authority(t, repo))
		}
		r := newReader(t, Options{Env: gitopstest.Environment(append(test.env, credentials.EnvSource, "token-source")...)})
		ref := model.Ref{Repo: repo, Branch: "main", Role: model.Tenant}
		if test.want {
			readOne(t, r, ref)
			continue
		}
		d := readError(t, r, ref)
		assert.Equal(t, "KALYPSO_SOURCE_TOKEN is not sent to "+gitopstest.Authority(t, repo)+": add the host to KALYPSO_TOKEN_HOSTS, or use netrc or a git credential helper", d.Hint, name)
		for _, request := range server.Requests() {
			assert.Empty(t, request.Authorization, name)
		}
	}
}

func TestS11RedirectsThatAreNeverFollowed(t *testing.T) {
	t.Parallel()
	for name, location := range map[string]string{
		"not encrypted": "http://example.com/repo.git/info/refs?service=git-upload-pack",
		"file":          "file:///etc/passwd",
		"user":          "https://user:pass@example.com/repo.git/info/refs?service=git-upload-pack",
		"loop":          "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			to := location
			if to == "" {
				to = r.URL.String()
			}
			http.Redirect(w, r, to, http.StatusFound)
		}))
		d := readError(t, newReader(t, Options{}), model.Ref{Repo: server.URL + "/repo", Branch: "main"})
		assert.Equal(t, giterror.RuleRefusedURL, d.Rule, name)
		assert.NotContains(t, d.Message, "pass@", name)
		server.Close()
	}
}

func TestS12SecretsAreScrubbed(t *testing.T) {
	t.Parallel()
	const token = "s3cr3t/+token&with=odd chars"
	basic := base64.StdEncoding.EncodeToString([]byte(credentials.TokenUser + ":" + token))
	echoes := map[string]string{
		"raw": token, "query": url.QueryEscape(token), "path": url.PathEscape(token),
		"base64": base64.StdEncoding.EncodeToString([]byte(token)), "base64url": base64.URLEncoding.EncodeToString([]byte(token)),
		"base64 shifted once": base64.StdEncoding.EncodeToString([]byte("x" + token)), "base64 shifted twice": base64.StdEncoding.EncodeToString([]byte("xy" + token + "z")),
		"header": basic, "URL": "https://me:" + "hunter2" + "@example.com/x",
	}
	for name, echo := range echoes {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "you sent <"+echo+"> to us", http.StatusForbidden)
		}))
		r := newReader(t, Options{Env: gitopstest.Environment(credentials.EnvSource, token, credentials.EnvTokenHosts, gitopstest.Authority(t, server.URL))})
		d := readError(t, r, model.Ref{Repo: server.URL + "/x", Branch: "main", Role: model.Tenant})
		said := d.Message + d.Hint
		assert.Contains(t, said, credentials.Mask, name)
		for _, bad := range []string{token, url.QueryEscape(token), url.PathEscape(token), "hunter2", basic, base64.StdEncoding.EncodeToString([]byte(token))[:20]} {
			assert.NotContains(t, said, bad, name)
		}
		assert.NotContains(t, r.Scrub("a text with "+echo), echo, name)
		server.Close()
	}
}

func TestS12ErrorsFromStrangersAreOneSafeLine(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "::error::x\n\x1b[31mred\x1b[0m\u202e"+strings.Repeat("long ", 10_000), http.StatusForbidden)
	}))
	defer server.Close()
	d := readError(t, newReader(t, Options{}), model.Ref{Repo: server.URL + "/x", Branch: "main", Subject: "flag"})
	assert.NotContains(t, d.Message, "\x1b")
	assert.NotContains(t, d.Message, "\u202e")
	assert.Less(t, len(d.Message), 500)
}
