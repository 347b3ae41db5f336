package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	gh "github.com/google/go-github/v53/github"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
)

// Options say which GitHub is spoken to and how. The zero Options speak to github.com without a token.
type Options struct {
	// API is the base URL of the REST API, GITHUB_API_URL; https://api.github.com if empty.
	API string
	// Token is sent to the host of API and nowhere else. Nil asks without one.
	Token TokenSource
	// ActionsToken says that the token is the GITHUB_TOKEN of a workflow: what is done with it starts no workflow.
	ActionsToken bool
	// UserAgent names the program; "kalypso" if empty.
	UserAgent string
	// Transport sends the requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Sleep waits, or until ctx is done, whose error it then returns. Nil means by the clock.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the clock; nil means that of the machine.
	Now func() time.Time
	// Notice is called when something is tried again, and why, with a line for people; nil does nothing.
	Notice func(line string)
	// Limits bound the tries.
	Limits Limits
}

// Limits bound how long GitHub is waited for. A field that is zero has its default.
type Limits struct {
	// Tries is how often a request is sent at most; 5 by default.
	Tries int
	// Request is how long one try may take; a minute by default.
	Request time.Duration
	// Wait is how long GitHub may make us wait for the next try; 15 minutes by default. If it asks for more, or for
	// more than the context allows, the request is given up at once.
	Wait time.Duration
	// Apart is how long after a request that changes something the next such may come; a second by default, as
	// GitHub asks for.
	Apart time.Duration
}

// Client speaks to one GitHub with one token. It may be used by several goroutines at once.
type Client struct {
	api          *gh.Client
	graphQL      string
	actionsToken bool
	wire         *transport
}

// New returns a client. It sends nothing yet. An error says which option is no good.
func New(o Options) (*Client, error) {
	base, err := parseAPI(cmp.Or(o.API, publicAPI))
	if err != nil {
		return nil, err
	}
	wire := newTransport(base, o)
	client := gh.NewClient(&http.Client{Transport: wire, CheckRedirect: wire.checkRedirect})
	client.BaseURL = base.JoinPath("/")
	client.UserAgent = cmp.Or(o.UserAgent, "kalypso")
	return &Client{api: client, graphQL: graphQLOf(base.String()), actionsToken: o.ActionsToken, wire: wire}, nil
}

func parseAPI(value string) (*url.URL, error) {
	at, err := url.Parse(value)
	switch {
	case err != nil, at.Host == "": // the error repeats the value, which may hold a password
		return nil, errors.New("GITHUB_API_URL is not a URL")
	case !fitForTokens(at):
		return nil, fmt.Errorf("GITHUB_API_URL is %s://%s: a token is sent over https only, and to a URL without a user", at.Scheme, at.Host)
	}
	at.Path = strings.TrimRight(at.Path, "/")
	return at, nil
}

func sameHost(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

// Repository returns a repository. It sends nothing yet.
func (c *Client) Repository(owner, name string) *Repository {
	return &Repository{client: c, owner: owner, name: name}
}

// orDefaults fills in what is missing.
func (o Options) orDefaults() Options {
	if o.Token == nil {
		o.Token = StaticToken("")
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Sleep == nil {
		o.Sleep = retryafter.Sleep
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	o.Limits = Limits{
		Tries:   cmp.Or(o.Limits.Tries, 5),
		Request: cmp.Or(o.Limits.Request, time.Minute),
		Wait:    cmp.Or(o.Limits.Wait, 15*time.Minute),
		Apart:   cmp.Or(o.Limits.Apart, time.Second),
	}
	return o
}

// Token is a credential for GitHub.
type Token struct {
	// Value is the secret.
	Value string
	// Minted is when it was made for this run. Zero is a token that was there before: one that is refused
	// is then refused for good, while a token that was just made may not be known everywhere yet.
	Minted time.Time
	// Expires is when it ends; zero is unknown.
	Expires time.Time
}

// TokenSource hands out the token for the next request.
type TokenSource interface {
	Token(ctx context.Context) (Token, error)
}

// appTokens is a TokenSource of a GitHub App.
type appTokens interface {
	// renew makes the next token a new one, in place of one that GitHub refuses.
	renew(value string)
	// appID is the id of the App.
	appID() string
}

// StaticToken is the token of a variable. The empty one asks GitHub without a token.
type StaticToken string

// Token returns the token.
func (s StaticToken) Token(context.Context) (Token, error) { return Token{Value: string(s)}, nil }

// Format hides the token from whoever prints what holds it, with any verb.
func (s StaticToken) Format(f fmt.State, _ rune) { fmt.Fprint(f, "***") }

// Format hides the secret.
func (t Token) Format(f fmt.State, _ rune) { fmt.Fprint(f, "***") }

// Location is a repository on GitHub.
type Location struct {
	// API is the base URL of the REST API.
	API         string
	Owner, Name string
}

// Server is the GitHub that a workflow runs on. The zero Server is none: then only github.com, and
// the domain ghe.com below which GitHub hosts others, are known to be GitHub.
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
	api := s.apiOf(server)
	return Location{API: api, Owner: owner, Name: repo}, api != ""
}

func validName(name string) bool {
	return names.MatchString(name) && name != "." && name != ".."
}

// own is the server itself, in the form in which servers are compared; empty if there is none.
func (s Server) own() string { return strings.ToLower(strings.TrimSuffix(s.URL, "/")) }

// apiOf returns the base URL of the REST API of a server; nothing if it is not known to be GitHub.
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

// Home is the base URL of the REST API of the server itself; that of github.com if there is none.
func (s Server) Home() string {
	if s.URL == "" {
		return publicAPI
	}
	return s.apiOf(s.own())
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
