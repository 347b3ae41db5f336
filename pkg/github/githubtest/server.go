package githubtest

import (
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Options are how a Server behaves. The zero value is github.com with a clock that stands still.
type Options struct {
	// Enterprise serves below /api/v3 and /api/graphql, as GitHub Enterprise Server does.
	Enterprise bool
	// Now is the clock of the server. Without one it is Midnight, until Advance is called.
	Now func() time.Time
	// PageSize is how many things a page holds at most, whatever is asked for; 0 means 100, as on GitHub.
	PageSize int
	// Before is called before a request is answered, and may do what people do meanwhile; nil does nothing.
	Before func(Request)
	// Fail ends a test that asks a Repo for what cannot be, such as a merge of what is not there. Without it
	// NewServer fails its test, and Start panics.
	Fail func(error)
}

// Midnight is when a Server without a clock lives.
func Midnight() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Server is GitHub on loopback. Its methods may be called while it serves.
type Server struct {
	// URL is where the REST API begins, without a slash at the end: what GITHUB_API_URL is in a workflow.
	URL string
	// WebURL is where people look at it and git fetches from: what GITHUB_SERVER_URL is.
	WebURL string

	options Options
	routes  []route
	listener

	mu       sync.Mutex // for what follows
	advanced time.Duration
	repos    map[string]*Repo // by lower-case owner/name
	accounts
	log
	faults []injected
}

// listener is what answers requests until it is closed.
type listener struct {
	http    *httptest.Server
	closed  chan struct{}
	closing sync.Once
}

// accounts are who may ask.
type accounts struct {
	tokens map[string]*Token // by secret
	apps   []*App
	minted int
}

// log is what was asked, and what should not have been.
type log struct {
	requests   []Request
	writes     int
	violations []string
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
	s := &Server{options: options, routes: routes, repos: map[string]*Repo{}}
	s.closed, s.tokens = make(chan struct{}), map[string]*Token{}
	s.http = httptest.NewServer(s)
	s.URL, s.WebURL = s.http.URL+s.prefix(), s.http.URL
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

// Advance moves the clock.
func (s *Server) Advance(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanced += by
}

// Violations are the requests that fitted nothing that GitHub describes, each with the reason.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

func (s *Server) violate(problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, problem)
}

// now is the time; the lock is held.
func (s *Server) now() time.Time {
	if s.options.Now != nil {
		return s.options.Now().Add(s.advanced).UTC()
	}
	return Midnight().Add(s.advanced)
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
