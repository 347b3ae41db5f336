package github

import (
	"net/url"
	"regexp"
	"strings"
)

// Location is a repository on GitHub.
type Location struct {
	// API is the base URL of the REST API.
	API         string
	Owner, Name string
}

// Server is the GitHub of a workflow. The zero value is none: then only github.com and the subdomains of ghe.com are known
// to be GitHub.
type Server struct {
	// URL is GITHUB_SERVER_URL, API is GITHUB_API_URL; if that is empty, it follows from URL.
	URL, API string
}

const (
	publicServer = "https://github.com"
	publicAPI    = "https://api.github.com"
	// enterpriseAPI is where GitHub Enterprise Server has its REST API.
	enterpriseAPI = "/api/v3"
	// hosted is the domain of GitHub Enterprise Cloud with data residency.
	hosted = ".ghe.com"
)

// names matches the names of owners and repositories, which become parts of paths.
var names = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// Locate returns the location of a repository on GitHub; false if it is not there. The name is in the normal form of
// giturl.NormalURL.
func (s Server) Locate(name string) (Location, bool) {
	at, err := url.Parse(name)
	if err != nil || at.Host == "" || at.User != nil {
		return Location{}, false
	}
	server := at.Scheme + "://" + strings.ToLower(at.Host)
	if at.Scheme == "ssh" && strings.EqualFold(at.Host, "ssh.github.com:443") {
		server = publicServer // ssh over the port of https
	}
	owner, repo, _ := strings.Cut(strings.TrimPrefix(at.Path, "/"), "/")
	if !validName(owner) || !validName(repo) {
		return Location{}, false
	}
	api := s.apiOf(server)
	return Location{API: api, Owner: owner, Name: repo}, api != ""
}

func validName(name string) bool {
	return names.MatchString(name) && name != "." && name != ".."
}

// own returns the URL of the server in normal form; empty if there is none.
func (s Server) own() string { return strings.ToLower(strings.TrimSuffix(s.URL, "/")) }

// apiOf returns the base URL of the REST API of a server; empty if it is not known to be GitHub.
func (s Server) apiOf(server string) string {
	host := strings.TrimPrefix(server, "https://")
	switch {
	case server == s.own() && s.API != "":
		return strings.TrimSuffix(s.API, "/")
	case server == publicServer:
		return publicAPI
	case server == "https://"+host && strings.HasSuffix(host, hosted):
		return "https://api." + host
	case server == s.own():
		return server + enterpriseAPI
	}
	return ""
}

// Home returns the base URL of the REST API of the server; that of github.com if there is none.
func (s Server) Home() string {
	if s.URL == "" {
		return publicAPI
	}
	return s.apiOf(s.own())
}

// graphQLOf returns the URL of the GraphQL API for the base URL of the REST API.
func graphQLOf(rest string) string {
	if server, enterprise := strings.CutSuffix(strings.TrimSuffix(rest, "/"), enterpriseAPI); enterprise {
		return server + "/api/graphql"
	}
	return strings.TrimSuffix(rest, "/") + "/graphql"
}
