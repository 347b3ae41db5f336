package github_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
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
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// appKey makes a key once: that takes long.
var appKey = sync.OnceValue(newKey)

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

func pkcs1(key *rsa.PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// install makes an App known to the stand-in and returns ours, which needs some permissions everywhere.
func install(t *testing.T, f *fixture, key *rsa.PrivateKey, needs map[string]string) *github.App {
	t.Helper()
	f.hub.AddApp(githubtest.App{
		ID: 17, Slug: "kalypso", Key: &key.PublicKey, Owner: "acme", Installation: 5, Permissions: githubtest.AllPermissions(),
	})
	return newApp(t, f, "17", pkcs1(key), needs)
}

func newApp(t *testing.T, f *fixture, id string, key []byte, needs map[string]string) *github.App {
	t.Helper()
	app, err := github.NewApp(github.Options{Sleep: f.clock.Sleep, Now: f.clock.Now}, github.AppConfig{
		ID: id, Server: github.Server{URL: f.hub.WebURL, API: f.hub.URL},
		Needs: func(model.Role) github.Needs { return github.Needs{Required: needs} },
	}, key)
	require.NoError(t, err)
	return app
}

// source returns the tokens of an App for a repository of acme.
func (f *fixture) source(app *github.App, name string) github.TokenSource {
	return app.Source(model.Output, f.hub.WebURL+"/acme/"+name)
}

func write(names ...string) map[string]string {
	permissions := map[string]string{}
	for _, name := range names {
		permissions[name] = "write"
	}
	return permissions
}

func TestAppMintsNarrowTokensAndKeepsThem(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	f.hub.AddRepo("acme/other", githubtest.RepoOptions{Private: true})
	app := install(t, f, appKey(), write("contents", "pull_requests"))
	token, err := f.source(app, "gitops").Token(t.Context())
	require.NoError(t, err)
	assert.Equal(t, githubtest.Midnight().Add(time.Hour), token.Expires.UTC())
	assert.Equal(t, githubtest.Midnight(), token.Minted)
	requests := f.hub.Requests()
	require.Len(t, requests, 2)
	assert.JSONEq(t, `{"repositories":["gitops"],"permissions":{"contents":"write","pull_requests":"write"}}`, requests[1].Body)

	again, err := f.source(app, "GitOps").Token(t.Context())
	require.NoError(t, err)
	assert.Equal(t, token.Value, again.Value)
	assert.Len(t, f.hub.Requests(), 2)

	client := f.client(t, func(o *github.Options) { o.Token = github.StaticToken(token.Value) })
	_, err = client.Repository("acme", "gitops").Open(t.Context(), "main")
	require.NoError(t, err)
	_, err = client.Repository("acme", "other").Open(t.Context(), "main")
	require.Error(t, err, "it is for one repository")
}

func TestR27TokensAreRenewedBeforeTheirHourEnds(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	app := install(t, f, appKey(), write("pull_requests"))
	client := f.client(t, func(o *github.Options) { o.Token = f.source(app, "gitops") })
	repo := client.Repository("acme", "gitops")
	minted := func() int {
		n := 0
		for _, r := range f.hub.Writes() {
			if strings.HasSuffix(r.Path, "/access_tokens") {
				n++
			}
		}
		return n
	}
	for _, step := range []struct {
		later time.Duration
		want  int
	}{{0, 1}, {54 * time.Minute, 1}, {2 * time.Minute, 2}, {54 * time.Minute, 2}, {3 * time.Hour, 3}} {
		require.NoError(t, f.clock.Sleep(t.Context(), step.later))
		_, err := repo.Open(t.Context(), "main")
		require.NoError(t, err)
		assert.Equal(t, step.want, minted())
	}
}

func TestR27TokensThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		later    time.Duration
		refusals int
		tokens   int
		naps     []time.Duration
		fails    bool
	}{
		"just minted":           {refusals: 2, tokens: 1, naps: []time.Duration{time.Second, 3 * time.Second}},
		"just minted, for good": {refusals: 9, tokens: 1, naps: []time.Duration{time.Second, 3 * time.Second, 10 * time.Second}, fails: true},
		"revoked":               {later: 10 * time.Minute, refusals: 1, tokens: 2},
		"app deleted":           {later: 10 * time.Minute, refusals: 9, tokens: 2, naps: []time.Duration{3 * time.Second, 10 * time.Second}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, nil)
			source := f.source(install(t, f, appKey(), write("pull_requests")), "gitops")
			_, err := source.Token(t.Context())
			require.NoError(t, err)
			require.NoError(t, f.clock.Sleep(t.Context(), test.later))
			f.clock.slept()
			f.hub.Inject(githubtest.HTTPError(http.StatusUnauthorized), githubtest.First(test.refusals, githubtest.On("GET", "/repos/acme/gitops/pulls")))
			_, err = f.client(t, func(o *github.Options) { o.Token = source }).Repository("acme", "gitops").Open(t.Context(), "main")
			assert.Equal(t, test.fails, err != nil)
			assert.Equal(t, test.naps, f.clock.slept())
			assert.Len(t, f.hub.Writes(), test.tokens)
		})
	}
}

func TestAppWhoseTokensCannotBeHad(t *testing.T) {
	t.Parallel()
	key := appKey()
	for name, test := range map[string]struct {
		id    string
		key   *rsa.PrivateKey
		needs map[string]string
		want  string
	}{
		"wrong id":    {id: "19", key: key, want: "must be of the same GitHub App"},
		"wrong key":   {id: "17", key: newKey(), want: "must be of the same GitHub App"},
		"not granted": {id: "17", key: key, needs: write("administration"), want: "an owner of acme accepts it at http://"},
		"suspended":   {id: "18", key: key, want: "an owner of acme ends that at http://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, nil)
			install(t, f, key, nil)
			f.hub.AddApp(githubtest.App{
				ID: 18, Slug: "asleep", Key: &key.PublicKey, Owner: "acme", Installation: 6, Suspended: true,
				Permissions: githubtest.AllPermissions(),
			})
			if test.needs == nil {
				test.needs = write("contents")
			}
			source := f.source(newApp(t, f, test.id, pkcs1(test.key), test.needs), "gitops")
			_, err := f.client(t, func(o *github.Options) { o.Token = source }).Repository("acme", "gitops").Open(t.Context(), "main")
			var failed *github.Error
			require.ErrorAs(t, err, &failed)
			assert.Contains(t, failed.Hint, test.want)
			assert.Contains(t, failed.Act, "GitHub App", "who reads it learns what was tried")
		})
	}
}

// TestAppThatGitHubDoesNotKnow: what is not found is not the installation.
func TestAppThatGitHubDoesNotKnow(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	f.hub.Inject(githubtest.Refusal(http.StatusNotFound, "Integration not found"), githubtest.Always)
	_, err := f.source(newApp(t, f, "19", pkcs1(appKey()), write("contents")), "gitops").Token(t.Context())
	var failed *github.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, github.Denied, failed.Kind, "it is no reason to look for another credential")
	assert.Contains(t, failed.Hint, "must be of the same GitHub App")
}

func TestAppMintsAgainAfterAFault(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 2; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, nil)
			source := f.source(install(t, f, appKey(), write("contents")), "gitops")
			f.hub.Inject(githubtest.LostAnswer(), githubtest.First(1, githubtest.Nth(n)))
			_, err := source.Token(t.Context())
			require.NoError(t, err)
		})
	}
}

func TestNewAppRefuses(t *testing.T) {
	t.Parallel()
	key := newKey()
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	_, err = github.NewApp(github.Options{}, github.AppConfig{ID: "Iv23.abc"}, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
	require.NoError(t, err)
	for name, test := range map[string]struct {
		id  string
		key []byte
	}{
		"no id":     {"", pkcs1(key)},
		"odd id":    {"17/../x", pkcs1(key)},
		"no key":    {"17", nil},
		"not a key": {"17", []byte("-----BEGIN RSA PRIVATE KEY-----\nc2VjcmV0\n-----END RSA PRIVATE KEY-----\n")},
		"no PEM":    {"17", []byte("secret")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := github.NewApp(github.Options{}, github.AppConfig{ID: test.id}, test.key)
			require.Error(t, err)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
	f := setup(t, githubtest.Options{}, nil)
	_, err = f.source(install(t, f, appKey(), nil), "gitops").Token(t.Context())
	require.Error(t, err, "a token for nothing would be one for everything")
}
