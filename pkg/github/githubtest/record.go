package githubtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Request is a request that a Server saw.
type Request struct {
	// Number counts all requests from 1, and Write those that change something (0 for GET, HEAD and GraphQL queries).
	Number, Write int
	Method        string
	// Path is escaped as it came, without what Enterprise servers put before it.
	Path  string
	Query url.Values
	Body  string
	// Token is the name of the token, "unknown" for one that the server does not know, and empty without.
	Token string
}

// String is the method and the path, with the query.
func (r Request) String() string {
	if len(r.Query) == 0 {
		return r.Method + " " + r.Path
	}
	return r.Method + " " + r.Path + "?" + r.Query.Encode()
}

// Decode reads the JSON body.
func (r Request) Decode(into any) error { return json.Unmarshal([]byte(r.Body), into) }

// Requests are all requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// isQuery reports whether a request is a GraphQL query, which changes nothing.
func (r Request) isQuery() bool {
	var asked struct{ Query string }
	return strings.HasSuffix(r.Path, "/graphql") && r.Decode(&asked) == nil && strings.HasPrefix(asked.Query, "query")
}

// Writes returns the requests so far that change something.
func (s *Server) Writes() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Write == 0 })
}

// Forget forgets the requests so far; counting starts anew.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.writes = nil, 0
}

// record keeps a request, and counts it.
func (s *Server) record(r Request) Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Number = len(s.requests) + 1
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !r.isQuery() {
		s.writes++
		r.Write = s.writes
	}
	s.requests = append(s.requests, r)
	return r
}
