package main

import (
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// aFault answers a request in some wrong way; next would answer it right.
type aFault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// answers with a status.
func answers(code int, header ...string) aFault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		http.Error(w, "no", code)
	}
}

// half of the right answer is sent, and then the end.
func half(end func(w http.ResponseWriter), length func(whole, sent int) int) aFault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		whole := httptest.NewRecorder()
		next.ServeHTTP(whole, r)
		body := whole.Body.Bytes()
		sent := body[:len(body)/2]
		w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
		w.Header().Set("Content-Length", strconv.Itoa(length(len(body), len(sent))))
		_, _ = w.Write(sent)
		end(w)
	}
}

// emptyAnswer is of the right kind and has nothing in it.
func emptyAnswer(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	kind := "application/x-git-upload-pack-result"
	if r.Method == http.MethodGet {
		kind = "application/x-git-upload-pack-advertisement"
	}
	w.Header().Set("Content-Type", kind)
}

// reset breaks the connection off.
func reset(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush()
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// faultsOfServers are what can go wrong with an answer, and the exit code that follows.
var faultsOfServers = map[string]aFault{
	"401":             answers(http.StatusUnauthorized),
	"403":             answers(http.StatusForbidden),
	"404":             answers(http.StatusNotFound),
	"429":             answers(http.StatusTooManyRequests, "Retry-After", "3600"),
	"500":             answers(http.StatusInternalServerError),
	"502":             answers(http.StatusBadGateway),
	"a login page":    answers(http.StatusOK, "Content-Type", "text/html"),
	"nothing":         emptyAnswer,
	"reset":           func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { reset(w) },
	"reset half-way":  half(reset, func(whole, _ int) int { return whole }),
	"half the answer": half(func(http.ResponseWriter) {}, func(_, sent int) int { return sent }),
}

// serve serves the repositories in a directory; from the nth request on, what is asked of the repository
// gets a fault for an answer.
func serve(t *testing.T, root string, nth int64, fault aFault) (url string) {
	t.Helper()
	handler, err := gitopstest.Handler(root)
	if err != nil { // it may be called from any goroutine
		t.Error(err)
		return ""
	}
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) >= nth {
			fault(w, r, handler)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// theReads are all that a run reads. A repository is asked for its branches, then for the trees of a
// commit, then for files.
var theReads = []struct {
	name, repo string
	// nth is the first request that goes wrong.
	nth    int64
	dryRun bool
}{
	{name: "the branches of the control plane", repo: "control-plane", nth: 1},
	{name: "main of the control plane", repo: "control-plane", nth: 2},
	{name: "the environment's branch", repo: "control-plane", nth: 4},
	{name: "an application", repo: "app-2", nth: 1},
	{name: "the trees of an application", repo: "app-2", nth: 2},
	{name: "the files of an application", repo: "app-3", nth: 3},
	{name: "the GitOps repository", repo: "gitops", nth: 1, dryRun: true},
	{name: "the GitOps branch", repo: "gitops", nth: 2, dryRun: true},
}

// TestR1UnknownIsNotEmpty lets each single read fail in each way. Whatever it is, the run fails, names
// the repository, and neither writes nor removes anything.
func TestR1UnknownIsNotEmpty(t *testing.T) {
	t.Parallel()
	matrix(t)
	root := acmeFleet(t)
	out, before := outputBefore(t, root)
	var wait sync.WaitGroup
	limit := make(chan struct{}, 16) // most of them wait for the next try
	faults := slices.Sorted(maps.Keys(faultsOfServers))
	for i, read := range theReads {
		for _, name := range spread(faults, i, 3) { // make test has a third of the faults for each read
			which := read.name + ": " + name
			url := serve(t, root, read.nth, faultsOfServers[name])
			wait.Go(func() {
				limit <- struct{}{}
				defer func() { <-limit }()
				args := acmeArgs(root, map[string]string{read.repo: url + "/" + read.repo + ".git"}, "render")
				if read.dryRun {
					args = append(args, "--dry-run")
				} else {
					args = append(args, "--output-dir", out)
				}
				got := kalypso(t, args...)
				assert.Equal(t, cli.ExitRemote, got.code, "%s: %s", which, got.stderr)
				assert.Contains(t, got.stderr, acme(read.repo)+" ", which)
				// What a dry run would add to nothing is listed, but not for what is published.
				assert.Equal(t, read.dryRun, got.stdout != "", which)
			})
		}
	}
	wait.Wait()
	assertUntouched(t, out, before, "all of them")
}

// TestR1UnreachableHosts: there is no such host, nobody listens, or it cannot be trusted.
func TestR1UnreachableHosts(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	out, before := outputBefore(t, root)
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(untrusted.Close)
	nobody := httptest.NewServer(http.NotFoundHandler())
	nobody.Close()
	for name, fault := range map[string]struct{ url, want string }{
		"DNS":     {"https://" + strings.Repeat("a", 64) + ".example.com", "no such host"}, // no name may be so long: nobody is asked
		"TLS":     {untrusted.URL, "certificate"},
		"refused": {nobody.URL, "connection refused"},
	} {
		for _, repo := range []string{"control-plane", "app-2", "gitops"} {
			args := acmeArgs(root, map[string]string{repo: fault.url + "/" + repo}, "render")
			if repo == "gitops" {
				args = append(args, "--dry-run")
			} else {
				args = append(args, "--output-dir", out)
			}
			got := finish(t, ourProgram(t, args, "GODEBUG=netdns=go"))
			assert.Equal(t, cli.ExitRemote, got.code, "%s: %s", name, got.stderr)
			assert.Contains(t, got.stderr, acme(repo)+" ", name)
			assert.Contains(t, got.stderr, fault.want, name)
			assertUntouched(t, out, before, name)
		}
	}
}

// TestR1ValidateFailsToo: what was not read is not valid.
func TestR1ValidateFailsToo(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	url := serve(t, root, 1, answers(http.StatusForbidden))
	got := kalypso(t, acmeArgs(root, map[string]string{"app-1": url + "/app-1.git"}, "validate")...)
	assert.Equal(t, cli.ExitRemote, got.code)
	assert.Contains(t, got.stderr, `WorkloadRegistration "app-1": `+acme("app-1")+" ")
	assert.Empty(t, got.stdout)
}

// TestR1WhatIsPublishedIsUnknown: a flaw is a warning in a file that is published as it is, and an error
// in a new one. If it cannot be known which, the run says why.
func TestR1WhatIsPublishedIsUnknown(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	files := acmeMain()
	files["templates.yaml"] = strings.Replace(files["templates.yaml"], "data: {branch:", "data: {unknown: '{{ .Labels.nothing }}', branch:", 1)
	addRepo(t, root, "control-plane", gitopstest.Commit{Files: files})

	out := filepath.Join(t.TempDir(), "out")
	url := serve(t, root, 1, answers(http.StatusForbidden))
	got := kalypso(t, acmeArgs(root, map[string]string{"gitops": url + "/gitops.git"}, "render", "--output-dir", out)...)
	assert.Equal(t, cli.ExitRemote, got.code, got.stderr)
	assert.Contains(t, got.stderr, "[no-value]")
	assert.Contains(t, got.stderr, `error: GitOpsRepo "dev": `+acme("gitops")+" ")
	assert.NoDirExists(t, out)

	got = kalypso(t, acmeArgs(root, nil, "render", "--output-dir", out)...)
	assert.Equal(t, cli.ExitModel, got.code, "it is known now that it is not published")
	assert.NotContains(t, got.stderr, "GitOpsRepo")
}

// TestR2GoneIsDecidedByPeople: an application repository that is gone is an error that says how to
// drop it on purpose. Then, and only then, its targets go.
func TestR2GoneIsDecidedByPeople(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	out, before := outputBefore(t, root)
	server := serve(t, root, 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) })
	gone := map[string]string{"app-2": server + "/gone.git"}

	got := kalypso(t, acmeArgs(root, gone, "render", "--output-dir", out)...)
	assert.Equal(t, cli.ExitRemote, got.code)
	assert.Contains(t, got.stderr, `control-plane@main:app-2.yaml:4:25: error: WorkloadRegistration "app-2": `+acme("app-2")+" ")
	assert.Contains(t, got.stderr, "if the repository was deleted, remove the WorkloadRegistration")
	assertUntouched(t, out, before, "nothing goes by itself")

	files := acmeMain()
	delete(files, "app-2.yaml")
	addRepo(t, root, "control-plane", gitopstest.Commit{Files: files})
	mustRun(t, acmeArgs(root, gone, "render", "--output-dir", out)...)
	assert.NoDirExists(t, filepath.Join(out, "edge", "app-2-web"))
	assert.DirExists(t, filepath.Join(out, "edge", "app-1-web"))
}

// TestR19PinnedReads pushes to an application repository between any two requests of a run. One
// commit is compiled, and it is the one that the result names.
func TestR19PinnedReads(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		filter string
		nth    int64
	}{
		{filter: "true", nth: 2},  // before the trees are asked for
		{filter: "true", nth: 3},  // before the files are
		{filter: "false", nth: 2}, // before all of it is
	} {
		root := acmeFleet(t)
		repo := filepath.Join(root, "app-2.git")
		_, err := gitopstest.Git(repo, "config", "uploadpack.allowFilter", tc.filter)
		require.NoError(t, err)
		first, err := gitopstest.Git(repo, "rev-parse", "main")
		require.NoError(t, err)
		var push sync.Once
		url := serve(t, root, tc.nth, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			push.Do(func() {
				_, err := gitopstest.Add(repo, gitopstest.Commit{Files: acmeApp("app-2", "pushed")})
				assert.NoError(t, err)
			})
			next.ServeHTTP(w, r)
		})
		out := filepath.Join(t.TempDir(), "out")
		args := acmeArgs(root, map[string]string{"app-2": url + "/app-2.git"}, "render", "-o", "json", "--output-dir", out)
		got := mustRun(t, args...)
		assert.Equal(t, strings.TrimSpace(first), sourceCommit(t, got.stdout, "app-2"))
		assert.Contains(t, readTree(t, out)["edge/app-2-web/reconciler.yaml"], "branch: main")

		got = mustRun(t, args...)
		assert.NotEqual(t, strings.TrimSpace(first), sourceCommit(t, got.stdout, "app-2"), "the push was made")
		assert.Contains(t, readTree(t, out)["edge/app-2-web/reconciler.yaml"], "branch: pushed")
	}
}

// sourceCommit is the commit that a result names for a repository.
func sourceCommit(t *testing.T, stdout, repo string) string {
	t.Helper()
	var result struct {
		Environments []struct{ Sources []session.SourceResult }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &result))
	for _, source := range result.Environments[0].Sources {
		if source.Repo == acme(repo) {
			return source.Commit
		}
	}
	t.Fatalf("no source %s in %s", repo, stdout)
	return ""
}

// TestR26Deadline: a server that never answers, at each read. The run ends with its own code when the
// time is up, says what it was about and which repository it waited for, and leaves everything alone.
func TestR26Deadline(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	out, before := outputBefore(t, root)
	var wait sync.WaitGroup
	for _, read := range theReads {
		wait.Go(func() {
			doing := "reading dev"
			switch {
			case read.dryRun:
				doing = "comparing dev with the published output"
			case read.nth < 4 && read.repo == "control-plane":
				doing = "reading the control plane"
			}
			// On a slow machine the time may be up before the server was asked: then with more time.
			for timeout := 2 * time.Second; timeout < safetyNet; timeout *= 3 {
				got, asked := runAgainstSilence(t, root, read.repo, read.nth, timeout, out, read.dryRun)
				if !asked {
					continue
				}
				assert.Equal(t, cli.ExitTimeUp, got.code, "%s: %s", read.name, got.stderr)
				assert.Contains(t, got.stderr, "error: timed out after "+timeout.String()+", while "+doing+" [time-is-up]", read.name)
				assert.Contains(t, got.stderr, "reading "+acme(read.repo)+" ", read.name)
				assert.Contains(t, got.stderr, "nothing was written", read.name)
				assert.NotContains(t, got.stderr, "warning", "nothing is concluded from what was not read")
				assert.Empty(t, got.stdout, read.name)
				return
			}
			t.Error(read.name, "the server was never asked")
		})
	}
	wait.Wait()
	assertUntouched(t, out, before, "all of them")
	assertDocumented(t, cli.ExitTimeUp)
}

// runAgainstSilence runs with a server that does not answer from the nth request on, and reports whether
// that one came.
func runAgainstSilence(t *testing.T, root, repo string, nth int64, timeout time.Duration, out string, dryRun bool) (got outcome, asked bool) {
	t.Helper()
	var silent atomic.Bool
	url := serve(t, root, nth, func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body) // only then is it noticed that the client leaves
		silent.Store(true)
		<-r.Context().Done()
	})
	args := acmeArgs(root, map[string]string{repo: url + "/" + repo + ".git"}, "render", "--timeout", timeout.String())
	if dryRun {
		args = append(args, "--dry-run")
	} else {
		args = append(args, "--output-dir", out)
	}
	got = kalypso(t, args...)
	return got, silent.Load()
}
