package github

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	gh "github.com/google/go-github/v53/github"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// Options say which GitHub is spoken to and how. The zero Options speak to github.com without a token.
type Options struct {
	// API is the base URL of the REST API, GITHUB_API_URL; https://api.github.com if empty.
	API string
	// GraphQL is the URL of the GraphQL API, on the same host; if empty it follows from API.
	GraphQL string
	// Token is sent to the host of API and nowhere else. Nil asks without one.
	Token TokenSource
	// ActionsToken says that the token is the GITHUB_TOKEN of a workflow: what is done with it starts no workflow.
	ActionsToken bool
	// UserAgent names the program; "kalypso" if empty.
	UserAgent string
	// Transport sends the requests. Nil means one like http.DefaultTransport.
	Transport http.RoundTripper
	// Sleep waits, or until ctx is done, whose error it then returns. Nil means by the clock.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the clock; nil means that of the machine.
	Now func() time.Time
	// Random returns a number in [0,1), for delays that are not all alike; nil means by chance.
	Random func() float64
	// Notice is told when something is tried again, and why, in a line for people; nil tells nobody.
	Notice func(line string)
	// Minted is told each token that an App makes, before anything is sent with it; nil tells nobody.
	Minted func(token string)
	// Secrets are taken out of all errors and notices, the tokens that are used too; nil means only these.
	Secrets *gitops.Scrubber
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
	base, err := parseAPI("GITHUB_API_URL", cmp.Or(o.API, publicAPI))
	if err != nil {
		return nil, err
	}
	graphQL, err := parseAPI("GITHUB_GRAPHQL_URL", cmp.Or(o.GraphQL, graphQLOf(base.String())))
	if err != nil {
		return nil, err
	}
	if !sameHost(base, graphQL) {
		return nil, fmt.Errorf("GITHUB_GRAPHQL_URL is on %s, GITHUB_API_URL on %s: the token is for one host only", graphQL.Host, base.Host)
	}
	wire := newTransport(base, o)
	client := gh.NewClient(&http.Client{Transport: wire, CheckRedirect: wire.checkRedirect})
	client.BaseURL = base.JoinPath("/")
	client.UserAgent = cmp.Or(o.UserAgent, "kalypso")
	return &Client{api: client, graphQL: graphQL.String(), actionsToken: o.ActionsToken, wire: wire}, nil
}

func parseAPI(variable, value string) (*url.URL, error) {
	at, err := url.Parse(value)
	switch {
	case err != nil, at.Host == "": // the error repeats the value, which may hold a password
		return nil, fmt.Errorf("%s is not a URL", variable)
	case !fitForTokens(at):
		return nil, fmt.Errorf("%s is %s://%s: a token is sent over https only, and to a URL without a user", variable, at.Scheme, at.Host)
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
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.Minted == nil {
		o.Minted = func(string) {}
	}
	if o.Secrets == nil {
		o.Secrets = &gitops.Scrubber{}
	}
	o.Limits = o.Limits.orDefaults()
	return o
}

func (l Limits) orDefaults() Limits {
	return Limits{
		Tries:   cmp.Or(l.Tries, 5),
		Request: cmp.Or(l.Request, time.Minute),
		Wait:    cmp.Or(l.Wait, 15*time.Minute),
		Apart:   cmp.Or(l.Apart, time.Second),
	}
}
