package fleet_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

// ask gets a document from a server that answers with a handler; slept are the waits in between.
func ask(t *testing.T, ctx context.Context, handler http.HandlerFunc) (slept []time.Duration, failure *promote.FleetError) { //nolint:revive // t comes first
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	c := &api.Client{
		Options: api.Options{Sleep: func(ctx context.Context, d time.Duration) error { slept = append(slept, d); return ctx.Err() }},
		Subject: "the server", Send: api.NewSender(nil, 1<<20).Do, Secrets: new(credentials.Scrubber),
	}
	c.Secrets.Add("hush-hush")
	var document struct{ A string }
	_, failure = c.Get(ctx, server.URL, nil, "a document", &document)
	return slept, failure
}

// An answer without end is not read to its end.
func TestBounded(t *testing.T) {
	t.Parallel()
	slept, failure := ask(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"a":"`))
		for piece := []byte(strings.Repeat("x", 1<<16)); ; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	require.NotNil(t, failure)
	assert.Equal(t, "the server returns more than 1 MiB", failure.Message)
	assert.False(t, failure.Temporary)
	assert.Empty(t, slept)
}

// A server that says nothing is not waited for beyond the deadline, nor asked again at once.
func TestDeadline(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	slept, failure := ask(t, ctx, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	require.NotNil(t, failure)
	require.ErrorIs(t, failure, context.DeadlineExceeded)
	assert.Equal(t, "the server has not answered in time", failure.Message)
	assert.True(t, failure.Temporary)
	assert.Empty(t, slept)
}

// What a server says has no secret in it, and is a line.
func TestScrubbed(t *testing.T) {
	t.Parallel()
	_, failure := ask(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"message":"who is hush-hush?\n::error::\u001b[2J"}`))
	})
	require.NotNil(t, failure)
	assert.Equal(t, "the server answers 403 Forbidden: who is ***? ::error::[2J", failure.Message)
}
