package githubtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest/openapitest"
)

// call is a request to an endpoint.
type call struct {
	registry *registry
	route    *route
	path     string
	values   map[string]string // of the path
	query    url.Values
	body     []byte
	secret   string // that it came with

	token *Token // nil without one
	repo  *Repo  // nil if the path names none
}

// route is an endpoint.
type route struct {
	method, path string
	// needs are the permissions that a token must have, as GitHub writes them in X-Accepted-GitHub-Permissions:
	// alternatives with a semicolon between. Empty is for an App itself, which signs its requests, and for what
	// is about no repository.
	needs  string
	handle func(*call) answer

	operation openapitest.Operation
	pattern   *regexp.Regexp
}

// variable is a variable of a path.
var variable = regexp.MustCompile(`\{(\w+)\}`)

// compile makes a pattern of the path. Branches and other refs may hold slashes.
func (r *route) compile() {
	pattern := variable.ReplaceAllStringFunc(r.path, func(name string) string {
		name = strings.Trim(name, "{}")
		if name == "ref" || name == "basehead" {
			return "(?P<" + name + ">.+)"
		}
		return "(?P<" + name + ">[^/]+)"
	})
	r.pattern = regexp.MustCompile("^" + pattern + "$")
}

// match returns the values of the path's variables.
func (r *route) match(method, escapedPath string) (map[string]string, bool) {
	if method != r.method {
		return nil, false
	}
	found := r.pattern.FindStringSubmatch(escapedPath)
	if found == nil {
		return nil, false
	}
	values := map[string]string{}
	for i, name := range r.pattern.SubexpNames()[1:] {
		value, err := url.PathUnescape(found[i+1])
		if err != nil {
			return nil, false
		}
		values[name] = value
	}
	return values, true
}

// writes reports whether the route changes something.
func (r *route) writes() bool { return r.method != http.MethodGet }

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

// login is who acts.
func (c *call) login() string { return c.token.Login }

// admit lets through who may use the endpoint, in the order in which GitHub looks: who is it, is there such
// a repository, may one write to it, has the token the permission.
func (c *call) admit(r *http.Request) {
	if c.route.needs == "" {
		return
	}
	c.token = c.registry.authenticate(r)
	c.repo = c.registry.repos[strings.ToLower(c.values["owner"]+"/"+c.values["repo"])]
	if c.repo == nil || c.repo.options.Private && !c.token.reaches(c.repo) {
		panic(notFound())
	}
	c.repo.sync()
	switch {
	case c.token == nil && c.route.writes():
		panic(refuse(http.StatusUnauthorized, "Requires authentication"))
	case !c.permitted():
		panic(c.missing())
	case c.route.writes() && c.repo.options.Archived:
		panic(refuse(http.StatusForbidden, "Repository was archived so is read-only."))
	}
}

// permitted reports whether the token has what the endpoint needs. Everybody may read what is public, except settings.
func (c *call) permitted() bool {
	if !c.route.writes() && !c.repo.options.Private && !strings.HasPrefix(c.route.needs, "administration=") {
		return true
	}
	if !c.token.reaches(c.repo) {
		return false
	}
	return slices.ContainsFunc(strings.Split(c.needs(), "; "), c.token.has)
}

// needs are the permissions for this request. Of what pull requests and issues share, each has its own.
func (c *call) needs() string {
	item := c.repo.find(c.number("issue_number"))
	if item == nil || c.values["issue_number"] == "" {
		return c.route.needs
	}
	issues, pulls, both := strings.Cut(c.route.needs, "; ")
	if both && item.pull {
		return pulls
	}
	return issues
}

// missing is the refusal for a permission that is missing.
func (c *call) missing() *refusal {
	who := "integration"
	if !strings.HasSuffix(c.token.Login, "[bot]") {
		who = "personal access token"
	}
	return refuse(http.StatusForbidden, "Resource not accessible by "+who)
}

const (
	usualPageSize   = 30
	largestPageSize = 100
)

// page answers with the part of all things that is asked for, and links to the other parts.
func page[T, J any](c *call, all []T, show func(T) J) answer {
	from, to, header := c.page(len(all))
	shown := make([]J, 0, to-from)
	for _, thing := range all[from:to] {
		shown = append(shown, show(thing))
	}
	return answer{status: http.StatusOK, header: header, body: shown}
}

// page returns which of so many things are on the page that is asked for, and the address of the next one.
func (c *call) page(count int) (from, to int, header http.Header) {
	size := min(positive(c.query.Get("per_page"), usualPageSize), largestPageSize)
	if most := c.registry.options.PageSize; most > 0 {
		size = min(size, most)
	}
	number := positive(c.query.Get("page"), 1)
	from = min((number-1)*size, count)
	to = min(from+size, count)
	if to < count {
		next := maps.Clone(c.query)
		next.Set("page", strconv.Itoa(number+1))
		header = http.Header{"Link": {fmt.Sprintf(`<%s%s?%s>; rel="next"`, c.registry.api, c.path, next.Encode())}}
	}
	return from, to, header
}

func positive(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// inState reports whether an item is in the state that is asked for, which is open if none is.
func (c *call) inState(i *item) bool {
	asked := cmp.Or(c.query.Get("state"), "open")
	return asked == "all" || asked == state(i.Open)
}

// sort sorts by creation, the newest first unless something else is asked for.
func (c *call) sort(items []*item) {
	if c.query.Get("direction") != "asc" {
		slices.Reverse(items)
	}
}
