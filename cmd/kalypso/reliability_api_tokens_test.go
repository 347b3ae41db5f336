package main

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// lacking are all permissions but some.
func lacking(names ...string) map[string]string {
	rest := githubtest.AllPermissions()
	for _, name := range names {
		delete(rest, name)
	}
	return rest
}

// TestR11TokensThatMayNot: what a token may not do is said with the permission that it lacks, without a second
// try. With the right token the same command then does it.
func TestR11TokensThatMayNot(t *testing.T) {
	t.Parallel()
	fleet := promotedFleet(t)
	readOnly := githubtest.AllPermissions()
	for name := range readOnly {
		readOnly[name] = "read"
	}
	for name, test := range map[string]struct {
		token githubtest.Token
		repo  githubtest.RepoOptions
		args  []string
		say   []string
		// pushed says that git may do what the API may not.
		pushed bool
	}{
		"may only read": {
			token: githubtest.Token{Permissions: readOnly}, say: []string{"https://github.com/acme/gitops", "publishing needs the permission contents: write on it"},
		},
		"no pull requests": {
			token: githubtest.Token{Permissions: lacking("pull_requests", "issues")}, pushed: true,
			say: []string{`open a pull request from "deployment/dev" into "dev" in acme/gitops`, `hint: the token needs the permission "pull requests: write"`},
		},
		"no pull requests, private": {
			token: githubtest.Token{Permissions: lacking("pull_requests", "issues")}, repo: githubtest.RepoOptions{Private: true},
			say: []string{"list the pull requests in acme/gitops", `hint: the token needs the permission "pull requests: read"`},
		},
		"of a person": {
			token: githubtest.Token{Login: "octocat", Permissions: lacking("pull_requests", "issues")}, pushed: true,
			say: []string{"Resource not accessible by personal access token", `hint: the token needs the permission "pull requests: write"`},
		},
		"workflows may not": {
			token: githubtest.Token{Permissions: githubtest.AllPermissions()}, repo: githubtest.RepoOptions{ActionsMayNotOpenPulls: true}, pushed: true,
			say: []string{"GitHub Actions is not permitted", "tick “Allow GitHub Actions to create and approve pull requests”"},
		},
		"no team": {
			token: githubtest.Token{Permissions: lacking("members")}, args: []string{"--reviewer", "acme/platform"}, pushed: true,
			say: []string{"request reviews of #1 from acme/platform", `"members: read"`},
		},
		"has expired": {
			token: githubtest.Token{Permissions: githubtest.AllPermissions(), Expires: githubtest.Midnight()},
			say:   []string{"https://github.com/acme/gitops", "the one from GITHUB_TOKEN was sent (Invalid username or token.)"},
		},
		"for another repository": {
			token: githubtest.Token{Permissions: githubtest.AllPermissions(), Repos: []string{"acme/other"}},
			say:   []string{"https://github.com/acme/gitops"},
		},
		"for another repository, private": {
			token: githubtest.Token{Permissions: githubtest.AllPermissions(), Repos: []string{"acme/other"}}, repo: githubtest.RepoOptions{Private: true},
			say: []string{"https://github.com/acme/gitops", "the one from GITHUB_TOKEN was sent (Repository not found.)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.args == nil {
				test.repo.Teams = nil
			}
			h := newHub(t, fleet, hubOptions{repo: test.repo})
			test.token.Name = "weak"
			h.AddToken(hubSecret, test.token)
			got := h.render(test.args...)
			assert.Equal(t, cli.ExitRemote, got.code, got.stderr)
			for _, say := range test.say {
				assert.Contains(t, got.stderr, say)
			}
			assert.Contains(t, got.stderr, "hint: ")
			assert.Equal(t, test.pushed, h.repo.Branches()["deployment/dev"] != "", "the branch: %s", got.stderr)
			for _, request := range h.Writes() {
				assert.Len(t, h.to(request.Method, request.Path), 1, request)
			}
			h.assertSilent()

			h.AddToken(hubSecret, githubtest.Token{Name: "strong", Login: "kalypso[bot]", Permissions: githubtest.AllPermissions()})
			h.repo.SetOptions(func(o *githubtest.RepoOptions) { o.Teams = []string{"platform"} })
			h.mustRender(test.args...)
			h.assertOnePullRequest()
		})
	}
}

// TestR27ATokenThatEnds: a token that expires between two requests is an error at once; it is not asked for again.
// A new run continues from there.
func TestR27ATokenThatEnds(t *testing.T) {
	t.Parallel()
	p := firstPublication(t)
	for _, last := range []int{1, 5, 8, len(p.requests) - 1} {
		var h *hub
		h = newHub(t, p.fleet, hubOptions{repo: p.repo, server: githubtest.Options{Before: func(r githubtest.Request) {
			if r.Number == last+1 {
				h.AddToken(hubSecret, githubtest.Token{Name: "expired", Expires: h.clock.now()})
			}
		}}})
		for _, pull := range p.pulls {
			h.repo.OpenPull(pull)
		}
		got := h.render(p.args...)
		assert.Equal(t, cli.ExitRemote, got.code, got.stderr)
		assert.Contains(t, got.stderr, "GitHub answers 401: Bad credentials")
		assert.Contains(t, got.stderr, "hint: the token is wrong, has expired or was revoked")
		assert.LessOrEqual(t, len(h.Requests()), last+2, "those to reviewers and assignees do not depend on each other")

		const next = "ghs_An0therS3cr3t0123456789abcdefghijkl"
		h.secrets = append(h.secrets, next)
		h.AddToken(next, githubtest.Token{Name: "next", Permissions: githubtest.AllPermissions()})
		h.env["GITHUB_TOKEN"] = next
		h.mustRender(p.args...)
		p.assertDone(h, "with a new token")
	}
}

// witness is a git server that must never see a token.
type witness struct {
	mu sync.Mutex
	// seen are the repositories that were asked for with something, and that.
	seen map[string]bool
}

func basicAuth(secret string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+secret))
}

func (w *witness) serve(t *testing.T, root string) (url string) {
	t.Helper()
	git, err := gitopstest.Handler(root)
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		if given := r.Header.Get("Authorization"); given != "" {
			repo, _, _ := strings.Cut(r.URL.Path, ".git/")
			w.seen[repo+".git "+given] = true
		}
		w.mu.Unlock()
		git.ServeHTTP(out, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestR27TokensByRole: each token goes where its role is, and nowhere else. The control plane and the
// applications are on another host, which never sees any of them but its own.
func TestR27TokensByRole(t *testing.T) {
	t.Parallel()
	const gitopsSecret = "github_pat_G1t0psS3cr3t0123456789abcdefgh"
	fleet := promotedFleet(t)
	for name, test := range map[string]struct {
		env  map[string]string
		used string
	}{
		"of the role":                {map[string]string{"KALYPSO_GITOPS_TOKEN": gitopsSecret}, "gitops"},
		"of the workflow":            {map[string]string{"GITHUB_TOKEN": hubSecret}, "workflow"},
		"gh's":                       {map[string]string{"GH_TOKEN": hubSecret}, "workflow"},
		"of the role, if both":       {map[string]string{"KALYPSO_GITOPS_TOKEN": gitopsSecret, "GITHUB_TOKEN": hubSecret}, "gitops"},
		"another role's is not used": {map[string]string{"KALYPSO_SOURCE_TOKEN": gitopsSecret, "GITHUB_TOKEN": hubSecret}, "workflow"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, fleet, hubOptions{})
			h.secrets = append(h.secrets, gitopsSecret)
			h.AddToken(gitopsSecret, githubtest.Token{Name: "gitops", Login: "octocat", Permissions: githubtest.AllPermissions()})
			delete(h.env, "GITHUB_TOKEN")
			maps.Copy(h.env, test.env)
			w := witness{seen: map[string]bool{}}
			elsewhere := w.serve(t, fleet)
			h.env["KALYPSO_TOKEN_HOSTS"] = strings.TrimPrefix(elsewhere, "http://")
			args := []string{"render"}
			for _, repo := range append([]string{"control-plane"}, appsOfAcme...) {
				args = append(args, "--replace", acme(repo)+"="+elsewhere+"/"+repo+".git")
			}
			got := h.run(args...)
			require.Equal(t, cli.ExitDone, got.code, got.stderr)
			for _, request := range h.Requests() {
				assert.Equal(t, test.used, request.Token, request)
			}
			want := map[string]bool{}
			if secret := test.env["KALYPSO_SOURCE_TOKEN"]; secret != "" {
				for _, app := range appsOfAcme {
					want["/"+app+".git "+basicAuth(secret)] = true
				}
			}
			assert.Equal(t, want, w.seen, "the applications are on that host, and their token is for it")
			h.assertOnePullRequest()
		})
	}
}

// TestR27NoRedirectGetsTheToken: GitHub's answer that it is somewhere else is followed on its own host only.
func TestR27NoRedirectGetsTheToken(t *testing.T) {
	t.Parallel()
	h := newHub(t, promotedFleet(t), hubOptions{})
	w := witness{seen: map[string]bool{}}
	elsewhere := w.serve(t, t.TempDir())
	h.Inject(githubtest.HTTPError(http.StatusMovedPermanently).With("Location", elsewhere+"/repositories/1/pulls"), githubtest.Nth(1))
	got := h.render()
	assert.Equal(t, cli.ExitRemote, got.code, got.stderr)
	assert.Contains(t, got.stderr, "which is not followed")
	assert.Empty(t, w.seen)
	h.mustRender()
	h.assertOnePullRequest()
}

// TestR27WithoutAToken: the branch cannot be pushed, and the hint says which variable is missing.
func TestR27WithoutAToken(t *testing.T) {
	t.Parallel()
	h := newHub(t, promotedFleet(t), hubOptions{})
	delete(h.env, "GITHUB_TOKEN")
	got := h.render()
	assert.Equal(t, cli.ExitRemote, got.code, got.stderr)
	assert.Contains(t, got.stderr, "KALYPSO_GITOPS_TOKEN or GITHUB_TOKEN")
	assert.Empty(t, h.Writes())
}

// TestR15Enterprise: GitHub Enterprise Server has its APIs below paths. All of a publication goes there.
func TestR15Enterprise(t *testing.T) {
	t.Parallel()
	fleet := promotedFleet(t)
	for name, env := range map[string]map[string]string{
		"as a workflow has it":    {},
		"the API follows":         {"GITHUB_API_URL": ""},
		"with slashes at the end": {"slash": "/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, fleet, hubOptions{
				server: githubtest.Options{Enterprise: true},
				repo:   githubtest.RepoOptions{AllowAutoMerge: true, RequiredChecks: []string{"ci"}},
			})
			require.Equal(t, h.WebURL+"/api/v3", h.env["GITHUB_API_URL"])
			if slash := env["slash"]; slash != "" {
				h.env["GITHUB_API_URL"] += slash
				h.env["GITHUB_SERVER_URL"] += slash
			} else {
				maps.Copy(h.env, env)
			}
			got := h.mustRender("--auto-merge")
			pull := h.assertOnePullRequest()
			assert.Equal(t, "merge", pull.AutoMerge)
			assert.Contains(t, got.stdout, h.WebURL+"/acme/gitops/pull/1")
			assert.NotEmpty(t, h.to(http.MethodPost, "/api/graphql"))
		})
	}
}
