package githubtest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest/openapitest"
)

// Server is GitHub on loopback. Its methods may be called while it serves.
type Server struct {
	// URL is where the REST API begins, without a slash at the end: what GITHUB_API_URL is in a workflow.
	URL string
	// WebURL is where people look at it and git fetches from: what GITHUB_SERVER_URL is.
	WebURL string

	registry
	faults
	routes []route
	listener
}

// listener is what answers requests until it is closed.
type listener struct {
	http    *httptest.Server
	closed  chan struct{}
	closing sync.Once
}

// NewServer starts a server without repositories or tokens. It ends with the test, and fails it for every
// request that did not fit GitHub's description.
func NewServer(t testing.TB, options Options) *Server {
	t.Helper()
	if options.Fail == nil {
		options.Fail = func(err error) {
			t.Helper()
			t.Fatal(err)
		}
	}
	s, err := Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		for _, violation := range s.Violations() {
			t.Errorf("GitHub stand-in: %s", violation)
		}
	})
	return s
}

// Start starts a server. The caller closes it and looks at its Violations.
func Start(options Options) (*Server, error) {
	routes, err := routes()
	if err != nil {
		return nil, err
	}
	if options.Fail == nil {
		options.Fail = func(err error) { panic(err) }
	}
	s := &Server{routes: routes}
	s.options, s.repos, s.tokens = options, map[string]*Repo{}, map[string]*Token{}
	s.closed, s.http = make(chan struct{}), httptest.NewServer(s)
	s.api, s.web = s.http.URL+s.prefix(), s.http.URL
	s.URL, s.WebURL = s.api, s.web
	return s, nil
}

// Close ends the server, and requests that hang. It may be called again.
func (s *Server) Close() {
	s.closing.Do(func() {
		close(s.closed)
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

// ServeHTTP answers as GitHub does, unless a fault is injected. Faults and records are of the API only.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if repo, path := s.gitRepo(r.URL.Path); repo != nil {
		s.serveGit(w, r, repo, path)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	path, below := strings.CutPrefix(r.URL.EscapedPath(), s.prefix())
	if r.URL.Path == s.graphqlPath() {
		path, below = r.URL.Path, true
	}
	request := s.record(Request{
		Method: r.Method, Path: path, Query: r.URL.Query(), Body: string(body), Token: s.tokenName(r),
	})
	if s.options.Before != nil {
		s.options.Before(request)
	}
	s.faultFor(request).perform(w, r, s.closed, func() (a answer) {
		if err := catch(func() { a = s.handle(r, request, below) }); err != nil {
			return s.excuse(request, err)
		}
		return a
	})
}

// handle finds the endpoint and lets it answer. There is none but below the address of the API.
func (s *Server) handle(r *http.Request, request Request, below bool) answer {
	if request.Path == s.graphqlPath() {
		return s.graphql(r, request)
	}
	c := s.callFor(r, request)
	if c == nil || !below {
		s.violate(fmt.Sprintf("%s: the stand-in has no such endpoint", request))
		panic(notFound())
	}
	described := openapitest.Request{Path: c.values, Query: c.query, ContentType: r.Header.Get("Content-Type"), Body: c.body}
	if err := c.route.operation.CheckRequest(described); err != nil {
		problem := strings.Join(strings.Fields(err.Error()), " ")
		s.violate(fmt.Sprintf("%s: %s", request, problem))
		panic(refuse(http.StatusBadRequest, "not as GitHub describes it: "+problem))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.admit(r)
	a := c.route.handle(c)
	check(c.route.operation.CheckAnswer(a.status, a.bytes()))
	if c.token != nil && !c.token.Expires.IsZero() {
		if a.header == nil {
			a.header = http.Header{}
		}
		a.header.Set("GitHub-Authentication-Token-Expiration", c.token.Expires.UTC().Format("2006-01-02 15:04:05 MST"))
	}
	return a
}

// callFor finds the endpoint of a request, or returns nil.
func (s *Server) callFor(r *http.Request, request Request) *call {
	for i := range s.routes {
		if values, ok := s.routes[i].match(r.Method, request.Path); ok {
			return &call{
				registry: &s.registry, route: &s.routes[i], path: request.Path, values: values, query: request.Query,
				body: []byte(request.Body), secret: secretOf(r),
			}
		}
	}
	return nil
}

// excuse is the answer to a request that an error ended. Whatever is not a refusal is a bug of the stand-in.
func (s *Server) excuse(request Request, err error) answer {
	var no *refusal
	if errors.As(err, &no) {
		return no.answer()
	}
	s.violate(fmt.Sprintf("%s: %v", request, err))
	return refuse(http.StatusInternalServerError, "Server Error").answer()
}

func (s *Server) prefix() string {
	if s.options.Enterprise {
		return "/api/v3"
	}
	return ""
}

func (s *Server) graphqlPath() string {
	if s.options.Enterprise {
		return "/api/graphql"
	}
	return "/graphql"
}
