package gitopstest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Handler serves the bare repositories below root with git http-backend, for fetching and pushing.
func Handler(root string) (http.Handler, error) {
	path, err := Git("", "--exec-path")
	if err != nil {
		return nil, err
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(path), "git-http-backend"),
		Env: append(hermetic(),
			"GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=test"),
		InheritEnv: []string{"PATH"},
		Stderr:     io.Discard,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength < 0 {
			// Package cgi refuses chunked bodies, which git sends for large pushes.
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		}
		backend.ServeHTTP(w, r)
	}), nil
}

// BasicAuth lets only those through who know the password, whatever name they give.
func BasicAuth(password string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, given, ok := r.BasicAuth(); !ok || given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Server is a git server on loopback that lives as long as a test.
type Server struct {
	// URL is the server's, without a slash at the end; a repository is at URL/name.git.
	URL string
	// Root is the folder that the repositories are in.
	Root string

	t        testing.TB
	mu       sync.Mutex
	requests []Request
}

// Request is a request that a Server saw.
type Request struct {
	Method, Path string
	// Authorization is the header as it came.
	Authorization string
}

// NewServer starts a server without repositories. Every handler of wrap is put around the one before,
// for instance BasicAuth.
func NewServer(t testing.TB, wrap ...func(http.Handler) http.Handler) *Server {
	t.Helper()
	s := &Server{Root: t.TempDir(), t: t}
	handler, err := Handler(s.Root)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrap {
		handler = w(handler)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, Request{r.Method, r.URL.Path, r.Header.Get("Authorization")})
		s.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Add makes the bare repository name.git, or adds to it if it is there. It returns its URL and the
// ids of the commits.
func (s *Server) Add(name string, commits ...Commit) (url string, ids []string) {
	s.t.Helper()
	dir := s.Dir(name)
	var err error
	if _, missing := os.Stat(dir); missing != nil {
		ids, err = Bare(dir, commits...)
	} else {
		ids, err = Add(dir, commits...)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return s.URL + "/" + name + ".git", ids
}

// Dir is the folder of a repository.
func (s *Server) Dir(name string) string {
	return filepath.Join(s.Root, filepath.FromSlash(name)+".git")
}

// Configure sets a value of a repository's git configuration.
func (s *Server) Configure(name, key, value string) {
	s.t.Helper()
	if _, err := Git(s.Dir(name), "config", key, value); err != nil {
		s.t.Fatal(err)
	}
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}
