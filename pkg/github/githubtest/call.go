package githubtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest/openapitest"
)

// call is a request to an endpoint.
type call struct {
	server *Server
	route  *route
	path   string
	values map[string]string // of the path
	query  url.Values
	body   []byte
	secret string // that it came with

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
	s.perform(w, r, s.faultFor(request), func() answer {
		a, err := settle(func() answer {
			if !below {
				panic(s.unknown(request))
			}
			return s.handle(r, request)
		})
		if err != nil {
			s.violate(fmt.Sprintf("%s: %v", request, err))
		}
		return a
	})
}

// handle finds the endpoint and lets it answer.
func (s *Server) handle(r *http.Request, request Request) answer {
	if request.Path == s.graphqlPath() {
		return s.graphql(r, request)
	}
	c := s.callFor(r, request)
	if c == nil {
		panic(s.unknown(request))
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
	check(c.route.operation.CheckAnswer(a.status, must(a.bytes())))
	return a
}

// callFor finds the endpoint of a request, or returns nil.
func (s *Server) callFor(r *http.Request, request Request) *call {
	for i := range s.routes {
		if values, ok := s.routes[i].match(r.Method, request.Path); ok {
			return &call{
				server: s, route: &s.routes[i], path: request.Path, values: values, query: request.Query,
				body: []byte(request.Body), secret: secretOf(r),
			}
		}
	}
	return nil
}

// unknown is the answer to what the stand-in has no endpoint for.
func (s *Server) unknown(request Request) *refusal {
	s.violate(fmt.Sprintf("%s: the stand-in has no such endpoint", request))
	return notFound()
}

// decode reads the body, which was checked. What GitHub understands and the stand-in does not is a failure.
func decode[T any](c *call) T {
	var into T
	decoder := json.NewDecoder(bytes.NewReader(c.body))
	decoder.DisallowUnknownFields()
	if len(c.body) > 0 {
		check(decoder.Decode(&into))
	}
	return into
}

// number is a variable of the path that the description says is a number.
func (c *call) number(name string) int {
	n, err := strconv.Atoi(c.values[name])
	if err != nil {
		return -1 // of nothing
	}
	return n
}
