package main

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
)

// TestR7PushIsFinal: what cannot be listed any more after the push takes nothing back. If something else has
// moved meanwhile, that is published too.
func TestR7PushIsFinal(t *testing.T) {
	t.Parallel()
	for _, moves := range []bool{false, true} {
		root := acmeFleet(t)
		var pushed atomic.Bool
		server := gitopstest.NewServer(t, func(http.Handler) http.Handler {
			handler, err := gitopstest.Handler(root)
			require.NoError(t, err)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if pushed.Load() && strings.HasPrefix(r.URL.Path, "/app-2.git/") {
					http.Error(w, "gone", http.StatusNotFound)
					return
				}
				handler.ServeHTTP(w, r)
				if strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost && !pushed.Swap(true) && moves {
					addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-1", "new")})
				}
			})
		})
		got := kalypso(t, "render", "--env", "dev", "--direct", "--keep-last-good", "--control-plane", acme("control-plane"), "--replace", acme("*")+"="+server.URL+"/*.git")
		if moves {
			assert.Equal(t, cli.ExitModel, got.code, got.stderr)
			assert.Contains(t, got.stderr, `WorkloadRegistration "app-2" is quarantined`, "all is read again")
			assert.Contains(t, publishedAcme(t, root, "dev")["edge/app-1-web/reconciler.yaml"], "branch: new")
			addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-1", "main")})
			pushed.Store(false)
			got = kalypso(t, "render", "--env", "dev", "--direct", "--control-plane", acme("control-plane"), "--replace", acme("*")+"="+server.URL+"/*.git")
			assert.Equal(t, cli.ExitRemote, got.code, got.stderr)
			assert.Contains(t, got.stderr, "1 error: not everything was published")
			continue
		}
		assert.Contains(t, got.stdout, "pushed ")
		assert.Equal(t, cli.ExitDone, got.code, got.stderr)
		assert.Contains(t, got.stderr, "cannot determine whether its sources have changed since")
		assert.Contains(t, got.stderr, "[unverified-sources]")
		assert.Contains(t, publishedAcme(t, root, "dev"), "edge/app-2-web/reconciler.yaml")
	}
}

// TestR23HeldIsNotListedAgain: what nothing could be read of is not waited for once more after the push.
func TestR23HeldIsNotListedAgain(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-1", "new")})
	var asked atomic.Int32
	var pushed atomic.Bool
	server := gitopstest.NewServer(t, func(http.Handler) http.Handler {
		handler, err := gitopstest.Handler(root)
		require.NoError(t, err)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/app-2.git/") && pushed.Load() {
				asked.Add(1)
			}
			if strings.HasPrefix(r.URL.Path, "/app-2.git/git-upload-pack") {
				http.Error(w, "no", http.StatusForbidden)
				return
			}
			handler.ServeHTTP(w, r)
			if strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost {
				pushed.Store(true)
			}
		})
	})
	got := kalypso(t, "render", "--env", "dev", "--direct", "--keep-last-good", "--control-plane", acme("control-plane"), "--replace", acme("*")+"="+server.URL+"/*.git")
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.True(t, pushed.Load())
	assert.Zero(t, asked.Load())
	assert.Contains(t, publishedAcme(t, root, "dev")["edge/app-1-web/reconciler.yaml"], "branch: new")
}

// TestR23SlowTenant: a server that says nothing is a registration that cannot be read. It is given up once, whatever of it
// is wanted, and the others are published.
func TestR23SlowTenant(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-1", "new")})
	var asked atomic.Int32
	server := gitopstest.NewServer(t, func(http.Handler) http.Handler {
		handler, err := gitopstest.Handler(root)
		require.NoError(t, err)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/app-2.git/") {
				asked.Add(1)
				silent(w, r, nil)
				return
			}
			handler.ServeHTTP(w, r)
		})
	})
	var stdout, stderr bytes.Buffer
	e := cli.System()
	e.Stdout, e.Stderr, e.Limits = &stdout, &stderr, wire.Limits{Stall: 2 * time.Second}
	e.Env = func(string) string { return "" }
	e.Sleep = func(context.Context, time.Duration) error { return nil }
	code := run(t.Context(), []string{
		"render", "--env", "dev", "--direct", "--keep-last-good", "--control-plane", acme("control-plane"), "--replace", acme("*") + "=" + server.URL + "/*.git",
	}, e)
	assert.Equal(t, cli.ExitModel, code, stderr.String())
	assert.Contains(t, stderr.String(), `WorkloadRegistration "app-2" is quarantined`)
	assert.LessOrEqual(t, asked.Load(), int32(3), "the tries of one request")
	files := publishedAcme(t, root, "dev")
	assert.Contains(t, files["edge/app-1-web/reconciler.yaml"], "branch: new")
	assert.Contains(t, files, "edge/app-2-web/reconciler.yaml")
}
