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

// Repository returns a repository. It sends nothing yet.
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
