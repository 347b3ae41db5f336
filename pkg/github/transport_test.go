package github_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
)

func TestR10WaitsAsTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault githubtest.Fault
		times int
		want  []time.Duration // each is at least that long
		most  func(least time.Duration) time.Duration
		kind  github.Kind
	}{
		"Retry-After": {
			fault: githubtest.SecondaryRateLimit(http.StatusForbidden, 90*time.Second), times: 2,
			want: []time.Duration{90 * time.Second, 90 * time.Second},
		},
		"Retry-After as a date": {
			fault: githubtest.HTTPError(http.StatusServiceUnavailable).
				With("Retry-After", githubtest.Midnight().Add(20*time.Second).Format(http.TimeFormat)).
				With("Date", githubtest.Midnight().Format(http.TimeFormat)),
			times: 1, want: []time.Duration{20 * time.Second},
		},
		"none left": {
			fault: githubtest.PrimaryRateLimit(http.StatusForbidden, githubtest.Midnight().Add(10*time.Minute)), times: 1,
			want: []time.Duration{10*time.Minute + time.Second},
		},
		"a limit without a time": {
			fault: githubtest.SecondaryRateLimit(http.StatusForbidden, 0), times: 3,
			want: []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute},
			most: func(least time.Duration) time.Duration { return least + time.Second },
		},
		"backoff": {
			fault: githubtest.HTTPError(http.StatusBadGateway), times: 4,
			want: []time.Duration{time.Second / 2, time.Second, 2 * time.Second, 4 * time.Second},
			most: func(least time.Duration) time.Duration { return 2 * least },
		},
		"five tries": {
			fault: githubtest.HTTPError(http.StatusBadGateway), times: 5, kind: github.Unavailable,
			want: []time.Duration{time.Second / 2, time.Second, 2 * time.Second, 4 * time.Second},
			most: func(least time.Duration) time.Duration { return 2 * least },
		},
		"too long": {
			fault: githubtest.SecondaryRateLimit(http.StatusTooManyRequests, 16*time.Minute), times: 1, kind: github.RateLimited,
		},
		"absurdly long": {
			fault: githubtest.HTTPError(http.StatusTooManyRequests).With("Retry-After", "9223372036854775807"), times: 1, kind: github.RateLimited,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, nil)
			f.hub.Inject(test.fault, githubtest.First(test.times, githubtest.Always))
			_, err := f.repo.Open(t.Context(), "main")
			slept := f.clock.slept()
			require.Len(t, slept, len(test.want))
			for i, least := range test.want {
				most := least
				if test.most != nil {
					most = test.most(least)
				}
				assert.GreaterOrEqual(t, slept[i], least)
				assert.LessOrEqual(t, slept[i], most)
			}
			assert.Len(t, f.notices, len(test.want))
			if test.kind == "" {
				require.NoError(t, err)
				return
			}
			var failed *github.Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, test.kind, failed.Kind)
		})
	}
}

func TestR26GivesUpAtOnceIfTheTimeIsTooShort(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, func(o *github.Options) { o.Now = time.Now })
	f.hub.Inject(githubtest.SecondaryRateLimit(http.StatusTooManyRequests, 10*time.Minute), githubtest.Always)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	_, err := f.repo.Open(ctx, "main")
	require.ErrorContains(t, err, "the next try would be in 10m0s, which is too late")
	assert.Empty(t, f.clock.slept())
	assert.Len(t, f.hub.Requests(), 1)
}

func TestR26HangingServers(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, func(o *github.Options) { o.Limits = github.Limits{Tries: 2, Request: 20 * time.Millisecond} })
	f.hub.Inject(githubtest.Hang(), githubtest.Always)
	_, err := f.repo.Open(t.Context(), "main")
	require.ErrorContains(t, err, "has not answered within 20ms, 2 times")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestR25Cancelled(t *testing.T) {
	t.Parallel()
	cancelled := errors.New("sentinel")
	f := setup(t, githubtest.Options{}, nil)
	f.hub.Inject(githubtest.HTTPError(http.StatusBadGateway), githubtest.Always)
	ctx, cancel := context.WithCancelCause(t.Context())
	f.clock.others = append(f.clock.others, func(time.Duration) { cancel(cancelled) })
	_, err := f.repo.Open(ctx, "main")
	require.ErrorIs(t, err, context.Canceled)
	assert.Len(t, f.hub.Requests(), 1)
}

func TestChangesAreApart(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	for range 3 {
		require.NoError(t, f.repo.AddLabels(t.Context(), f.open(t), []string{"a"}))
		f.remote.Close(f.remote.OpenPulls()[0].Number)
	}
	assert.Equal(t, []time.Duration{time.Second, time.Second, time.Second}, f.clock.slept(), "two in the first round, one in the others")
}

// open opens a pull request as a person would and returns its number.
func (f *fixture) open(t *testing.T) int {
	t.Helper()
	return f.remote.OpenPull(githubtest.Pull{
		Issue: githubtest.Issue{Title: "Mine", Author: "cid"}, Head: "deployment/main", Base: "main",
	}).Number
}

func TestR11PermanentErrorsAreSentOnce(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]github.Kind{
		http.StatusUnauthorized: github.Denied, http.StatusForbidden: github.Denied, http.StatusNotFound: github.NotFound,
		http.StatusUnprocessableEntity: github.Invalid, http.StatusGone: github.Invalid, http.StatusNotImplemented: github.Invalid,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, nil)
			f.hub.Inject(githubtest.HTTPError(status), githubtest.Always)
			_, err := f.repo.Open(t.Context(), "main")
			var failed *github.Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, kind, failed.Kind)
			assert.Equal(t, status, failed.Status)
			assert.Len(t, f.hub.Requests(), 1)
			assert.Empty(t, f.clock.slept())
		})
	}
}

// serve starts a server that is not GitHub, and a client for it.
func serve(t *testing.T, handler http.HandlerFunc) *github.Repository {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	clock := newClock()
	client, err := github.New(github.Options{
		API: server.URL, Token: github.StaticToken(secret), Sleep: clock.Sleep, Now: clock.Now, Limits: github.Limits{Tries: 2},
	})
	require.NoError(t, err)
	return client.Repository("acme", "gitops")
}

func TestR13AnswersThatAreNotWhole(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ answer, want string }{
		"empty":      {"", "its answer is empty"},
		"cut":        {`[{"number": 1`, "its answer is incomplete or not JSON"},
		"a web page": {"<html>Log in</html>", "its answer is incomplete or not JSON"},
		"no number":  {"[{}]", "GitHub's answer is incomplete"},
		"an object":  {`{"message":"hello"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, test.answer) })
			found, err := repo.Open(t.Context(), "main")
			var failed *github.Error
			require.ErrorAs(t, err, &failed)
			require.ErrorContains(t, err, test.want)
			assert.Equal(t, github.Unavailable, failed.Kind)
			assert.Empty(t, found)
		})
	}
}

func TestListsThatDoNotEnd(t *testing.T) {
	t.Parallel()
	repo := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", fmt.Sprintf(`<http://%s/?page=2>; rel="next"`, r.Host))
		fmt.Fprint(w, "[]")
	})
	_, err := repo.Open(t.Context(), "main")
	require.ErrorContains(t, err, "the list has more than 1000 pages")
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	for name, test := range map[string]struct {
		to     string
		status int
		want   string
	}{
		"another host":   {other.URL + "/stolen", http.StatusTemporaryRedirect, "which is not followed"},
		"renamed":        {"/repositories/1/pulls", http.StatusMovedPermanently, ""},
		"never ending":   {"/repos/acme/gitops/pulls", http.StatusFound, "too many redirects"},
		"another scheme": {"https://%s/stolen", http.StatusFound, "which is not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := serve(t, func(w http.ResponseWriter, r *http.Request) {
				assert.Equal(t, "Bearer "+secret, r.Header.Get("Authorization"))
				if strings.HasPrefix(r.URL.Path, "/repositories/") {
					fmt.Fprint(w, "[]")
					return
				}
				w.Header().Set("Location", strings.ReplaceAll(test.to, "%s", r.Host))
				w.WriteHeader(test.status)
			})
			_, err := repo.Open(t.Context(), "main")
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
	t.Cleanup(func() { assert.Zero(t, elsewhere.Load(), "nothing was asked elsewhere") })
}

func TestARedirectDoesNotTurnAChangeIntoARead(t *testing.T) {
	t.Parallel()
	repo := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, "{}")
			return
		}
		http.Redirect(w, r, "/repositories/1/pulls", http.StatusMovedPermanently)
	})
	err := repo.Edit(t.Context(), 1, "title", "body")
	require.ErrorContains(t, err, "the repository was renamed")
}

func TestR12NoSecretInAnyError(t *testing.T) {
	t.Parallel()
	echo := `{"message":"Bad ` + secret + `\nsecond line \u001b[31m https://ann:pass@host/ ` + strings.Repeat("long ", 200) + `"}`
	for _, status := range []int{401, 403, 404, 422, 429, 500} {
		repo := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-GitHub-Request-Id", secret)
			w.WriteHeader(status)
			fmt.Fprint(w, echo)
		})
		_, err := repo.Open(t.Context(), "main")
		require.Error(t, err)
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
			assert.NotContains(t, text, secret)
			assert.NotContains(t, text, "pass@")
		}
		assert.NotContains(t, err.Error(), "\n")
		assert.NotContains(t, err.Error(), "\x1b")
		assert.Less(t, len(err.Error()), 500)
	}
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", github.StaticToken(secret), github.Token{Value: secret}, github.StaticToken(secret)), secret)
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	clock := newClock()
	client, err := github.New(github.Options{API: server.URL, Sleep: clock.Sleep, Now: clock.Now})
	require.NoError(t, err)
	_, err = client.Repository("acme", "gitops").Open(t.Context(), "main")
	require.ErrorContains(t, err, "GitHub cannot be reached: connection refused, 5 times")
	assert.Len(t, clock.slept(), 4)

	clock.slept()
	_, _, err = client.Repository("acme", "gitops").Create(t.Context(), pullrequest.NewRequest{Head: "a", Base: "b"})
	require.ErrorContains(t, err, "5 times", "nothing was sent, so that it may be sent again")
}

func TestCertificatesAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	server.StartTLS()
	t.Cleanup(server.Close)
	clock := newClock()
	client, err := github.New(github.Options{API: server.URL, Sleep: clock.Sleep, Now: clock.Now})
	require.NoError(t, err)
	_, err = client.Repository("acme", "gitops").Open(t.Context(), "main")
	var failed *github.Error
	require.ErrorAs(t, err, &failed)
	assert.Contains(t, failed.Message, "certificate")
	assert.Contains(t, failed.Hint, "SSL_CERT_FILE")
	assert.Empty(t, clock.slept())
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]github.Options{
		"no URL":     {API: "github"},
		"not a URL":  {API: "https://user:pa%zzss@host"},
		"a password": {API: "https://user:pass@host"},
		"no https":   {API: "http://ghe.example.com/api/v3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := github.New(o)
			require.Error(t, err)
			assert.NotContains(t, err.Error(), "pass")
		})
	}
	_, err := github.New(github.Options{API: "http://127.0.0.1:1/api/v3/"})
	require.NoError(t, err)
	_, err = github.New(github.Options{})
	require.NoError(t, err)
}

func TestRequestsSayWhoAsks(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/repos/acme/gitops/pulls?base=main&direction=asc&page=1&per_page=100&sort=created&state=open", r.URL.String())
		assert.Equal(t, "kalypso/1.2.3", r.Header.Get("User-Agent"))
		assert.Equal(t, "2022-11-28", r.Header.Get("X-GitHub-Api-Version"))
		assert.Empty(t, r.Header.Get("Authorization"))
		fmt.Fprint(w, "[]")
	}))
	t.Cleanup(server.Close)
	client, err := github.New(github.Options{API: server.URL, UserAgent: "kalypso/1.2.3"})
	require.NoError(t, err)
	_, err = client.Repository("acme", "gitops").Open(t.Context(), "main")
	require.NoError(t, err)
}
