package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	gh "github.com/google/go-github/v53/github"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
)

// Options are the options of a Client. The zero value is for github.com without a token.
type Options struct {
	// API is the base URL of the REST API, GITHUB_API_URL; https://api.github.com if empty.
	API string
	// Token is sent only to the host of API; nil for no token.
	Token TokenSource
	// ActionsToken is true for the GITHUB_TOKEN of a workflow: its changes start no workflow.
	ActionsToken bool
	// UserAgent is the name of the program; "kalypso" if empty.
	UserAgent string
	// Transport sends the requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Sleep waits, or returns the error of ctx when that is done; nil means retryafter.Sleep.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the clock; nil means that of the machine.
	Now func() time.Time
	// Notice is called before a retry with a line for people; may be nil.
	Notice func(line string)
	Limits Limits
}

// Limits bound retries. A zero field has its default.
type Limits struct {
	// Tries is the maximum number of attempts of a request; 5 by default.
	Tries int
	// Request is the timeout of one attempt; a minute by default.
	Request time.Duration
	// Wait is the maximum wait that GitHub can request before a retry; 15 minutes by default. If it requests more, or
	// more than the context allows, the request fails at once.
	Wait time.Duration
	// Apart is the minimum time between two requests that change something; a second by default, as GitHub requires.
	Apart time.Duration
}

// Client is a client of one GitHub with one token. It is safe for concurrent use.
type Client struct {
	api          *gh.Client
	graphQL      string
	actionsToken bool
	wire         *transport
}

// New returns a client. It sends no request. The error is about an invalid option.
func New(o Options) (*Client, error) {
	base, err := parseAPI(cmp.Or(o.API, publicAPI))
	if err != nil {
		return nil, err
	}
	wire := &transport{Options: o.orDefaults(), api: base, secrets: &credentials.Scrubber{}}
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
	case at.User != nil || at.Scheme != "https" && (at.Scheme != "http" || !giturl.Address{Host: at.Hostname()}.Loopback()):
		return nil, fmt.Errorf("GITHUB_API_URL is %s://%s: a token is sent over https only, and to a URL without a user", at.Scheme, at.Host)
	}
	at.Path = strings.TrimRight(at.Path, "/")
	return at, nil
}

func sameHost(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

// Repository returns a repository. It sends no request.
func (c *Client) Repository(owner, name string) *Repository {
	return &Repository{client: c, owner: owner, name: name}
}

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
	// Minted is the time of its creation in this run; zero for an older token. A new token may not be accepted by all
	// servers of GitHub yet.
	Minted time.Time
	// Expires is the time of its expiry; zero if unknown.
	Expires time.Time
}

// TokenSource returns the token for the next request.
type TokenSource interface {
	Token(ctx context.Context) (Token, error)
}

// appTokens is a TokenSource of a GitHub App.
type appTokens interface {
	// renew replaces a token that GitHub refuses.
	renew(value string)
	// appID is the id of the App.
	appID() string
}

// StaticToken is the token of a variable; empty for no token.
type StaticToken string

// Token returns the token.
func (s StaticToken) Token(context.Context) (Token, error) { return Token{Value: string(s)}, nil }

// Format hides the token, with any verb.
func (s StaticToken) Format(f fmt.State, _ rune) { fmt.Fprint(f, "***") }

// Format hides the secret.
func (t Token) Format(f fmt.State, _ rune) { fmt.Fprint(f, "***") }
