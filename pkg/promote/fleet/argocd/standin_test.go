package argocd

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

const (
	token1  = "eyJhbGciOi.argocd-token-of-the-test"
	repo    = "https://github.com/acme/gitops"
	commitA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	commitB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func deployment() promote.Deployment {
	return promote.Deployment{Repo: repo, Branch: "stage", Path: ".", Commit: commitA, Environment: "stage"}
}

// standIn is an Argo CD as far as it lists Applications, below a prefix. What it answers is as the API is described.
type standIn struct {
	*httptest.Server
	prefix string
	// items are the Applications, as JSON.
	items []string
	// meta is the metadata of the list, as JSON.
	meta string
	// faults are answers to give first, instead.
	faults []http.HandlerFunc

	mu     sync.Mutex
	asked  []*http.Request
	slept  []time.Duration
	schema *jsonschema.Schema
	t      *testing.T
}

// schema reads the description of the answers once.
var schema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	return jsonschema.NewCompiler().Compile("testdata/applications.schema.json")
})

func newStandIn(t *testing.T, items ...string) *standIn {
	t.Helper()
	schema, err := schema()
	require.NoError(t, err)
	s := &standIn{items: items, meta: `{"resourceVersion":"4711"}`, schema: schema, t: t}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.SetKeepAlivesEnabled(false) // Go itself asks again where a connection was used before
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r)
	var fault http.HandlerFunc
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case fault != nil:
		fault(w, r)
	case r.URL.Path != s.prefix+"/api/v1/applications": // all other pages are the program that runs in the browser
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><html><title>Argo CD</title></html>"))
	case r.Header.Get("Authorization") != "Bearer "+token1:
		refused(http.StatusUnauthorized, "no session information")(w, r)
	default:
		_, _ = w.Write(s.list())
	}
}

// list is the answer, which must be one that Argo CD could give.
func (s *standIn) list() []byte {
	items := "null" // as Go has it for none
	if len(s.items) > 0 {
		items = "[" + strings.Join(s.items, ",") + "]"
	}
	text := []byte(`{"metadata":` + s.meta + `,"items":` + items + `}`)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = s.schema.Validate(value)
	}
	if err != nil {
		s.t.Errorf("the stand-in answers what Argo CD does not: %v", err)
	}
	return text
}

// refused answers as runtimeError is described.
func refused(status int, message string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": message, "message": message, "code": 2})
	}
}

// text answers with text that is no list.
func text(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

// options are those of a run that never really sleeps.
func (s *standIn) options() api.Options {
	return api.Options{
		Env: func(name string) string {
			return map[string]string{"ARGOCD_AUTH_TOKEN": token1}[name]
		},
		Sleep: func(ctx context.Context, d time.Duration) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.slept = append(s.slept, d)
			return ctx.Err()
		},
		Now:       func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
		UserAgent: "kalypso/test",
	}
}

func (s *standIn) look(t *testing.T) ([]promote.ReconcilerStatus, error) {
	t.Helper()
	f, err := New(s.URL+s.prefix, s.options())
	require.NoError(t, err)
	return f.Query(t.Context(), deployment())
}

// failure is the error of a look.
func (s *standIn) failure(t *testing.T) *promote.FleetError {
	t.Helper()
	seen, err := s.look(t)
	require.Empty(t, seen)
	var failure *promote.FleetError
	require.ErrorAs(t, err, &failure)
	require.NotContains(t, failure.Message+failure.Hint, token1)
	require.NotContains(t, failure.Message, "\n")
	return failure
}

// file is an Application in testdata.
func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return string(text)
}

// app is an Application of our branch on cluster edge-1 with so many more fields of its status, and of its own.
func app(status string, more ...string) string {
	return `{"metadata":{"name":"drone","namespace":"argocd"},
		"spec":{"project":"fleet","destination":{"name":"edge-1","namespace":"apps"},
			"source":{"repoURL":"` + repo + `.git","targetRevision":"stage","path":"drone"}},
		"status":{` + status + `}` + strings.Join(more, "") + `}`
}
