package github

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

const (
	// assertionLife is how long the App's own signature is good for; GitHub takes ten minutes at most.
	assertionLife = 9 * time.Minute
	// clockSkew is by how much the clock of this machine may be ahead.
	clockSkew = time.Minute
)

// App is a GitHub App: the tokens for the repositories of a run, as few as can be, one for all repositories of an owner
// that need the same permissions, and for these only. It may be used by several goroutines at once.
//
// ghinstallation knows numeric ids only, and the clock of the machine; it brings two further modules. What would remain
// of it is the signature, which golang-jwt does.
type App struct {
	AppConfig
	client *Client

	mu     sync.Mutex
	owners map[string]*owner
	scopes map[string]*scope

	botMu sync.Mutex
	bot   gitobject.Identity
}

// AppConfig says which App it is, and what it is for.
type AppConfig struct {
	// ID is its id or client id.
	ID string
	// Server is the GitHub that has the App; the zero Server is github.com.
	Server Server
	// Needs are the permissions on the repositories of a role.
	Needs func(model.Role) Needs
	// Minted is called with each token, before anything is sent with it; nil does nothing.
	Minted func(token string)
}

// Needs are permissions: "read" or "write" by the names that GitHub's API has for them.
type Needs struct {
	// Required are those without which there is no token.
	Required map[string]string
	// Optional are asked for if the owner has granted them. Where one is missing, what needs it fails later, by itself.
	Optional map[string]string
}

var _ credentials.TokenSource = (*App)(nil)

// NewApp returns an App by its private key, the content of the PEM file that GitHub gives out. Of the options the token
// and the URL are not used. It sends nothing yet.
func NewApp(o Options, c AppConfig, privateKey []byte) (*App, error) {
	if strings.Trim(c.ID, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.") != "" || c.ID == "" {
		return nil, errors.New("the id of the GitHub App is its number or its client id")
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(privateKey)
	if err != nil { // the error may repeat what it could not read
		return nil, errors.New("the private key of the GitHub App is not an RSA key in PEM, as GitHub gives it out")
	}
	if c.Minted == nil {
		c.Minted = func(string) {}
	}
	o.API = c.Server.Home()
	o.Token = assertions{c.ID, key, o.orDefaults().Now}
	o.Limits.Apart = time.Nanosecond // GitHub asks for pauses between changes of what people see, and a token is none
	client, err := New(o)
	if err != nil {
		return nil, err
	}
	return &App{AppConfig: c, client: client, owners: map[string]*owner{}, scopes: map[string]*scope{}}, nil
}

// assertions are what an App shows of itself: that it has its private key.
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

// locate finds a repository of the App's own GitHub.
func (a *App) locate(repo string) (Location, bool) {
	at, found := a.Server.Locate(repo)
	return at, found && strings.EqualFold(at.API, a.Server.Home())
}

// scope returns the scope of a repository, and its name there. It is nil for what is not on the App's GitHub.
func (a *App) scope(role model.Role, repo string) (*scope, string) {
	at, found := a.locate(repo)
	if !found {
		return nil, ""
	}
	name, needs := strings.ToLower(at.Owner), a.Needs(role)
	key := fmt.Sprint(name, needs.Required, needs.Optional) // maps are printed in order
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.owners[name] == nil {
		a.owners[name] = &owner{app: a, name: name}
	}
	if a.scopes[key] == nil {
		a.scopes[key] = &scope{owner: a.owners[name], needs: needs, shared: map[string]*sharedToken{}}
	}
	return a.scopes[key], strings.ToLower(at.Name)
}

// Source returns what hands out tokens for the API of a repository, for Options.Token. It hands out none for a
// repository that the App is not installed on.
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
