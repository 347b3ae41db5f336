package argocd

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

func TestLook(t *testing.T) {
	t.Parallel()
	s := newStandIn(t, file(t, "synced.json"), file(t, "degraded-sources.json"))
	seen, err := s.look(t)
	require.NoError(t, err)
	assert.Equal(t, []promote.ReconcilerStatus{
		{
			Cluster: "https://10.0.0.7:6443", Reconciler: "team-a/large", ClusterType: "large", Commit: commitA,
			State: promote.Failed, Message: `Synced, Degraded: Deployment web: Deployment "web" exceeded its progress deadline`,
		},
		{Cluster: "in-cluster", Reconciler: "argocd/drone-functional-test", ClusterType: "drone", Commit: commitA, State: promote.Compliant},
	}, seen)
	require.Len(t, s.asked, 1)
	assert.Equal(t, "kalypso/test", s.asked[0].UserAgent())
	assert.Equal(t, "application/json", s.asked[0].Header.Get("Accept"))
	assert.Empty(t, s.asked[0].URL.RawQuery)
}

func TestBelowAPrefix(t *testing.T) {
	t.Parallel()
	s := newStandIn(t, file(t, "synced.json"))
	s.prefix = "/tools/argocd"
	seen, err := s.look(t)
	require.NoError(t, err)
	assert.Len(t, seen, 1)
}

func TestWithoutApplications(t *testing.T) {
	t.Parallel()
	seen, err := newStandIn(t).look(t)
	require.NoError(t, err)
	assert.Empty(t, seen)
}

func TestAsksForSomeOnly(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	f, err := New(s.URL+"/?selector=env%3Dstage&project=a&project=b", s.options())
	require.NoError(t, err)
	assert.Equal(t, "argocd:"+s.URL+"?project=a&project=b&selector=env%3Dstage", f.String())
	_, err = f.Query(t.Context(), deployment())
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"project": {"a", "b"}, "selector": {"env=stage"}}, map[string][]string(s.asked[0].URL.Query()))
}

func TestUsage(t *testing.T) {
	t.Parallel()
	env := map[string]string{"ARGOCD_AUTH_TOKEN": token1}
	for argument, want := range map[string]string{
		"":                                                "name its URL: argocd:https://argocd.example.com",
		"argocd.example.com":                              "write https://argocd.example.com",
		"argocd.example.com:443":                          "write https://argocd.example.com",
		"ftp://argocd.example.com":                        "write https://argocd.example.com",
		"https://":                                        "write https://argocd.example.com",
		"https://:443/":                                   "write https://argocd.example.com",
		"http://argocd.example.com":                       "is not encrypted",
		"http://127.0.0.1.example.com":                    "is not encrypted",
		"https://u:hush@argocd.example.com":               "a user or password in it",
		"https://hush@argocd.example.com":                 "a user or password in it",
		"u:hush@argocd.example.com":                       "a user or password in it",
		"https://argocd.example.com/\x7f":                 "is not valid",
		"https://argocd.example.com/#/apps":               "is the URL of a page",
		"https://argocd.example.com?projekt":              `a parameter "projekt" (did you mean "project"?)`,
		"https://argocd.example.com?a=%zz":                "is not valid",
		"https://argocd.example.com?token=hush&project=x": `a parameter "token"`,
	} {
		_, err := New(argument, api.Options{Env: func(name string) string { return env[name] }})
		require.ErrorContains(t, err, want, argument)
		assert.NotContains(t, err.Error(), "hush", argument)
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	const own, common, server = "ARGOCD_AUTH_TOKEN_ARGOCD_EXAMPLE_COM_8443", "ARGOCD_AUTH_TOKEN", "ARGOCD_SERVER"
	for name, test := range map[string]struct {
		env        map[string]string
		want, fail string
	}{
		"common":               {env: map[string]string{common: " t1\n"}, want: "t1"},
		"own":                  {env: map[string]string{common: "t1", own: "t2"}, want: "t2"},
		"none":                 {fail: "no token: set ARGOCD_AUTH_TOKEN, or " + own},
		"of this server":       {env: map[string]string{common: "t1", server: "ArgoCD.example.com:8443"}, want: "t1"},
		"of this server's URL": {env: map[string]string{common: "t1", server: "https://argocd.example.com:8443/x"}, want: "t1"},
		"of another server":    {env: map[string]string{common: "t1", server: "other.example.com"}, fail: "is for another server"},
		"of another port":      {env: map[string]string{common: "t1", server: "argocd.example.com"}, fail: "is for another server"},
		"own, another server":  {env: map[string]string{common: "t1", own: "t2", server: "other.example.com"}, want: "t2"},
		"a line break":         {env: map[string]string{common: "t1\r\nHost: x"}, fail: "contains an invalid character"},
	} {
		f, err := New("https://argocd.example.com:8443", api.Options{Env: func(name string) string { return test.env[name] }})
		if test.fail != "" {
			require.ErrorContains(t, err, test.fail, name)
			assert.NotContains(t, err.Error(), "t1", name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, test.want, f.(*fleet).token, name)
	}
	_, err := New("https://argocd.example.com", api.Options{})
	require.ErrorContains(t, err, "no token: set ")
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault         http.HandlerFunc
		message, hint string
	}{
		"token":      {refused(401, "invalid session: token has expired"), "answers 401 Unauthorized: invalid session", "argocd account generate-token"},
		"permission": {refused(403, "permission denied: applications, get"), "answers 403 Forbidden: permission denied", "applications, get"},
		"path":       {refused(404, "Not Found"), "answers 404 Not Found", "check the URL"},
		"page":       {text("<!doctype html><html></html>"), "something other than a list of Applications", "check the URL"},
		"other JSON": {text(`{"error":"x","message":"y"}`), "something other than a list of Applications", "check the URL"},
		"a list":     {text(`[]`), "something other than a list of Applications", ""},
		"more JSON":  {text(`{"metadata":{},"items":[]}{}`), "something other than a list of Applications", ""},
		"odd items":  {text(`{"items":{}}`), "something other than a list of Applications", ""},
		"odd item":   {text(`{"items":["x"]}`), "something other than a list of Applications", ""},
		"more pages": {text(`{"metadata":{"continue":"abc"},"items":[]}`), "only some of its Applications", ""},
		"remaining":  {text(`{"metadata":{"remainingItemCount":3},"items":[]}`), "only some of its Applications", ""},
		"echo":       {refused(400, "bad header: Bearer "+token1+"\n::error::"), "answers 400 Bad Request: bad header: Bearer ***", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStandIn(t)
			s.faults = []http.HandlerFunc{test.fault}
			failure := s.failure(t)
			assert.Contains(t, failure.Message, "argocd:"+s.URL+" ")
			assert.Contains(t, failure.Message, test.message)
			assert.Contains(t, failure.Hint, test.hint)
			assert.False(t, failure.Temporary)
			assert.Len(t, s.asked, 1, "it is no use to ask again")
		})
	}
}

// Faults that pass are not seen; those that stay are, and may be asked about again.
func TestTriesAgain(t *testing.T) {
	t.Parallel()
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	half := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"metadata":{},"items":[`))
	}
	for name, test := range map[string]struct {
		fault   http.HandlerFunc
		message string
		waits   []time.Duration
	}{
		"server":     {refused(503, "upstream"), "answers 503 Service Unavailable: upstream", []time.Duration{time.Second, 2 * time.Second}},
		"limit":      {refused(429, "", "Retry-After", "7"), "answers 429 Too Many Requests", []time.Duration{7 * time.Second, 7 * time.Second}},
		"date":       {refused(503, "", "Retry-After", "Sun, 01 Mar 2026 12:00:05 GMT", "Date", "Sun, 01 Mar 2026 12:00:00 GMT"), "answers 503", []time.Duration{5 * time.Second, 5 * time.Second}},
		"connection": {hangUp, "cannot be reached: EOF", []time.Duration{time.Second, 2 * time.Second}},
		"half":       {half, "closed the connection early", []time.Duration{time.Second, 2 * time.Second}},
		"cut JSON":   {text(`{"metadata":{},"items":[{"metadata":{`), "closed the connection early", []time.Duration{time.Second, 2 * time.Second}},
		"empty":      {text(""), "closed the connection early", []time.Duration{time.Second, 2 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStandIn(t, file(t, "synced.json"))
			s.faults = []http.HandlerFunc{test.fault, test.fault}
			seen, err := s.look(t)
			require.NoError(t, err)
			assert.Len(t, seen, 1)
			assert.Equal(t, test.waits, s.slept)

			s.faults = []http.HandlerFunc{test.fault, test.fault, test.fault}
			failure := s.failure(t)
			assert.True(t, failure.Temporary)
			assert.Contains(t, failure.Message, test.message)
		})
	}
}

func TestLeavesLongWaitsToTheCaller(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"60": time.Minute, "soon": 0, "999999999": time.Hour, "Sun, 01 Mar 2026 12:30:00 GMT": 30 * time.Minute,
	} {
		s := newStandIn(t)
		s.faults = []http.HandlerFunc{refused(429, "slow down", "Retry-After", header, "Date", "Sun, 01 Mar 2026 12:00:00 GMT")}
		if want == 0 {
			_, err := s.look(t)
			require.NoError(t, err, "what cannot be read is as if it were not there")
			continue
		}
		failure := s.failure(t)
		assert.True(t, failure.Temporary)
		assert.Equal(t, want, failure.Wait)
		assert.Empty(t, s.slept)
	}
}

func TestEndsWithTheRun(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.faults = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		cancel()
		refused(503, "x")(w, r)
	}}
	f, err := New(s.URL, s.options())
	require.NoError(t, err)
	_, err = f.Query(ctx, deployment())
	require.ErrorIs(t, err, context.Canceled)
	_, err = f.Query(ctx, deployment())
	require.ErrorIs(t, err, context.Canceled)
	assert.Len(t, s.asked, 1)

	ctx, cancel = context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	_, err = f.Query(ctx, deployment())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Contains(t, err.Error(), "has not answered in time")
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	s.Close()
	failure := s.failure(t)
	assert.True(t, failure.Temporary)
	assert.Contains(t, failure.Message, "cannot be reached: dial tcp")
	assert.NotContains(t, failure.Message, "/api/v1")
}

func TestCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	s := newStandIn(t)
	for url, want := range map[string]string{
		server.URL: "is not trusted: x509: certificate signed by unknown authority",
		strings.Replace(s.URL, "http:", "https:", 1): "cannot be reached: http: server gave HTTP response to HTTPS client",
	} {
		f, err := New(url, s.options())
		require.NoError(t, err)
		_, err = f.Query(t.Context(), deployment())
		require.ErrorContains(t, err, want)
	}

	options := s.options()
	options.Transport = server.Client().Transport
	f, err := New(server.URL, options)
	require.NoError(t, err)
	_, err = f.Query(t.Context(), deployment())
	require.ErrorContains(t, err, "answers 404")
}

// The token is for one host: whoever else is named gets nothing.
func TestRedirects(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was asked, with %q", r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	to := func(url string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url, http.StatusTemporaryRedirect) }
	}

	s := newStandIn(t)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	for _, url := range []string{other.URL + "/login?state=x", "http://localhost:" + port, "/argocd/api/v1/applications"} {
		s.faults = []http.HandlerFunc{to(url)}
		failure := s.failure(t)
		assert.Contains(t, failure.Message, "answers 307 Temporary Redirect")
		assert.Contains(t, failure.Hint, "not of a login proxy")
		assert.False(t, failure.Temporary)
	}
}

func TestListCutAnywhere(t *testing.T) {
	t.Parallel()
	whole := string(newStandIn(t, app(syncedA+","+healthy), app("")).list())
	for end := 0; end < len(whole); end += 7 {
		s := newStandIn(t)
		cut := text(whole[:end])
		s.faults = []http.HandlerFunc{cut, cut, cut}
		assert.Contains(t, s.failure(t).Message, "closed the connection early", whole[:end])
	}
}
