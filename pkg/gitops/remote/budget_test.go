package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// twoBranches is a repository with 30 kB on each of two branches.
func twoBranches(t *testing.T, server *gitopstest.Server) (url string) {
	t.Helper()
	url, _ = server.Add("repo",
		gitopstest.Commit{Files: gitopstest.Files{"a.yaml": "a: " + strings.Repeat("a", 30_000)}},
		gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"b.yaml": "b: " + strings.Repeat("b", 30_000)}})
	return url
}

func tenantRefs(url string) []model.Ref {
	return []model.Ref{
		{Repo: url, Branch: "main", Role: model.Tenant, At: yamlPlace(), Subject: "one"},
		{Repo: url, Branch: "dev", Role: model.Tenant, At: yamlPlace(), Subject: "two"},
	}
}

// fromYAML allows the URL of a server on loopback in YAML.
func fromYAML(t *testing.T, url string, refs []model.Ref) (replace []string, named []model.Ref) {
	t.Helper()
	for i := range refs {
		refs[i].Repo = "https://example.com/shop"
	}
	return []string{"https://example.com/shop=" + url}, refs
}

// TestS8TenantTotalIsOverAllAnswers: each branch by itself is within the limit, both are not. Then neither is read, and
// nothing is asked again; the platform's reading of the same repository has other limits.
func TestS8TenantTotalIsOverAllAnswers(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url := twoBranches(t, server)
	replace, refs := fromYAML(t, url, tenantRefs(url))
	limits := wire.Limits{Tenant: wire.TenantLimits{Total: 50_000}}
	for _, ref := range refs {
		readOne(t, newReader(t, Options{Replace: replace, Limits: limits}), ref)
	}

	r := newReader(t, Options{Replace: replace, Limits: limits})
	sources, list := r.Read(t.Context(), refs)
	assert.Equal(t, []*model.Source{nil, nil}, sources)
	assertRefused := func(list diag.List) {
		t.Helper()
		require.Len(t, list, 2)
		for _, d := range list {
			assert.Equal(t, giterror.RulePackRefused, d.Rule)
			assert.Equal(t, yamlPlace(), d.At)
			assert.Contains(t, d.Message, "is refused: it has more than 50000 bytes")
			assert.Equal(t, "--tenant-limit repository-bytes=NUMBER allows more", d.Hint)
		}
	}
	assertRefused(list)
	before := len(server.Requests())
	_, list = r.Read(t.Context(), refs)
	assertRefused(list)
	assert.Len(t, server.Requests(), before, "it is not asked again")
	later := newReader(t, Options{Replace: replace, Limits: limits})
	later.Continue(r)
	_, list = later.Read(t.Context(), refs)
	assertRefused(list)
	assert.Len(t, server.Requests(), before, "not in the whole run")

	for _, ref := range refs {
		ref.Role = model.Base
		readOne(t, r, ref)
	}
}

// TestTenantTotalIsOfWhatIsKept: an answer that breaks off does not count.
func TestTenantTotalIsOfWhatIsKept(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	var text strings.Builder // which cannot be compressed to almost nothing
	for i := range 40_000 {
		fmt.Fprintf(&text, "%08x\n", uint32(i)*2654435761)
	}
	url, _ := server.Add("repo", gitopstest.Commit{Files: gitopstest.Files{"a.yaml": text.String()}})
	var posts atomic.Int64
	transport := roundTrip(func(request *http.Request) (*http.Response, error) {
		answer, err := http.DefaultTransport.RoundTrip(request)
		if err == nil && request.Method == http.MethodPost && posts.Add(1)%2 == 0 {
			answer.Body = io.NopCloser(io.MultiReader(io.LimitReader(answer.Body, 100_000), iotest.ErrReader(errors.New("reset"))))
		}
		return answer, err
	})
	r := newReader(t, Options{Transport: transport, Limits: wire.Limits{Tenant: wire.TenantLimits{Total: 400_000}}})
	readOne(t, r, model.Ref{Repo: url, Branch: "main", Role: model.Tenant})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestS8TenantTime: the server says nothing, sends a byte now and then, or has us wait. The time of a repository is for
// all of that together, and then it is not asked again.
func TestS8TenantTime(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"silence": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"drops":   drip,
		"pauses": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "59")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
	} {
		var requests atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			answer(w, r)
		}))
		defer server.Close()
		replace, refs := fromYAML(t, server.URL+"/x", tenantRefs(""))
		r := newReader(t, Options{Replace: replace, Sleep: retryafter.Sleep, Limits: wire.Limits{Tenant: wire.TenantLimits{Time: 100 * time.Millisecond}}})
		for range 2 {
			_, list := r.Read(t.Context(), refs)
			require.Len(t, list, 2)
			for _, d := range list {
				assert.Equal(t, giterror.RuleRemoteFailed, d.Rule, name)
				assert.Equal(t, yamlPlace(), d.At, name)
				assert.Contains(t, d.Message, "is no longer read in this run: its server took more than 100ms", name)
				assert.Equal(t, "--tenant-limit seconds=NUMBER allows more time", d.Hint, name)
			}
		}
		assert.LessOrEqual(t, requests.Load(), int64(1), name)
	}
}

// drip sends a byte now and then, of a line that is long.
func drip(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	_, _ = io.WriteString(w, "fff0")
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, "x")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(time.Millisecond)
	}
}

// TestS8TenantThroughput: a byte now and then is no sign of life.
func TestS8TenantThroughput(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(drip))
	defer server.Close()
	r := newReader(t, Options{Limits: wire.Limits{Stall: 50 * time.Millisecond}})
	d := readError(t, r, model.Ref{Repo: server.URL + "/x", Branch: "main", Role: model.Tenant})
	assert.Equal(t, giterror.RuleHostUnreachable, d.Rule)
	assert.Contains(t, d.Message, "timed out")
}

// TestS8SlowTenantsDoNotDelayOthers: as many as may be asked at once are silent.
func TestS8SlowTenantsDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url := twoBranches(t, server)
	var arrived atomic.Int64
	all := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) == 4 {
			close(all)
		}
		<-r.Context().Done()
	}))
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r := newReader(t, Options{Limits: wire.Limits{Parallel: 2, Slow: time.Millisecond}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		var refs []model.Ref
		for i := range 4 {
			refs = append(refs, model.Ref{Repo: fmt.Sprintf("%s/%d", silent.URL, i), Branch: "main", Role: model.Tenant})
		}
		r.Read(ctx, refs)
	}()
	<-all
	readOne(t, r, model.Ref{Repo: url, Branch: "main", Role: model.Tenant})
	cancel()
	<-done
}

// TestS8TenantAnswersThatAreHeld bounds what comes before a pack: references, and what is shallow.
func TestS8TenantAnswersThatAreHeld(t *testing.T) {
	t.Parallel()
	tip := strings.Repeat("1", 40)
	flood := func(w io.Writer, line string) {
		line = fmt.Sprintf("%04x%s\n", len(line)+5, line)
		for range 4 * wire.MaxTenantAdvertisement / len(line) {
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
		}
	}
	for what, lines := range map[string]struct{ refs, answer string }{
		"its list of branches and tags has": {tip + " refs/heads/other", ""},
		"its response before the pack has":  {"", "shallow " + tip},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
				flood(w, lines.answer)
				return
			}
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			_, _ = fmt.Fprintf(w, "%04x%s refs/heads/main\x00shallow filter\n", 4+40+17+15, tip)
			if lines.refs != "" {
				flood(w, lines.refs)
			}
			_, _ = io.WriteString(w, "0000")
		}))
		defer server.Close()
		d := readError(t, newReader(t, Options{}), model.Ref{Repo: server.URL + "/x", Branch: "main", Role: model.Tenant})
		assert.Equal(t, giterror.RulePackRefused, d.Rule, what)
		assert.Contains(t, d.Message, "is refused: "+what+" more than 16 MiB")
		assert.Empty(t, d.Hint, "it is not settable")
	}
}
