package github

import (
	"cmp"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// Location is a repository on GitHub.
type Location struct {
	// API is the base URL of the REST API, GraphQL the URL of the other one.
	API, GraphQL string
	Owner, Name  string
}

// Server is the GitHub that a workflow runs on. The zero Server is none: then only github.com, and
// the domain ghe.com below which GitHub hosts others, are known to be GitHub.
type Server struct {
	// URL is GITHUB_SERVER_URL, API is GITHUB_API_URL, GraphQL is GITHUB_GRAPHQL_URL. Each that is empty
	// follows from the others.
	URL, API, GraphQL string
}

const (
	publicServer = "https://github.com"
	publicAPI    = "https://api.github.com"
	// enterpriseAPI is where GitHub Enterprise Server has its REST API.
	enterpriseAPI = "/api/v3"
	// hosted is the domain of GitHub Enterprise Cloud with data residency.
	hosted = ".ghe.com"
)

// names are what owners and repositories can be called. As they become part of paths, nothing else may pass.
var names = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// Locate returns where a repository is on GitHub; false if it is not there. The name is a normal one,
// as giturl.NormalURL returns it.
func (s Server) Locate(name string) (Location, bool) {
	at, err := url.Parse(name)
	if err != nil || at.Host == "" || at.User != nil {
		return Location{}, false
	}
	server := at.Scheme + "://" + strings.ToLower(at.Host)
	if at.Scheme == "ssh" && strings.EqualFold(at.Host, "ssh.github.com:443") {
		server = publicServer // the way in where port 22 is closed
	}
	owner, repo, _ := strings.Cut(strings.TrimPrefix(at.Path, "/"), "/")
	if !validName(owner) || !validName(repo) {
		return Location{}, false
	}
	api, graphql := s.apiOf(server)
	return Location{API: api, GraphQL: graphql, Owner: owner, Name: repo}, api != ""
}

func validName(name string) bool {
	return names.MatchString(name) && name != "." && name != ".."
}

// apiOf returns the base URLs of the APIs of a server; nothing if it is not known to be GitHub.
func (s Server) apiOf(server string) (rest, graphql string) {
	own := strings.ToLower(strings.TrimSuffix(cmp.Or(s.URL, serverOf(s.API)), "/"))
	host := strings.TrimPrefix(server, "https://")
	switch {
	case server == own:
		rest = cmp.Or(strings.TrimSuffix(s.API, "/"), defaultAPI(server))
		return rest, cmp.Or(s.GraphQL, graphQLOf(rest))
	case server == publicServer, server == "https://"+host && strings.HasSuffix(host, hosted):
		rest = defaultAPI(server)
		return rest, graphQLOf(rest)
	}
	return "", ""
}

// Home is the base URL of the REST API of the server itself; that of github.com if there is none.
func (s Server) Home() string {
	if s.URL == "" && s.API == "" {
		return publicAPI
	}
	rest, _ := s.apiOf(strings.ToLower(strings.TrimSuffix(cmp.Or(s.URL, serverOf(s.API)), "/")))
	return rest
}

// defaultAPI returns where a server that is GitHub has its REST API.
func defaultAPI(server string) string {
	host := strings.TrimPrefix(server, "https://")
	switch {
	case server == publicServer:
		return publicAPI
	case strings.HasSuffix(host, hosted):
		return "https://api." + host
	}
	return server + enterpriseAPI
}

// serverOf is the inverse of defaultAPI. Of an API that is somewhere else it returns the host.
func serverOf(api string) string {
	at, err := url.Parse(api)
	if err != nil || at.Host == "" {
		return ""
	}
	if at.Scheme == "https" && (at.Host == "api.github.com" || strings.HasSuffix(at.Host, hosted)) {
		return "https://" + strings.TrimPrefix(at.Host, "api.")
	}
	return at.Scheme + "://" + at.Host
}

// graphQLOf returns where GitHub has its GraphQL API if the other one is at rest.
func graphQLOf(rest string) string {
	if server, enterprise := strings.CutSuffix(strings.TrimSuffix(rest, "/"), enterpriseAPI); enterprise {
		return server + "/api/graphql"
	}
	return strings.TrimSuffix(rest, "/") + "/graphql"
}

// fitForTokens reports whether a token may be sent to a URL: encrypted, or within this machine.
func fitForTokens(at *url.URL) bool {
	if at.Host == "" || at.User != nil {
		return false
	}
	ip := net.ParseIP(at.Hostname())
	local := at.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return at.Scheme == "https" || at.Scheme == "http" && local
}
