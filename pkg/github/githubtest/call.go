package githubtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// call is a request to an endpoint.
type call struct {
	server      *Server
	route       *route
	path        string
	values      map[string]string // of the path
	query       url.Values
	contentType string
	body        []byte
	secret      string // that it came with

	token *Token // nil without one
	repo  *Repo  // nil if the path names none
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
	handle := func() (answer, error) {
		if !below {
			return answer{}, s.unknown(request)
		}
		return s.handle(r, request)
	}
	s.perform(w, r, s.faultFor(request), func() answer {
		a, err := settle(handle())
		if err != nil {
			s.violate(fmt.Sprintf("%s: %v", request, err))
		}
		return a
	})
}

// handle finds the endpoint and lets it answer.
func (s *Server) handle(r *http.Request, request Request) (answer, error) {
	if request.Path == s.graphqlPath() {
		return s.graphql(r, request)
	}
	c := s.callFor(r, request)
	if c == nil {
		return answer{}, s.unknown(request)
	}
	operation := s.operations[c.route.method+" "+c.route.path]
	if err := operation.check(c); err != nil {
		problem := oneLine(err)
		s.violate(fmt.Sprintf("%s: %s", request, problem))
		return answer{}, refuse(http.StatusBadRequest, "not as GitHub describes it: "+problem)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := c.admit(r); err != nil {
		return answer{}, err
	}
	a, err := c.route.handle(c)
	if err != nil {
		return answer{}, err
	}
	return a, operation.checkAnswer(a)
}

// callFor finds the endpoint of a request, or returns nil.
func (s *Server) callFor(r *http.Request, request Request) *call {
	for i := range s.routes {
		if values, ok := s.routes[i].match(r.Method, request.Path); ok {
			return &call{
				server: s, route: &s.routes[i], path: request.Path, values: values, query: request.Query,
				contentType: r.Header.Get("Content-Type"), body: []byte(request.Body), secret: secretOf(r),
			}
		}
	}
	return nil
}

// unknown is the answer to what the stand-in has no endpoint for.
func (s *Server) unknown(request Request) error {
	s.violate(fmt.Sprintf("%s: the stand-in has no such endpoint", request))
	return notFound()
}

// oneLine joins the lines of an error.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// decode reads the body, which was checked.
func decode[T any](c *call) (T, error) {
	var into T
	if len(c.body) == 0 {
		return into, nil
	}
	if err := json.Unmarshal(c.body, &into); err != nil {
		return into, fmt.Errorf("read the body: %w", err)
	}
	return into, nil
}

// number is a variable of the path that the description says is a number.
func (c *call) number(name string) int {
	n, err := strconv.Atoi(c.values[name])
	if err != nil {
		return -1 // of nothing
	}
	return n
}
