package githubtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
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

// isQuery reports whether a request is a GraphQL query, which changes nothing.
func (r Request) isQuery() bool {
	var asked struct{ Query string }
	return strings.HasSuffix(r.Path, "/graphql") && r.Decode(&asked) == nil && strings.HasPrefix(asked.Query, "query")
}

// log is what was asked, and what should not have been.
type log struct {
	logging    sync.Mutex
	requests   []Request
	writes     int
	violations []string
}

// Requests are all requests so far.
func (l *log) Requests() []Request {
	l.logging.Lock()
	defer l.logging.Unlock()
	return slices.Clone(l.requests)
}

// Writes returns the requests so far that change something.
func (l *log) Writes() []Request {
	return slices.DeleteFunc(l.Requests(), func(r Request) bool { return r.Write == 0 })
}

// Forget forgets the requests so far; counting starts anew.
func (l *log) Forget() {
	l.logging.Lock()
	defer l.logging.Unlock()
	l.requests, l.writes = nil, 0
}

// record keeps a request, and counts it.
func (l *log) record(r Request) Request {
	l.logging.Lock()
	defer l.logging.Unlock()
	r.Number = len(l.requests) + 1
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !r.isQuery() {
		l.writes++
		r.Write = l.writes
	}
	l.requests = append(l.requests, r)
	return r
}

// Violations are the requests that fitted nothing that GitHub describes, each with the reason.
func (l *log) Violations() []string {
	l.logging.Lock()
	defer l.logging.Unlock()
	return slices.Clone(l.violations)
}

func (l *log) violate(problem string) {
	l.logging.Lock()
	defer l.logging.Unlock()
	l.violations = append(l.violations, problem)
}
