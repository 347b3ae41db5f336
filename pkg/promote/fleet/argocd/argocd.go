package argocd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

// envToken is the variable with the token, as for the argocd program.
const envToken = "ARGOCD_AUTH_TOKEN"

// maxAnswer is the maximum size of an uncompressed response in bytes: some ten thousand Applications with a few objects each.
const maxAnswer = 256 << 20

// fleet are the clusters of one Argo CD server: each of its Applications with a source in the GitOps branch, at or below the
// path of the output, is a reconciler. assets/swagger.json of Argo CD describes its API.
//
// Sources without a branch (HEAD, or nothing) do not count, because the branch is unknown, nor do Applications with a
// source hydrator, because they sync a commit of another branch.
type fleet struct {
	// server is the URL of Argo CD with its base path.
	server *url.URL
	token  string
	client *api.Client
}

// New returns the fleet "argocd:URL". The query parameters project and selector of the API restrict the Applications. The
// token is in ARGOCD_AUTH_TOKEN_<HOST>, with "_" for each character of the host that is not a letter or digit, else in
// ARGOCD_AUTH_TOKEN.
func New(argument string, o api.Options) (promote.Fleet, error) {
	server, err := readServer(argument)
	if err != nil {
		return nil, err
	}
	token, err := tokenFor(server, o.Getenv)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", server, err)
	}
	a := &fleet{server: server, token: token}
	a.client = &api.Client{Options: o, Subject: a.String(), Secrets: new(credentials.Scrubber), Hints: hints()}
	a.client.Secrets.Add(token)
	sender := api.NewSender(o.Transport, maxAnswer)
	a.client.Send = func(r *http.Request) (*http.Response, error) {
		r.Header.Set("Authorization", "Bearer "+token)
		return sender.Do(r)
	}
	return a, nil
}

func (a *fleet) String() string { return "argocd:" + a.server.String() }

// Query lists all Applications: the parameter repo of the API compares URLs literally, and the parameter fields supports
// neither revisions nor conditions.
func (a *fleet) Query(ctx context.Context, wanted promote.Deployment) ([]promote.ReconcilerStatus, error) {
	list := a.server.JoinPath("api/v1/applications")
	list.RawQuery = a.server.RawQuery
	var answer applicationList
	if _, err := a.client.Get(ctx, list.String(), nil, "a list of Applications", &answer); err != nil {
		return nil, err
	}
	switch meta := answer.Metadata; {
	case meta == nil && answer.Items == nil:
		return nil, a.client.Unexpected("something other than a list of Applications")
	case meta != nil && (meta.Continue != "" || meta.RemainingItemCount != "" && meta.RemainingItemCount != "0"):
		return nil, a.client.Unexpected("only some of its Applications")
	}
	all := applications{byName: map[objectName]*application{}, filtered: a.server.RawQuery != ""}
	for i := range answer.Items {
		all.byName[answer.Items[i].Metadata.objectName] = &answer.Items[i]
	}
	var seen []promote.ReconcilerStatus
	for i := range answer.Items {
		app := &answer.Items[i]
		for _, s := range app.statuses(wanted) {
			seen = append(append(seen, s.ReconcilerStatus), all.inTree(app, s, wanted)...)
		}
	}
	slices.SortFunc(seen, promote.ReconcilerStatus.Compare)
	return seen, nil
}

// hints returns the hints for responses of the API.
func hints() map[int]string {
	return map[int]string{
		api.Untrusted:           "on Linux, SSL_CERT_FILE names a file with the certificate authorities to trust; on other systems, add them to the system's trust store",
		http.StatusOK:           "check the URL: it must be that of the Argo CD API, not of a login proxy",
		http.StatusUnauthorized: envToken + " needs a token that is still valid: argocd account generate-token",
		http.StatusForbidden:    "the account of the token needs the permission to get applications: p, <account>, applications, get, */*, allow",
		http.StatusNotFound:     "check the URL: Argo CD may be served below a path, as in https://example.com/argocd",
	}
}

// readServer parses the URL of an Argo CD server. Its errors do not contain a password.
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
	case u.Scheme == "http" && !(giturl.Address{Host: strings.ToLower(u.Hostname())}).Loopback():
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
		return "", errors.New("the query of its URL is not valid")
	}
	known := []string{"project", "selector"}
	for name := range query {
		if !slices.Contains(known, name) {
			return "", fmt.Errorf("its URL has a parameter %q (%s)", name, diag.DidYouMean(name, known))
		}
	}
	return query.Encode(), nil
}

// notInNames matches the characters of a host that are not allowed in the names of environment variables.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9]`)

// tokenFor returns the token for a server. If ARGOCD_SERVER is set, ARGOCD_AUTH_TOKEN is not sent to other servers.
func tokenFor(server *url.URL, env func(string) string) (string, error) {
	own := envToken + "_" + strings.ToUpper(notInNames.ReplaceAllString(server.Host, "_"))
	token := strings.TrimSpace(env(own))
	if token == "" {
		token = strings.TrimSpace(env(envToken))
		if only := env("ARGOCD_SERVER"); token != "" && only != "" && !sameServer(only, server) {
			return "", fmt.Errorf("%s is for another server, according to ARGOCD_SERVER: set %s", envToken, own)
		}
	}
	switch {
	case token == "":
		return "", fmt.Errorf("no token: set %s, or %s for this server only", envToken, own)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= unicode.MaxASCII }):
		return "", fmt.Errorf("the token in %s or %s contains an invalid character", envToken, own)
	}
	return token, nil
}

// sameServer reports whether ARGOCD_SERVER, which is host, host:port or a URL, names a server. The port is 443 by default,
// as for the argocd program.
func sameServer(text string, server *url.URL) bool {
	if _, rest, found := strings.Cut(text, "://"); found {
		text = rest
	}
	host, _, _ := strings.Cut(strings.ToLower(text), "/")
	named := &url.URL{Host: host}
	return named.Hostname() == server.Hostname() && cmp.Or(named.Port(), "443") == cmp.Or(server.Port(), map[string]string{"http": "80"}[server.Scheme], "443")
}
