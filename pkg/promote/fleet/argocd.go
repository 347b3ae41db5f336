package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// envArgoCDToken is where the argocd program has its token too.
const envArgoCDToken = "ARGOCD_AUTH_TOKEN"

// argoCD is the fleet of one Argo CD: each of its Applications with a source in our branch, at or below our path, is a
// reconciler. Its API is described in assets/swagger.json of Argo CD.
//
// Sources that name no branch (HEAD, or nothing) do not count, as it is not known which branch that is, nor do
// Applications that hydrate: what they sync is a commit of another branch.
type argoCD struct {
	// server is where Argo CD is found, with the path that it is served below.
	server *url.URL
	// list asks for the Applications.
	list   *url.URL
	token  string
	client *http.Client
	o      Options
}

// newArgoCD reads what follows "argocd:": the URL of Argo CD, with the query parameters project and selector of its API
// if only some of its Applications are to be asked for. The token is ARGOCD_AUTH_TOKEN_<HOST>, with each character of
// the host that is no letter or digit written "_", for who has several servers, else ARGOCD_AUTH_TOKEN.
func newArgoCD(argument string, o Options) (promote.Fleet, error) {
	server, err := argoServer(argument)
	if err != nil {
		return nil, fmt.Errorf("--fleet argocd: %w", err)
	}
	token, err := argoToken(server, o.Env)
	if err != nil {
		return nil, fmt.Errorf("--fleet argocd:%s: %w", server, err)
	}
	list := server.JoinPath("api/v1/applications")
	list.RawQuery = server.RawQuery
	a := &argoCD{server: server, list: list, token: token, o: o}
	a.client = &http.Client{Transport: o.Transport, CheckRedirect: a.checkRedirect}
	return a, nil
}

func (a *argoCD) String() string { return "argocd:" + a.server.String() }

// Look asks for all Applications, which is what its API has: its parameter repo compares URLs letter by letter, and
// its parameter fields knows neither revisions nor conditions.
func (a *argoCD) Look(ctx context.Context, wanted promote.Deployment) ([]promote.Sighting, error) {
	var seen []promote.Sighting
	err := a.ask(ctx, func(answer *http.Response) error {
		seen = nil
		return readArgoApplications(answer.Body, maxArgoAnswer, func(app *argoApplication) error {
			ours, err := app.sightings(wanted)
			seen = append(seen, ours...)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(seen, func(x, y promote.Sighting) int {
		if c := strings.Compare(x.Cluster, y.Cluster); c != 0 {
			return c
		}
		return strings.Compare(x.Reconciler, y.Reconciler)
	})
	return seen, nil
}

// argoServer reads the URL of an Argo CD. No error repeats a password.
func argoServer(text string) (*url.URL, error) {
	if text == "" {
		return nil, errors.New("name its URL: argocd:https://argocd.example.com")
	}
	u, err := url.Parse(text)
	shown, _, _ := strings.Cut(text, "?")
	switch {
	case err != nil || strings.Contains(text, "@"):
		return nil, errors.New("its URL is not valid, or has a user or password in it: the token is read from " + envArgoCDToken)
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return nil, fmt.Errorf("%q is not the URL of an Argo CD: write https://argocd.example.com", shown)
	case u.Scheme == "http" && !argoLoopback(u.Hostname()):
		return nil, fmt.Errorf("%q is not encrypted: the token is sent over https only", shown)
	case u.Fragment != "":
		return nil, fmt.Errorf("%q is the URL of a page: write the one that Argo CD is served at", shown)
	}
	query, err := argoQuery(u)
	if err != nil {
		return nil, err
	}
	u.RawQuery, u.ForceQuery = query, false
	u.Host = strings.ToLower(u.Host)
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

func argoQuery(u *url.URL) (string, error) {
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

// argoLoopback tells whether a host is this machine, so that nobody overhears plain http.
func argoLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// argoToken returns the token for a server. ARGOCD_SERVER, if the argocd program has been told which server the token is
// for, keeps it from all others.
func argoToken(server *url.URL, env func(string) string) (string, error) {
	if env == nil {
		env = func(string) string { return "" }
	}
	own := envArgoCDToken + "_" + strings.ToUpper(strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, server.Host))
	token := strings.TrimSpace(env(own))
	if token == "" {
		token = strings.TrimSpace(env(envArgoCDToken))
		if only := env("ARGOCD_SERVER"); token != "" && only != "" && !argoSameServer(only, server) {
			return "", fmt.Errorf("%s is for another server, as ARGOCD_SERVER says: set %s", envArgoCDToken, own)
		}
	}
	switch {
	case token == "":
		return "", fmt.Errorf("there is no token: set %s, or %s for this server only", envArgoCDToken, own)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= unicode.MaxASCII }):
		return "", fmt.Errorf("the token in %s or %s has a character in it that no token has", envArgoCDToken, own)
	}
	return token, nil
}

// argoSameServer tells whether ARGOCD_SERVER, which is host, host:port or a URL, names a server.
func argoSameServer(text string, server *url.URL) bool {
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
