package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// mint is a TokenSource for the repositories of one host, whose tokens are good for an hour.
type mint struct {
	host string
	err  error

	mu       sync.Mutex
	hours    int
	expected []string
}

func (m *mint) Expect(role model.Role, repos []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, repo := range repos {
		m.expected = append(m.expected, fmt.Sprint(role, " ", repo))
	}
}

func (m *mint) Token(_ context.Context, _ model.Role, repo string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !strings.HasPrefix(repo, m.host) {
		return "", nil
	}
	return mintedIn(m.hours), m.err
}

func (m *mint) Advice(_ model.Role, repo string) string {
	if strings.HasPrefix(repo, m.host) {
		return "let the App in"
	}
	return ""
}

func (m *mint) anHourPasses() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hours++
}

func mintedIn(hour int) string { return fmt.Sprintf("minted-in-hour-%d", hour) }

func TestMintedTokensByPrecedence(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env  []string
		want string
	}{
		"role":   {[]string{credentials.EnvSource, "token-source", credentials.EnvGitHub, "token-github"}, "token-source"},
		"App":    {[]string{credentials.EnvControlPlane, "token-control", credentials.EnvGitHub, "token-github", credentials.EnvGH, "token-gh"}, mintedIn(0)},
		"no App": {[]string{credentials.EnvGitHub, "token-github"}, "token-github"},
	} {
		server := gitopstest.NewServer(t)
		repo, _ := server.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
		tokens := &mint{host: server.URL}
		if name == "no App" {
			tokens.host = "https://elsewhere.example"
		}
		r := newReader(t, Options{Env: gitopstest.Environment(append(test.env, "GITHUB_SERVER_URL", server.URL)...), Tokens: tokens})
		readOne(t, r, model.Ref{Repo: repo, Branch: "main", Role: model.Tenant})
		assert.Equal(t, []string{test.want}, gitopstest.ShownSecrets(server), name)
		assert.Equal(t, name == "role", len(tokens.expected) == 0, "what has a token of its own is not expected")
	}
}

func TestMintedTokensAreExpectedTogether(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	a, _ := server.Add("a", gitopstest.Commit{Files: gitopstest.Shop()})
	b, _ := server.Add("b", gitopstest.Commit{Files: gitopstest.Shop()})
	tokens := &mint{host: server.URL}
	r := newReader(t, Options{Tokens: tokens})
	_, list := r.Read(t.Context(), []model.Ref{{Repo: a, Branch: "main", Role: model.Tenant}, {Repo: b, Branch: "main", Role: model.Tenant}})
	require.Empty(t, list)
	assert.Equal(t, []string{fmt.Sprint(model.Tenant, " ", server.URL+"/a"), fmt.Sprint(model.Tenant, " ", server.URL+"/b")}, tokens.expected)
}

func TestR27PushAfterAnHour(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, _ := server.Add("gitops", gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"README.md": "mine\n"}})
	server.Configure("gitops", "http.receivepack", "true")
	tokens := &mint{host: server.URL}
	r := newReader(t, Options{Tokens: tokens})
	at, err := r.Locate(model.Ref{Repo: url})
	require.NoError(t, err)
	repo, err := r.Repository(t.Context(), at, model.Output)
	require.NoError(t, err)
	assert.Equal(t, []string{mintedIn(0)}, gitopstest.ShownSecrets(server))
	secret, origin, err := r.Credential(t.Context(), model.Output, at.Read)
	require.NoError(t, err)
	assert.Equal(t, []string{mintedIn(0), credentials.AppOrigin}, []string{secret, origin})

	tokens.anHourPasses()
	order := PushOrder{
		Updates: []RefUpdate{{Branch: "deployment/dev", New: repo.Branches()["dev"]}},
		Pack:    func(ctx context.Context, w io.Writer) error { return gitobject.WritePack(ctx, w, nil) },
	}
	require.NoError(t, r.Push(t.Context(), repo, order))
	assert.Equal(t, []string{mintedIn(0), mintedIn(1)}, gitopstest.ShownSecrets(server), "what pushes is new")
	assert.NotContains(t, r.Scrub("a "+mintedIn(0)+" and a "+mintedIn(1)), "minted", "both are secrets")
}

func TestMintedTokenThatIsNotKnownYet(t *testing.T) {
	t.Parallel()
	refusals := 2
	server := gitopstest.NewServer(t, gitopstest.WithPassword(mintedIn(0)), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refusals > 0 {
				refusals--
				http.Error(w, "Bad credentials", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	repo, _ := server.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	tokens := &mint{host: server.URL}
	naps := 0
	nap := func(context.Context, time.Duration) error { naps++; return nil }
	readOne(t, newReader(t, Options{Tokens: tokens, Sleep: nap}), model.Ref{Repo: repo, Branch: "main", Role: model.Tenant})
	assert.Equal(t, 2, naps)

	refusals = 3
	d := readError(t, newReader(t, Options{Tokens: tokens, Sleep: nap}), model.Ref{Repo: repo, Branch: "main", Role: model.Tenant})
	assert.Equal(t, giterror.RuleAccessDenied, d.Rule)
	assert.Contains(t, d.Message, "the one from the GitHub App was sent")
	assert.Contains(t, d.Hint, "let the App in, or set KALYPSO_SOURCE_TOKEN")
}

func TestMintThatFails(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	repo, _ := server.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	ref := model.Ref{Repo: repo, Branch: "main", Role: model.Tenant}
	denied := &giterror.Error{Rule: giterror.RuleAccessDenied, Message: "the App is suspended", Hint: "ask for it"}
	d := readError(t, newReader(t, Options{Tokens: &mint{host: server.URL, err: denied}}), ref)
	assert.Equal(t, []string{giterror.RuleAccessDenied, "the App is suspended", "ask for it"}, []string{d.Rule, d.Message, d.Hint})

	d = readError(t, newReader(t, Options{Tokens: &mint{host: server.URL, err: errors.New("no\nway")}}), ref)
	assert.Equal(t, giterror.RuleRemoteFailed, d.Rule)
	assert.NotContains(t, d.Message, "\n")
	assert.Empty(t, server.Requests())
}

// TestS11MintedTokensStayWithTheirHost reads from two hosts, the App being of one.
func TestS11MintedTokensStayWithTheirHost(t *testing.T) {
	t.Parallel()
	ours, theirs := gitopstest.NewServer(t), gitopstest.NewServer(t)
	a, _ := ours.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	b, _ := theirs.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	r := newReader(t, Options{Tokens: &mint{host: ours.URL}, Env: gitopstest.Environment(credentials.EnvGitHub, "token-github", credentials.EnvGitHubServer, ours.URL)})
	_, list := r.Read(t.Context(), []model.Ref{
		{Repo: a, Branch: "main", Role: model.Tenant},
		{Repo: b, Branch: "main", Role: model.Tenant},
		{Repo: b, Branch: "main", Role: model.Output},
		{Repo: b, Branch: "main", Role: model.Platform},
	})
	require.Empty(t, list)
	assert.Equal(t, []string{mintedIn(0)}, gitopstest.ShownSecrets(ours))
	assert.Equal(t, []string{""}, gitopstest.ShownSecrets(theirs), "neither the App's token nor GITHUB_TOKEN")
}

// TestS11TheGitOpsTokenGoesToTheGitOpsHost has a control plane and a GitOps repository on two hosts.
func TestS11TheGitOpsTokenGoesToTheGitOpsHost(t *testing.T) {
	t.Parallel()
	ours, theirs := gitopstest.NewServer(t), gitopstest.NewServer(t)
	a, _ := ours.Add("control", gitopstest.Commit{Files: gitopstest.Shop()})
	b, _ := theirs.Add("gitops", gitopstest.Commit{Files: gitopstest.Shop()})
	r := newReader(t, Options{Env: gitopstest.Environment(credentials.EnvGitHub, "token-github", credentials.EnvGitHubServer, ours.URL, credentials.EnvGitOps, "token-output", credentials.EnvTokenHosts, gitopstest.Authority(t, theirs.URL))})
	readOne(t, r, model.Ref{Repo: a, Branch: "main", Role: model.Main})
	readOne(t, r, model.Ref{Repo: b, Branch: "main", Role: model.Output})
	assert.Equal(t, []string{"token-github"}, gitopstest.ShownSecrets(ours))
	assert.Equal(t, []string{"token-output"}, gitopstest.ShownSecrets(theirs))
	secret, origin, err := r.Credential(t.Context(), model.Output, b)
	require.NoError(t, err)
	assert.Equal(t, []string{"token-output", credentials.EnvGitOps}, []string{secret, origin}, "and for its API")
	secret, _, err = r.Credential(t.Context(), model.Output, a)
	require.NoError(t, err)
	assert.Equal(t, "token-github", secret)
}
