package argocd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// envToken is where the argocd program has its token too.
const envToken = "ARGOCD_AUTH_TOKEN"

// Options are what asking an Argo CD needs of the machine.
type Options struct {
	// Env reads environment variables; nil has none.
	Env func(string) string
	// Transport sends requests; nil means one like http.DefaultTransport.
	Transport http.RoundTripper
	// Sleep waits, or until ctx is done, whose error it then returns.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the clock.
	Now func() time.Time
	// UserAgent names the program to servers.
	UserAgent string
}

// fleet is that of one Argo CD: each of its Applications with a source in our branch, at or below our path, is a
// reconciler. Its API is described in assets/swagger.json of Argo CD.
//
// Sources that name no branch (HEAD, or nothing) do not count, as it is not known which branch that is, nor do
// Applications that hydrate: what they sync is a commit of another branch.
type fleet struct {
	// server is where Argo CD is found, with the path that it is served below.
	server *url.URL
	// list asks for the Applications.
	list   *url.URL
	token  string
	client *http.Client
	o      Options
}

// New reads what follows "argocd:": the URL of Argo CD, with the query parameters project and selector of its API
// if only some of its Applications are to be asked for. The token is ARGOCD_AUTH_TOKEN_<HOST>, with each character of
// the host that is no letter or digit written "_", for who has several servers, else ARGOCD_AUTH_TOKEN.
func New(argument string, o Options) (promote.Fleet, error) {
	server, err := readServer(argument)
	if err != nil {
		return nil, err
	}
	token, err := tokenFor(server, o.Env)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", server, err)
	}
	list := server.JoinPath("api/v1/applications")
	list.RawQuery = server.RawQuery
	a := &fleet{server: server, list: list, token: token, o: o}
	a.client = &http.Client{Transport: o.Transport, CheckRedirect: a.checkRedirect}
	return a, nil
}

func (a *fleet) String() string { return "argocd:" + a.server.String() }

// Look asks for all Applications, which is what its API has: its parameter repo compares URLs letter by letter, and
// its parameter fields knows neither revisions nor conditions.
func (a *fleet) Look(ctx context.Context, wanted promote.Deployment) ([]promote.Sighting, error) {
	var seen []promote.Sighting
	var tree *publishedTree
	err := a.ask(ctx, func(answer *http.Response) error {
		seen, tree = nil, newPublishedTree(wanted)
		return readApplications(answer.Body, maxAnswer, func(app *application) error {
			ours, err := app.sightings(wanted)
			seen = append(seen, ours...)
			tree.note(app, ours)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	seen = append(seen, tree.sightings(a.server.RawQuery != "")...)
	slices.SortFunc(seen, func(x, y promote.Sighting) int {
		if c := strings.Compare(x.Cluster, y.Cluster); c != 0 {
			return c
		}
		return strings.Compare(x.Reconciler, y.Reconciler)
	})
	return seen, nil
}

// readServer reads the URL of an Argo CD. No error repeats a password.
func readServer(text string) (*url.URL, error) {
	if text == "" {
		return nil, errors.New("name its URL: argocd:https://argocd.example.com")
	}
	u, err := url.Parse(text)
	shown, _, _ := strings.Cut(text, "?")
	switch {
	case err != nil || strings.Contains(text, "@"):
		return nil, errors.New("its URL is not valid, or has a user or password in it: the token is read from " + envToken)
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return nil, fmt.Errorf("%q is not the URL of an Argo CD: write https://argocd.example.com", shown)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("%q is not encrypted: the token is sent over https only", shown)
	case u.Fragment != "":
		return nil, fmt.Errorf("%q is the URL of a page: write the one that Argo CD is served at", shown)
	}
	query, err := readQuery(u)
	if err != nil {
		return nil, err
	}
	u.RawQuery, u.ForceQuery = query, false
	u.Host = strings.ToLower(u.Host)
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

func readQuery(u *url.URL) (string, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", errors.New("what follows the ? of its URL is not valid")
	}
	known := []string{"project", "selector"}
	for name := range query {
		if !slices.Contains(known, name) {
			return "", fmt.Errorf("its URL has a parameter %q (%s)", name, diag.DidYouMean(name, known))
		}
	}
	return query.Encode(), nil
}

// loopback tells whether a host is this machine, so that nobody overhears plain http.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// tokenFor returns the token for a server. ARGOCD_SERVER, if the argocd program has been told which server the token is
// for, keeps it from all others.
func tokenFor(server *url.URL, env func(string) string) (string, error) {
	if env == nil {
		env = func(string) string { return "" }
	}
	own := envToken + "_" + strings.ToUpper(strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, server.Host))
	token := strings.TrimSpace(env(own))
	if token == "" {
		token = strings.TrimSpace(env(envToken))
		if only := env("ARGOCD_SERVER"); token != "" && only != "" && !sameServer(only, server) {
			return "", fmt.Errorf("%s is for another server, as ARGOCD_SERVER says: set %s", envToken, own)
		}
	}
	switch {
	case token == "":
		return "", fmt.Errorf("there is no token: set %s, or %s for this server only", envToken, own)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= unicode.MaxASCII }):
		return "", fmt.Errorf("the token in %s or %s has a character in it that no token has", envToken, own)
	}
	return token, nil
}

// sameServer tells whether ARGOCD_SERVER, which is host, host:port or a URL, names a server.
func sameServer(text string, server *url.URL) bool {
	_, rest, found := strings.Cut(text, "://")
	if !found {
		rest = text
	}
	host, _, _ := strings.Cut(rest, "/")
	named := &url.URL{Host: strings.ToLower(host)}
	return named.Hostname() == server.Hostname() && portOrDefault(named) == portOrDefault(server)
}

func portOrDefault(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443" // as the argocd program has it
}
