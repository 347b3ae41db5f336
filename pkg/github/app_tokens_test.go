package github_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// guild is an App that some owners have let in, and its tokens.
type guild struct {
	*fixture
	tokens *github.App
	// minted are the tokens, in order.
	minted []string
}

// newGuild makes an App that owners have let in on repositories; on all if none are named.
func newGuild(t *testing.T, permissions map[string]string, installed map[string][]string) *guild {
	t.Helper()
	g := &guild{fixture: setup(t, githubtest.Options{}, nil)}
	for _, name := range []string{"one", "two", "three"} {
		g.hub.AddRepo("acme/"+name, githubtest.RepoOptions{Private: true})
		g.hub.AddRepo("other/"+name, githubtest.RepoOptions{Private: true})
	}
	key, number := appKey(), 5
	for owner, repos := range installed {
		g.hub.AddApp(githubtest.App{
			ID: 17, Slug: "kalypso", Bot: 4711, Key: &key.PublicKey, Owner: owner, Installation: number, Repos: repos,
			Permissions: permissions,
		})
		number++
	}
	var err error
	g.tokens, err = github.NewApp(github.Options{Sleep: g.clock.Sleep, Now: g.clock.Now}, github.AppConfig{
		ID: "17", Server: github.Server{URL: g.hub.WebURL, API: g.hub.URL}, Needs: needs,
		Minted: func(token string) { g.minted = append(g.minted, token) },
	}, pkcs1(key))
	require.NoError(t, err)
	return g
}

// needs are those of a run that publishes and reports.
func needs(role model.Role) github.Needs {
	if role == model.Output {
		return github.Needs{Required: write("contents", "pull_requests"), Optional: write("issues")}
	}
	return github.Needs{Required: map[string]string{"contents": "read"}}
}

func (g *guild) url(name string) string { return g.hub.WebURL + "/" + name }

func (g *guild) expect(role model.Role, names ...string) {
	var urls []string
	for _, name := range names {
		urls = append(urls, g.url(name))
	}
	g.tokens.Expect(role, urls)
}

func (g *guild) token(t *testing.T, role model.Role, name string) string {
	t.Helper()
	token, err := g.tokens.Token(t.Context(), role, g.url(name))
	require.NoError(t, err)
	return token
}

func TestOneTokenForTheRepositoriesOfAnOwner(t *testing.T) {
	t.Parallel()
	g := newGuild(t, githubtest.AllPermissions(), map[string][]string{"acme": nil, "other": nil})
	g.expect(model.Tenant, "acme/one", "acme/two", "acme/three", "other/one")
	var wait sync.WaitGroup
	got := make([]string, 3)
	for i, name := range []string{"acme/one", "acme/Two", "acme/three"} {
		wait.Go(func() {
			got[i], _ = g.tokens.Token(context.Background(), model.Tenant, g.url(name))
		})
	}
	wait.Wait()
	assert.Equal(t, []string{got[0], got[0], got[0]}, got)
	assert.NotEqual(t, got[0], g.token(t, model.Tenant, "other/one"))
	published := g.token(t, model.Output, "acme/gitops")
	assert.NotEqual(t, got[0], published, "what reads must not be able to write")
	assert.Equal(t, got[0], g.token(t, model.Base, "acme/one"), "what needs the same shares it")
	assert.Equal(t, []string{
		"acme/one acme/three acme/two: contents=read", "other/one: contents=read",
		"acme/gitops: contents=write issues=write pull_requests=write",
	}, g.hub.Minted())
	assert.Equal(t, []string{got[0], g.token(t, model.Tenant, "other/one"), published}, g.minted, "each is reported once")
}

func TestWhatIsNotGrantedAndNotRequired(t *testing.T) {
	t.Parallel()
	g := newGuild(t, write("contents", "pull_requests"), map[string][]string{"acme": nil})
	g.token(t, model.Output, "acme/gitops")
	assert.Equal(t, []string{"acme/gitops: contents=write pull_requests=write"}, g.hub.Minted())
}

func TestPermissionThatIsNotGranted(t *testing.T) {
	t.Parallel()
	g := newGuild(t, map[string]string{"contents": "read"}, map[string][]string{"acme": nil})
	g.token(t, model.Tenant, "acme/one")
	_, err := g.tokens.Token(t.Context(), model.Output, g.url("acme/gitops"))
	var known *giterror.Error
	require.ErrorAs(t, err, &known)
	assert.Equal(t, giterror.RuleAccessDenied, known.Rule)
	assert.Contains(t, known.Message, g.url("acme/gitops"))
	assert.Contains(t, known.Message, `does not have the permission "contents: write and pull requests: write" there`)
	assert.Contains(t, known.Hint, "“Permissions & events”")
	assert.Len(t, g.hub.Minted(), 1)
}

func TestRepositoriesWithoutTheApp(t *testing.T) {
	t.Parallel()
	g := newGuild(t, githubtest.AllPermissions(), map[string][]string{"acme": {"acme/one", "acme/three"}})
	g.expect(model.Tenant, "acme/two", "acme/one", "acme/three", "other/one", "other/two")
	assert.Empty(t, g.token(t, model.Tenant, "acme/two"))
	one := g.token(t, model.Tenant, "acme/one")
	assert.NotEmpty(t, one)
	assert.Equal(t, one, g.token(t, model.Tenant, "acme/three"), "the others still share one")
	assert.Empty(t, g.token(t, model.Tenant, "other/one"))
	assert.Empty(t, g.token(t, model.Tenant, "other/two"))
	assert.Equal(t, []string{"acme/one acme/three: contents=read"}, g.hub.Minted())
	asked := 0
	for _, request := range g.hub.Requests() {
		if strings.HasSuffix(request.Path, "/users/other/installation") {
			asked++
		}
	}
	assert.Equal(t, 1, asked, "an owner without the App is asked about once")
	assert.Contains(t, g.tokens.Advice(model.Tenant, g.url("acme/two")), "give the GitHub App 17 access to acme/two")

	before := len(g.hub.Requests())
	assert.Empty(t, g.token(t, model.Tenant, "acme/two"))
	assert.Len(t, g.hub.Requests(), before, "what is known is not asked again")
}

func TestOtherHostsHaveNothingToDoWithTheApp(t *testing.T) {
	t.Parallel()
	g := newGuild(t, githubtest.AllPermissions(), map[string][]string{"acme": nil})
	for _, elsewhere := range []string{"https://github.com/acme/one", "https://gitlab.com/acme/one", "http://127.0.0.2/acme/one", "https://acme.ghe.com/acme/one"} {
		g.tokens.Expect(model.Tenant, []string{elsewhere})
		token, err := g.tokens.Token(t.Context(), model.Tenant, elsewhere)
		require.NoError(t, err)
		assert.Empty(t, token, elsewhere)
		assert.Empty(t, g.tokens.Advice(model.Tenant, elsewhere))
	}
	assert.Empty(t, g.hub.Requests())
}

func TestR27SharedTokensAreRenewed(t *testing.T) {
	t.Parallel()
	g := newGuild(t, githubtest.AllPermissions(), map[string][]string{"acme": nil})
	g.expect(model.Tenant, "acme/one", "acme/two")
	source := g.tokens.Source(model.Tenant, g.url("acme/two"))
	first := g.token(t, model.Tenant, "acme/one")
	require.NoError(t, g.clock.Sleep(t.Context(), 54*time.Minute))
	assert.Equal(t, first, g.token(t, model.Tenant, "acme/one"))
	require.NoError(t, g.clock.Sleep(t.Context(), 7*time.Minute))
	second := g.token(t, model.Tenant, "acme/one")
	assert.NotEqual(t, first, second)
	shared, err := source.Token(t.Context())
	require.NoError(t, err)
	assert.Equal(t, second, shared.Value)
	assert.Len(t, g.hub.Minted(), 2)
}

func TestManyRepositories(t *testing.T) {
	t.Parallel()
	g := newGuild(t, githubtest.AllPermissions(), map[string][]string{"acme": nil})
	var names []string
	for i := range 501 {
		names = append(names, fmt.Sprintf("acme/app-%d", i))
		g.hub.AddRepo(names[i], githubtest.RepoOptions{})
	}
	g.expect(model.Tenant, names...)
	for _, name := range names {
		assert.NotEmpty(t, g.token(t, model.Tenant, name))
	}
	assert.Len(t, g.hub.Minted(), 2, "GitHub takes 500 names")
}

func TestTokensAfterAFault(t *testing.T) {
	t.Parallel()
	g := newGuild(t, githubtest.AllPermissions(), map[string][]string{"acme": nil})
	g.hub.Inject(githubtest.HTTPError(http.StatusBadGateway), githubtest.First(5, githubtest.On("POST", mintPath)))
	_, err := g.tokens.Token(t.Context(), model.Tenant, g.url("acme/one"))
	var known *giterror.Error
	require.ErrorAs(t, err, &known)
	assert.Equal(t, giterror.RuleRemoteFailed, known.Rule)
	assert.NotEmpty(t, g.token(t, model.Tenant, "acme/one"), "a failure is not remembered")

	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.tokens.Token(stopped, model.Output, g.url("acme/gitops"))
	require.ErrorIs(t, err, context.Canceled)
}

// mintPath is where the App that newGuild makes gets its tokens for its first owner.
const mintPath = "/app/installations/5/access_tokens"

func TestARepositoryThatWasRenamed(t *testing.T) {
	t.Parallel()
	g := newGuild(t, githubtest.AllPermissions(), map[string][]string{"acme": nil})
	// Asked about by its old name it is installed on, and not known for a token.
	g.hub.Inject(githubtest.HTTPError(http.StatusUnprocessableEntity), githubtest.First(2, githubtest.On("POST", mintPath)))
	g.expect(model.Tenant, "acme/one", "acme/two", "acme/three")
	assert.NotEmpty(t, g.token(t, model.Tenant, "acme/one"))
	assert.NotEmpty(t, g.token(t, model.Tenant, "acme/two"))
	assert.Equal(t, []string{"acme/one: contents=read", "acme/two: contents=read"}, g.hub.Minted())
}

func TestBot(t *testing.T) {
	t.Parallel()
	g := newGuild(t, githubtest.AllPermissions(), map[string][]string{"acme": nil})
	client := g.client(t, func(o *github.Options) { o.Token = g.tokens.Source(model.Output, g.url("acme/gitops")) })
	for range 2 {
		bot, err := g.tokens.Bot(t.Context(), client.Repository("acme", "gitops"))
		require.NoError(t, err)
		assert.Equal(t, gitobject.Identity{Name: "kalypso[bot]", Email: "4711+kalypso[bot]@users.noreply.127.0.0.1"}, bot)
	}
	asked := map[string]int{}
	for _, request := range g.hub.Requests() {
		asked[request.Path]++
	}
	assert.Equal(t, 1, asked["/app"])
	assert.Equal(t, 1, asked["/users/kalypso%5Bbot%5D"])
}

func TestBotThatCannotBeFound(t *testing.T) {
	t.Parallel()
	g := newGuild(t, githubtest.AllPermissions(), map[string][]string{"acme": nil})
	client := g.client(t, func(o *github.Options) { o.Token = github.StaticToken("wrong") })
	_, err := g.tokens.Bot(t.Context(), client.Repository("acme", "gitops"))
	var failed *github.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, github.Denied, failed.Kind)
	assert.Equal(t, "find the user kalypso[bot]", failed.Act)
}
