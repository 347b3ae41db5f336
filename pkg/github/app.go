package github

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	gh "github.com/google/go-github/v53/github"
	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/memo"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

const (
	// assertionLife is the validity of the App's own signature; GitHub accepts at most ten minutes.
	assertionLife = 9 * time.Minute
	// clockSkew is the tolerated difference of the clock of this machine.
	clockSkew = time.Minute
)

// App creates the tokens of a GitHub App: one token for all repositories of an owner that need the same permissions, and
// for these only. It is safe for concurrent use.
//
// ghinstallation supports only numeric ids and the clock of the machine, and depends on two further modules. Only its
// signature would be of use, which golang-jwt creates.
type App struct {
	AppConfig
	client *Client

	// installations are those of the App by owner; nil for an owner without one.
	installations memo.Map[string, *installation]
	bot           memo.Map[struct{}, gitobject.Identity]

	mu     sync.Mutex
	scopes map[string]*scope
}

// AppConfig is the configuration of an App.
type AppConfig struct {
	// ID is the App ID or client ID.
	ID string
	// Server is the GitHub that has the App; the zero Server is github.com.
	Server Server
	// Needs returns the permissions for the repositories of a role.
	Needs func(model.Role) Needs
	// Minted is called with each token before its first use; may be nil.
	Minted func(token string)
}

// Needs are permissions: "read" or "write", by their names in GitHub's API.
type Needs struct {
	// Required are the permissions that each token must have.
	Required map[string]string
	// Optional are requested if the owner has granted them. Without one, only requests that need it fail.
	Optional map[string]string
}

var _ credentials.TokenSource = (*App)(nil)

// NewApp returns an App with its private key, the content of the PEM file of GitHub. It ignores the token and the URL of
// the options, and sends no request.
func NewApp(o Options, c AppConfig, privateKey []byte) (*App, error) {
	if strings.Trim(c.ID, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.") != "" || c.ID == "" {
		return nil, errors.New("the ID of the GitHub App must be its number or its client ID")
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(privateKey)
	if err != nil { // the error may contain parts of the key
		return nil, errors.New("the private key of the GitHub App is not an RSA key in PEM, as GitHub provides it")
	}
	if c.Minted == nil {
		c.Minted = func(string) {}
	}
	o.API = c.Server.Home()
	o.Token = assertions{c.ID, key, o.orDefaults().Now}
	o.Limits.Apart = time.Nanosecond // GitHub requires pauses only between changes of content
	client, err := New(o)
	if err != nil {
		return nil, err
	}
	return &App{AppConfig: c, client: client, scopes: map[string]*scope{}}, nil
}

// assertions are signed with the private key of the App.
type assertions struct {
	id  string
	key *rsa.PrivateKey
	now func() time.Time
}

func (a assertions) Token(context.Context) (Token, error) {
	now := a.now()
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer:    a.id,
		IssuedAt:  jwt.NewNumericDate(now.Add(-clockSkew)),
		ExpiresAt: jwt.NewNumericDate(now.Add(assertionLife)),
	}).SignedString(a.key)
	if err != nil {
		return Token{}, errors.New("the private key of the GitHub App cannot sign")
	}
	return Token{Value: signed}, nil
}

// Expect implements credentials.TokenSource.
func (a *App) Expect(role model.Role, repos []string) {
	for _, repo := range repos {
		s, name := a.scope(role, repo)
		if s == nil {
			continue
		}
		s.mu.Lock()
		if !slices.Contains(s.expected, name) {
			s.expected = append(s.expected, name)
		}
		s.mu.Unlock()
	}
}

// Token implements credentials.TokenSource. The error is a giterror.Error, or the end of the context.
func (a *App) Token(ctx context.Context, role model.Role, repo string) (string, error) {
	token, err := a.Source(role, repo).Token(ctx)
	var denied *Error
	switch {
	case err == nil:
		return token.Value, nil
	case ctx.Err() != nil || !errors.As(err, &denied):
		return "", err
	}
	e := &giterror.Error{Rule: giterror.RuleRemoteFailed, Message: fmt.Sprintf("%s: %v", repo, err), Hint: denied.Hint}
	if denied.Kind == Denied {
		e.Rule = giterror.RuleAccessDenied
	}
	return "", e
}

// Advice implements credentials.TokenSource.
func (a *App) Advice(_ model.Role, repo string) string {
	at, found := a.locate(repo)
	if !found {
		return ""
	}
	return fmt.Sprintf("give the GitHub App %s access to %s/%s in its installation for %s", a.ID, at.Owner, at.Name, at.Owner)
}

func (a *App) locate(repo string) (Location, bool) {
	at, found := a.Server.Locate(repo)
	return at, found && strings.EqualFold(at.API, a.Server.Home())
}

// scope returns the scope of a repository and its name; nil if it is not on the App's GitHub.
func (a *App) scope(role model.Role, repo string) (*scope, string) {
	at, found := a.locate(repo)
	if !found {
		return nil, ""
	}
	name, needs := strings.ToLower(at.Owner), a.Needs(role)
	key := fmt.Sprint(name, needs.Required, needs.Optional) // maps are printed in order
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.scopes[key] == nil {
		a.scopes[key] = &scope{app: a, owner: name, needs: needs, shared: map[string]*sharedToken{}}
	}
	return a.scopes[key], strings.ToLower(at.Name)
}

// Source returns the tokens for the API of a repository, for Options.Token. They are empty for a repository without an
// installation of the App.
func (a *App) Source(role model.Role, repo string) TokenSource {
	s, name := a.scope(role, repo)
	return &appSource{a, s, name}
}

type appSource struct {
	app   *App
	scope *scope
	name  string
}

func (s *appSource) Token(ctx context.Context) (Token, error) {
	if s.scope == nil {
		return Token{}, nil
	}
	return s.scope.token(ctx, s.name)
}

func (s *appSource) renew(value string) {
	if s.scope != nil {
		s.scope.renew(value)
	}
}

func (s *appSource) appID() string { return s.app.ID }

// installation is the installation of an App for an owner. go-github has fields for the permissions of 2023 only.
type installation struct {
	ID          int64             `json:"id"`
	URL         string            `json:"html_url"`
	Suspended   *time.Time        `json:"suspended_at"`
	Permissions map[string]string `json:"permissions"`
}

// installed reads the installation for an owner, once; nil if there is none.
func (a *App) installed(ctx context.Context, owner string) (*installation, error) {
	return a.installations.Do(ctx, owner, func() (*installation, error) {
		found, err := a.readInstallation(ctx, owner)
		if isMissing(err) {
			return nil, nil
		}
		return found, err
	})
}

// readInstallation returns the installation for an owner. If there is none, the Error is of the kind NotFound.
func (a *App) readInstallation(ctx context.Context, owner string) (*installation, error) {
	// The path is documented for users; organizations are users here.
	request, err := a.client.api.NewRequest(http.MethodGet, "users/"+url.PathEscape(owner)+"/installation", nil)
	if err != nil {
		return nil, err
	}
	var found installation
	if _, err := a.client.api.Do(ctx, request, &found); err != nil {
		explained := a.explain(owner, "find the installation of the GitHub App", err)
		if explained.Kind == NotFound && strings.Contains(explained.Message, "Integration not found") {
			explained.Kind, explained.Hint = Denied, a.hint() // the App does not exist
		}
		return nil, explained
	}
	return &found, nil
}

func (a *App) installedOn(ctx context.Context, owner, name string) (bool, error) {
	_, _, err := a.client.api.Apps.FindRepositoryInstallation(ctx, owner, name)
	if status(err) == http.StatusNotFound {
		return false, nil
	}
	if err != nil {
		return false, a.explain(owner+"/"+name, "find the installation of the GitHub App", err)
	}
	return true, nil
}

// grants reports whether the owner has granted a permission, to "read" or to "write".
func (i *installation) grants(name, access string) bool {
	granted := i.Permissions[name]
	return granted == access || granted == "write" || granted == "admin"
}

// mintRequest is the request for a token.
type mintRequest struct {
	owner        string
	repositories []string
	permissions  map[string]string
}

// permit returns an error if the installation does not have the permissions.
func (i *installation) permit(app string, r mintRequest) error {
	denied := &Error{Kind: Denied, Repository: r.owner, Act: actMint}
	if i.Suspended != nil {
		denied.Message = "the GitHub App " + app + " is suspended"
		denied.Hint = fmt.Sprintf("an owner of %s ends that at %s", r.owner, i.page())
		return denied
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(r.permissions)) {
		if !i.grants(name, r.permissions[name]) {
			missing = append(missing, strings.ReplaceAll(name, "_", " ")+": "+r.permissions[name])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	denied.Permission = strings.Join(missing, " and ")
	denied.Message = fmt.Sprintf("the GitHub App %s does not have the permission %q there", app, denied.Permission)
	denied.Hint = fmt.Sprintf("add it under “Permissions & events” in the settings of the App; then an owner of %s accepts it at %s", r.owner, i.page())
	return denied
}

func (i *installation) page() string {
	at, err := url.Parse(i.URL)
	if err != nil || at.User != nil || at.Scheme != "https" && at.Scheme != "http" {
		return "the page of its installation"
	}
	return at.String()
}

const actMint = "request a token of the GitHub App"

// mint creates a token. The Error is of the kind NotFound if the App is not installed for all of the repositories.
func (a *App) mint(ctx context.Context, i *installation, r mintRequest) (Token, error) {
	if err := i.permit(a.ID, r); err != nil {
		return Token{}, err
	}
	request, err := a.client.api.NewRequest(http.MethodPost, fmt.Sprintf("app/installations/%d/access_tokens", i.ID), map[string]any{
		"repositories": r.repositories, "permissions": r.permissions,
	})
	if err != nil {
		return Token{}, err
	}
	var minted gh.InstallationToken
	if _, err := a.client.api.Do(mayRepeat(ctx), request, &minted); err != nil {
		explained := a.explain(r.owner, actMint, err)
		if explained.Status == http.StatusUnprocessableEntity { // the permissions are granted: it is the repositories
			explained.Kind = NotFound
			explained.Hint = "give the GitHub App access to them at " + i.page()
		}
		return Token{}, explained
	}
	token := minted.GetToken()
	// It must be valid in a header, and in the line that masks it in the log of a workflow.
	if token == "" || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c >= 0x7f }) || minted.GetExpiresAt().IsZero() {
		return Token{}, a.explain(r.owner, actMint, incomplete())
	}
	a.client.wire.secrets.Add(token)
	a.Minted(token)
	return Token{Value: token, Minted: a.client.wire.Now(), Expires: minted.GetExpiresAt().Time}, nil
}

// explain adds the hints for Apps. about is an owner or a repository.
func (a *App) explain(about, act string, err error) *Error {
	e := a.client.wire.classify(operation{act: act}, err)
	if e.Act == "" {
		e.Repository, e.Act = about, act
	}
	switch e.Status {
	case http.StatusUnauthorized:
		e.Hint = a.hint()
	case http.StatusForbidden, http.StatusUnprocessableEntity:
		e.Kind = Denied
		e.Hint = "the installation must have access to the repositories, and its owner must have granted the requested permissions"
	}
	return e
}

// hint returns the hint for an App that GitHub does not recognize.
func (a *App) hint() string {
	return fmt.Sprintf("the id %s and the private key must be of the same GitHub App, and the clock of this machine must be correct", a.ID)
}

const (
	// renewBefore is the time before its expiry when a token is replaced: longer than any request.
	renewBefore = 5 * time.Minute
	// maxNames is GitHub's maximum number of repositories of one token.
	maxNames = 500
	// maxProbes is the maximum number of concurrent requests for installations.
	maxProbes = 8
)

// scope are the repositories of an owner that need the same permissions.
type scope struct {
	app   *App
	owner string
	needs Needs

	// mu is held while a token is created, which may be for waiting callers, too.
	mu sync.Mutex
	// expected are the names of Expect, in lower case.
	expected []string
	// shared are the tokens by name; nil for a repository without an installation.
	shared map[string]*sharedToken
	// alone is true if each further repository gets its own token.
	alone bool
}

// sharedToken is a token and its repositories. Its value is empty if it must be replaced.
type sharedToken struct {
	repositories []string
	token        Token
}

// token returns a token that is valid for at least five minutes, for name and others; none without an installation.
func (s *scope) token(ctx context.Context, name string) (Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	installation, err := s.app.installed(ctx, s.owner)
	if installation == nil {
		return Token{}, err
	}
	if _, known := s.shared[name]; !known {
		if err := s.share(ctx, name); err != nil {
			return Token{}, err
		}
	}
	shared := s.shared[name]
	if shared == nil {
		return Token{}, nil
	}
	if s.app.client.wire.Now().Add(renewBefore).Before(shared.token.Expires) {
		return shared.token, nil
	}
	token, err := s.mint(ctx, shared.repositories)
	if err == nil {
		shared.token = token
	}
	return token, err
}

// renew removes a token that GitHub refuses, so that the next one is new.
func (s *scope) renew(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, shared := range s.shared {
		if shared != nil && shared.token.Value == value {
			shared.token = Token{}
		}
	}
}

func isMissing(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == NotFound
}

// mint creates a token with the required permissions, and with the optional ones that are granted.
func (s *scope) mint(ctx context.Context, repositories []string) (Token, error) {
	installation, err := s.app.installed(ctx, s.owner) // token has checked that it exists
	if err != nil {
		return Token{}, err
	}
	permissions := maps.Clone(s.needs.Required)
	for name, access := range s.needs.Optional {
		if installation.grants(name, access) {
			permissions[name] = access
		}
	}
	if len(repositories) == 0 || len(permissions) == 0 { // to GitHub, none means all
		return Token{}, errors.New("a token of a GitHub App is for some repositories and permissions: none are named")
	}
	return s.app.mint(ctx, installation, mintRequest{s.owner, repositories, permissions})
}

// share creates a token for name and the expected repositories, else for those of them with an installation, else for name
// alone.
func (s *scope) share(ctx context.Context, name string) error {
	group := s.waiting(name)
	token, err := s.mint(ctx, group)
	if isMissing(err) && len(group) > 1 {
		if group, err = s.installedOn(ctx, group); err != nil {
			return err
		}
		if !slices.Contains(group, name) {
			return nil
		}
		if token, err = s.mint(ctx, group); isMissing(err) { // one of them was renamed
			s.alone, group = true, []string{name}
			token, err = s.mint(ctx, group)
		}
	}
	if isMissing(err) {
		s.shared[name] = nil
		return nil
	}
	if err != nil {
		return err
	}
	shared := &sharedToken{group, token}
	for _, one := range group {
		s.shared[one] = shared
	}
	return nil
}

// waiting returns name and the expected names without a token, up to maxNames.
func (s *scope) waiting(name string) []string {
	group := []string{name}
	for _, one := range s.expected {
		if _, known := s.shared[one]; !known && one != name && !s.alone && len(group) < maxNames {
			group = append(group, one)
		}
	}
	return group
}

// installedOn returns the names of a group with an installation, and records the others.
func (s *scope) installedOn(ctx context.Context, group []string) ([]string, error) {
	is := make([]bool, len(group))
	probes, ctx := errgroup.WithContext(ctx)
	probes.SetLimit(maxProbes)
	for i, name := range group {
		probes.Go(func() (err error) {
			is[i], err = s.app.installedOn(ctx, s.owner, name)
			return err
		})
	}
	if err := probes.Wait(); err != nil {
		return nil, err
	}
	var left []string
	for i, name := range group {
		if is[i] {
			left = append(left, name)
		} else {
			s.shared[name] = nil
		}
	}
	return left, nil
}
