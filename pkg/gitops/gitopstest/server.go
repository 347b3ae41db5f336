package gitopstest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// execPath is the folder of git's own programs.
var execPath = sync.OnceValues(func() (string, error) { return Git("", "--exec-path") })

// Handler serves the bare repositories below root with git http-backend, for fetching and pushing. What git answers to
// those who read is kept, for the whole process: see kept. Small pushes that succeed need no git: see receive.
func Handler(root string) (http.Handler, error) {
	programs, err := execPath()
	if err != nil {
		return nil, err
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(programs), "git-http-backend"),
		Env: append(hermetic(),
			"GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=test"),
		InheritEnv: []string{"PATH"},
		Stderr:     io.Discard,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > fewBytes {
			backend.ServeHTTP(w, r)
			return
		}
		// Package cgi refuses chunked bodies, which git sends for large pushes.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		repo, pushes := strings.CutSuffix(r.URL.Path, "/git-receive-pack")
		if !pushes {
			kept(w, r, root, string(body), backend)
			return
		}
		answer, err := receive(filepath.Join(root, filepath.FromSlash(repo)), body)
		if err != nil {
			backend.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
		_, _ = w.Write(answer)
	}), nil
}

// fewBytes is the largest push that is taken without git.
const fewBytes = 1 << 20

// answers are what git has said to those who read, by all that it depends on: the request, and the references and the
// configuration of the repository; only the configuration if the request names the objects, see onlyWants. Which objects
// there are does not count, as their names say what is in them; but an error is not kept, as it may be that one is missing.
// Running git would take most of the time of many tests.
var answers sync.Map // of string → *httptest.ResponseRecorder

// kept answers a request with a body.
func kept(w http.ResponseWriter, r *http.Request, root, body string, backend http.Handler) {
	dir := filepath.Join(root, filepath.FromSlash(repository(r.URL.Path)))
	state := stateOf(dir)
	if state == "" { // a work tree, or nothing
		backend.ServeHTTP(w, r)
		return
	}
	counts := state
	if r.Method == http.MethodPost && onlyWants(dir, body, state) {
		counts = settingsOf(dir)
	}
	key := fmt.Sprintf("%s %s\n%s\n%v\n%s\n%s", r.Method, strings.TrimPrefix(r.URL.RequestURI(), repository(r.URL.Path)), r.Header.Get("Git-Protocol"), r.Header["Content-Encoding"], body, counts)
	known, ok := answers.Load(key)
	answer, _ := known.(*httptest.ResponseRecorder)
	if !ok {
		answer = httptest.NewRecorder()
		backend.ServeHTTP(answer, r)
		failed := answer.Code != http.StatusOK || bytes.Contains(answer.Body.Bytes()[:min(16, answer.Body.Len())], []byte("ERR "))
		if !failed && answer.Body.Len() < 1<<20 && stateOf(dir) == state {
			answers.Store(key, answer)
		}
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// wanted are the objects that a request asks for.
var wanted = regexp.MustCompile(`want ([0-9a-f]{40})`)

// onlyWants reports whether the answer to a request depends on the objects that it asks for, whatever references there are:
// git hands them out, as a reference is at each of them or as any may be asked for, and the client names none that it has.
func onlyWants(dir, body, state string) bool {
	wants := wanted.FindAllStringSubmatch(body, -1)
	anything := strings.Contains(state, "allowAnySHA1InWant = true")
	for _, want := range wants {
		if strings.Contains(state, want[1]) {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "objects", want[1][:2], want[1][2:])); err != nil || !anything {
			return false
		}
	}
	return len(wants) > 0 && !strings.Contains(body, "have ") && !strings.Contains(body, "include-tag")
}

// said is what git has answered to Ask, by the question and the references and the configuration of the repository.
var said sync.Map // of string → string

// Ask asks git about a bare repository: what can be known from its branches and the commits that they have, as log, rev-list
// and diff tell. Git is asked once in the whole process, as tests ask the same of many repositories that must be alike.
func Ask(dir string, args ...string) (string, error) {
	key := fmt.Sprintf("%q\n%s", args, stateOf(dir))
	if known, ok := said.Load(key); ok {
		return known.(string), nil //nolint:forcetypeassert // nothing else is stored
	}
	out, err := Git(dir, args...)
	if err == nil {
		said.Store(key, out)
	}
	return out, err
}

// repository is the part of a path that names a repository.
func repository(path string) string {
	for _, service := range []string{"/info/refs", "/git-upload-pack"} {
		path = strings.TrimSuffix(path, service)
	}
	return path
}

// stateOf are the references and the configuration of a bare repository; empty if there is none.
func stateOf(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		return ""
	}
	names := []string{"HEAD", "packed-refs"}
	_ = fs.WalkDir(os.DirFS(dir), "refs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			names = append(names, name)
		}
		return nil
	})
	return settingsOf(dir) + contents(dir, names...)
}

// settingsOf are the configuration of a bare repository and where its history ends.
func settingsOf(dir string) string { return contents(dir, "config", "shallow") }

// contents are those of files; a file that is gone is empty.
func contents(dir string, names ...string) string {
	var all strings.Builder
	for _, name := range names {
		content, _ := os.ReadFile(filepath.Join(dir, name)) // a file that is gone is empty
		fmt.Fprintf(&all, "%s %q\n", name, content)
	}
	return all.String()
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
