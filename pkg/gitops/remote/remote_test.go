package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// history is a repository with five commits on main and one that no branch has.
func history(t *testing.T, server *gitopstest.Server, name string) (url string, ids []string, lost string) {
	t.Helper()
	var commits []gitopstest.Commit
	for i := range 5 {
		commits = append(commits, gitopstest.Commit{Files: gitopstest.Files{"a.yaml": fmt.Sprintf("%d\n", i), "b.bin": strings.Repeat("b", 100)}})
	}
	url, ids = server.Add(name, append(commits, gitopstest.Commit{Branch: "gone", Files: gitopstest.Files{"a.yaml": "gone\n"}})...)
	gitopstest.RunGit(t, server.Dir(name), "update-ref", "-d", "refs/heads/gone")
	return url, ids[:5], ids[5]
}

func TestServersWithLess(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		filter bool
		any    bool
	}{{"both", true, true}, {"no filter", false, true}, {"no ids", true, false}, {"neither", false, false}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			server := gitopstest.NewServer(t)
			url, ids, _ := history(t, server, "repo")
			server.Configure("repo", "uploadpack.allowFilter", fmt.Sprint(tc.filter))
			server.Configure("repo", "uploadpack.allowAnySHA1InWant", fmt.Sprint(tc.any))
			r := newReader(t, Options{})
			tip := readOne(t, r, model.Ref{Repo: url, Branch: "main"})
			assert.Equal(t, "4\n", gitopstest.Content(t, tip.FS, "a.yaml"))
			assert.Len(t, gitopstest.Content(t, tip.FS, "b.bin"), 100)
			old := readOne(t, r, model.Ref{Repo: url, Branch: "main", Commit: ids[1]})
			assert.Equal(t, ids[1], old.Commit)
			assert.Equal(t, "1\n", gitopstest.Content(t, old.FS, "a.yaml"))
			assert.Equal(t, "main", old.Ref.Branch)
		})
	}
}

func TestFiveDifferentErrors(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, _, lost := history(t, server, "repo")
	server.Add("empty")
	closed := gitopstest.NewServer(t, func(next http.Handler) http.Handler { return gitopstest.BasicAuth("secret", next) })
	private, _ := closed.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	dead := httptest.NewServer(nil)
	dead.Close()
	at := func(repo string) string { name, _ := giturl.NormalURL(repo); return name }

	for _, tc := range []struct {
		name, repo string
		ref        model.Ref
		rule       string
		message    string
		hint       string
		remote     bool
	}{
		{"branch", url, model.Ref{Branch: "mian"}, giterror.RuleBranchNotFound, `branch "mian" not found in ` + at(url), `did you mean "main"?`, false},
		{"empty repository", server.URL + "/empty.git", model.Ref{Branch: "main"}, giterror.RuleBranchNotFound, `branch "main" not found in `, "push a first commit to it", false},
		{"commit", url, model.Ref{Branch: "main", Commit: strings.Repeat("1", 40)}, giterror.RuleCommitNotFound, `commit ` + strings.Repeat("1", 40) + ` not found on branch "main" of ` + at(url), "", false},
		{"commit that no branch has", url, model.Ref{Branch: "main", Commit: strings.Replace(lost, lost[:1], "0", 1)}, giterror.RuleCommitNotFound, "not found on branch", "", false},
		{"path", url, model.Ref{Branch: "main", Path: "a.yml"}, giterror.RulePathNotFound, at(url) + ` has no path "a.yml"`, `did you mean "a.yaml"?`, false},
		{"credential", private, model.Ref{Branch: "main"}, giterror.RuleAccessDenied, at(private) + ` was not found, or the credentials may not see it: no credential was sent (who are you?)`, "set KALYPSO_SOURCE_TOKEN and KALYPSO_TOKEN_HOSTS=" + gitopstest.Authority(t, private) + ", or use netrc or a git credential helper", true},
		{"repository", server.URL + "/nope", model.Ref{Branch: "main"}, giterror.RuleAccessDenied, "/nope was not found, or the credentials may not see it", "set KALYPSO_SOURCE_TOKEN and KALYPSO_TOKEN_HOSTS=" + gitopstest.Authority(t, server.URL) + ", or use netrc or a git credential helper", true},
		{"host", dead.URL + "/x", model.Ref{Branch: "main"}, giterror.RuleHostUnreachable, "cannot be reached: connection refused", "", true},
	} {
		ref := tc.ref
		ref.Repo, ref.Role, ref.At, ref.Subject = "https://example.com/shop", model.Tenant, yamlPlace(), `WorkloadRegistration "shop"`
		d := readError(t, newReader(t, Options{Replace: []string{"https://example.com/shop=" + tc.repo}}), ref)
		assert.Equal(t, tc.rule, d.Rule, tc.name)
		assert.Equal(t, yamlPlace(), d.At, tc.name)
		assert.Regexp(t, `^WorkloadRegistration "shop": .*https://example\.com/shop \(read from `, d.Message)
		assert.Contains(t, strings.ReplaceAll(d.Message, "https://example.com/shop (read from "+at(tc.repo)+")", at(tc.repo)), tc.message, tc.name)
		assert.Equal(t, tc.hint, d.Hint, tc.name)
		assert.Equal(t, tc.remote, giterror.IsRemote(d.Rule), tc.name)
	}
}

// faultyTransport does something else instead of the nth request.
type faultyTransport struct {
	mu    sync.Mutex
	calls int
	fail  func(call int) (*http.Response, error)
}

func (f *faultyTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	f.mu.Lock()
	f.calls++
	call := f.calls
	f.mu.Unlock()
	if response, err := f.fail(call); response != nil || err != nil {
		if response != nil {
			response.Request = request
		}
		return response, err
	}
	return http.DefaultTransport.RoundTrip(request)
}

func status(code int, header ...string) *http.Response {
	recorder := httptest.NewRecorder()
	for i := 0; i+1 < len(header); i += 2 {
		recorder.Header().Set(header[i], header[i+1])
	}
	recorder.WriteHeader(code)
	return recorder.Result()
}

// cut is an answer that breaks off.
func cut(text string) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"application/x-git-upload-pack-advertisement"}},
		Body:       io.NopCloser(io.MultiReader(strings.NewReader(text), iotest.ErrReader(syscall.ECONNRESET))),
	}
}

func TestFaultsThatPass(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, _ := server.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	for name, fault := range map[string]func() (*http.Response, error){
		"502":           func() (*http.Response, error) { return status(502), nil },
		"503":           func() (*http.Response, error) { return status(503, "Retry-After", "2"), nil },
		"429":           func() (*http.Response, error) { return status(429), nil },
		"reset":         func() (*http.Response, error) { return nil, syscall.ECONNRESET },
		"dropped":       func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"reset mid-way": func() (*http.Response, error) { return cut("001e# service=git-up"), nil },
		"DNS hiccup":    func() (*http.Response, error) { return nil, &net.DNSError{IsTemporary: true} },
	} {
		for nth := 1; nth <= 3; nth++ {
			transport := &faultyTransport{fail: func(call int) (*http.Response, error) {
				if call == nth {
					return fault()
				}
				return nil, nil
			}}
			var slept []time.Duration
			r := newReader(t, Options{Transport: transport, Sleep: func(_ context.Context, d time.Duration) error {
				slept = append(slept, d)
				return nil
			}})
			source := readOne(t, r, model.Ref{Repo: url, Branch: "main"})
			assert.Equal(t, "kind: Workload\n", gitopstest.Content(t, source.FS, "workload/shop.yaml"), "%s %d", name, nth)
			require.Len(t, slept, 1, "%s %d", name, nth)
			assert.Less(t, slept[0], 3*time.Second)
			if name == "503" {
				assert.Equal(t, 2*time.Second, slept[0])
			}
		}
	}
}

func TestFaultsThatStay(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, _ := server.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	for _, tc := range []struct {
		name    string
		fault   func() (*http.Response, error)
		calls   int
		rule    string
		message string
	}{
		{"502", func() (*http.Response, error) { return status(502), nil }, 3, giterror.RuleRemoteFailed, "the server answers 502 Bad Gateway"},
		{"429", func() (*http.Response, error) { return status(429, "Retry-After", "3600"), nil }, 1, giterror.RuleRemoteFailed, "429 Too Many Requests"},
		{"secondary rate limit", func() (*http.Response, error) { return status(403, "Retry-After", "10"), nil }, 3, giterror.RuleRemoteFailed, "403"},
		{"401", func() (*http.Response, error) { return status(401), nil }, 1, giterror.RuleAccessDenied, "no credential was sent"},
		{"403", func() (*http.Response, error) { return status(403), nil }, 1, giterror.RuleAccessDenied, "no credential was sent"},
		{"404", func() (*http.Response, error) { return status(404), nil }, 1, giterror.RuleAccessDenied, "was not found"},
		{"418", func() (*http.Response, error) { return status(418), nil }, 1, giterror.RuleRemoteFailed, "418"},
		{"login page", func() (*http.Response, error) { return status(200, "Content-Type", "text/html"), nil }, 1, giterror.RuleRemoteFailed, `does not answer as a git server does (but with "text/html")`},
		{"reset", func() (*http.Response, error) { return nil, syscall.ECONNRESET }, 3, giterror.RuleHostUnreachable, "connection reset"},
		{"no such host", func() (*http.Response, error) { return nil, &net.DNSError{IsNotFound: true, Name: "x"} }, 1, giterror.RuleHostUnreachable, "no such host"},
		{"nonsense", func() (*http.Response, error) {
			r := status(200, "Content-Type", "application/x-git-upload-pack-advertisement")
			r.Body = io.NopCloser(strings.NewReader("this is no packet line at all"))
			return r, nil
		}, 1, giterror.RuleRemoteFailed, "the server reports"},
	} {
		transport := &faultyTransport{fail: func(int) (*http.Response, error) { return tc.fault() }}
		d := readError(t, newReader(t, Options{Transport: transport}), model.Ref{Repo: url, Branch: "main"})
		assert.Equal(t, tc.rule, d.Rule, tc.name)
		assert.Contains(t, d.Message, tc.message, tc.name)
		assert.Equal(t, tc.calls, transport.calls, tc.name)
	}
}

func TestTLSFailure(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	d := readError(t, newReader(t, Options{}), model.Ref{Repo: server.URL + "/x", Branch: "main"})
	assert.Equal(t, giterror.RuleHostUnreachable, d.Rule)
	assert.Contains(t, d.Message, "certificate")
	assert.Contains(t, d.Hint, "SSL_CERT_FILE")
}

func TestSilentServer(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	r := newReader(t, Options{Limits: wire.Limits{Stall: 20 * time.Millisecond}})
	d := readError(t, r, model.Ref{Repo: server.URL + "/x", Branch: "main"})
	assert.Equal(t, giterror.RuleHostUnreachable, d.Rule)
	assert.Contains(t, d.Message, "cannot be reached: timed out")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	arrived := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{}; <-hang }))
	defer server.Close()
	defer close(hang)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	refs := []model.Ref{{Repo: server.URL + "/x", Branch: "main"}, {Repo: server.URL + "/x", Branch: "dev"}}
	r := newReader(t, Options{})
	sources, list := r.Read(ctx, refs)
	assert.Equal(t, []*model.Source{nil, nil}, sources)
	require.Len(t, list, 2)
	name, err := giturl.NormalURL(server.URL + "/x")
	require.NoError(t, err)
	for _, d := range list {
		assert.Contains(t, d.Message, "reading "+name+" was interrupted", "whoever waits knows what for")
	}
}

// TestR26SilentHelper: a run times out while a credential helper does not answer. That is reported neither as a missing
// credential nor as a missing repository.
func TestR26SilentHelper(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer server.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	r := newReader(t, Options{Helper: func(ctx context.Context, _, _, _, _ string) (string, string, error) {
		cancel(errors.New("timed out"))
		<-ctx.Done()
		return "", "", ctx.Err()
	}})
	_, list := r.Read(ctx, []model.Ref{{Repo: server.URL + "/x", Branch: "main"}})
	require.Len(t, list, 1)
	assert.Equal(t, giterror.RuleRemoteFailed, list[0].Rule)
	assert.Contains(t, list[0].Message, "/x was interrupted: timed out")
}

func TestLaterFileIsFetchedWithinTheContext(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, _ := server.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	ctx, cancel := context.WithCancel(t.Context())
	sources, list := newReader(t, Options{}).Read(ctx, []model.Ref{{Repo: url, Branch: "main"}})
	require.Empty(t, list)
	cancel()
	_, err := fs.ReadFile(sources[0].FS, "README.md")
	require.ErrorContains(t, err, "interrupted")
	assert.Equal(t, "docs/\n", gitopstest.Content(t, sources[0].FS, ".sourceignore"), "what is here stays readable")
}

func TestPackBeyondTheLimits(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, _ := server.Add("repo", gitopstest.Commit{Files: gitopstest.Files{"a.yaml": strings.Repeat("x", 100_000), "b.yaml": strings.Repeat("y", 100_000)}})
	d := readError(t, newReader(t, Options{Limits: wire.Limits{Total: 150_000}}), model.Ref{Repo: url, Branch: "main"})
	assert.Equal(t, giterror.RulePackRefused, d.Rule)
	assert.Contains(t, d.Message, "is refused: it has more than 150000 bytes")
	d = readError(t, newReader(t, Options{Limits: wire.Limits{Objects: 1}}), model.Ref{Repo: url, Branch: "main"})
	assert.Equal(t, giterror.RulePackRefused, d.Rule)
	assert.Contains(t, d.Message, "it has 2 objects, more than 1")
}

func TestDefaultBranchAndLFS(t *testing.T) {
	t.Parallel()
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 12\n"
	server := gitopstest.NewServer(t)
	url, _ := server.Add("repo", gitopstest.Commit{Branch: "trunk", Files: gitopstest.Files{"a.yaml": pointer}})
	source := readOne(t, newReader(t, Options{}), model.Ref{Repo: url})
	assert.Equal(t, "trunk", source.Ref.Branch)
	assert.Equal(t, pointer, gitopstest.Content(t, source.FS, "a.yaml"), "Git LFS pointers are delivered as they are")
}

func TestDeltas(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	files := gitopstest.Files{}
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "line %d\n", i*7919%10007)
		if i%100 == 0 {
			files[fmt.Sprintf("f%d.yaml", i)] = b.String() + "end\n"
		}
	}
	url, _ := server.Add("repo", gitopstest.Commit{Files: files})
	gitopstest.RunGit(t, server.Dir("repo"), "repack", "-adfq", "--depth=50", "--window=50")
	for _, filter := range []string{"true", "false"} {
		server.Configure("repo", "uploadpack.allowFilter", filter)
		source := readOne(t, newReader(t, Options{}), model.Ref{Repo: url, Branch: "main"})
		for name, text := range files {
			require.Equal(t, text, gitopstest.Content(t, source.FS, name))
		}
	}
}

func TestErrorsUnwrapToTheirCause(t *testing.T) {
	t.Parallel()
	e := giterror.Unreachable("example.com", fmt.Errorf("dial: %w", syscall.ECONNREFUSED))
	require.ErrorIs(t, e, syscall.ECONNREFUSED)
}

func TestTheFirstFormOfANameIsUsed(t *testing.T) {
	t.Parallel()
	r := newReader(t, Options{})
	r.Prepare([]model.Ref{
		{Repo: "git@github.com:acme/a.git"},
		{Repo: "https://github.com/acme/a"},
		{Repo: "https://github.com/acme/b"},
		{Repo: "git@github.com:acme/b.git"},
	})
	for name, want := range map[string]string{"https://github.com/acme/a": "ssh", "git@github.com:acme/b": "https"} {
		at, err := r.Locate(model.Ref{Repo: name})
		require.NoError(t, err)
		assert.Equal(t, want, r.form(at).Scheme)
	}
}
