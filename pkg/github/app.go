package github

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	gh "github.com/google/go-github/v53/github"
)

const (
	// renewBefore is how long before its end a token is replaced: longer than any one request.
	renewBefore = 5 * time.Minute
	// assertionLife is how long the App's own signature is good for; GitHub takes ten minutes at most.
	assertionLife = 9 * time.Minute
	// clockSkew is by how much the clock of this machine may be ahead.
	clockSkew = time.Minute
)

// App is a GitHub App, which makes tokens of its own: for one owner each, for some repositories, with some
// permissions, for an hour. It may be used by several goroutines at once.
//
// bradleyfalzon/ghinstallation does the same by the clock of the machine and with one set of permissions for each
// transport; what would remain of it is the signature, which golang-jwt does.
type App struct {
	id     string
	key    *rsa.PrivateKey
	client *Client

	mu     sync.Mutex
	grants map[string]*grant
}

// grant is a token and the lock under which it is made: others wait for it instead of making their own.
type grant struct {
	mu    sync.Mutex
	token Token
}

// NewApp returns the App of an id (or client id) and a private key, the content of the PEM file that GitHub
// gives out. Of the options the token is not used. It sends nothing yet.
func NewApp(o Options, id string, privateKey []byte) (*App, error) {
	if strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.") != "" || id == "" {
		return nil, errors.New("the id of the GitHub App is its number or its client id")
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(privateKey)
	if err != nil { // the error may repeat what it could not read
		return nil, errors.New("the private key of the GitHub App is not an RSA key in PEM, as GitHub gives it out")
	}
	app := &App{id: id, key: key, grants: map[string]*grant{}}
	o.Token = assertions{app, o.orDefaults().Now}
	app.client, err = New(o)
	return app, err
}

// Token returns a token for some repositories of an owner, by name, with some permissions: "read" or "write" by
// the names that GitHub's API has for them, such as "pull_requests". One that is still good for five minutes
// is not made again. All must be installed together: they are found by the first one.
func (a *App) Token(ctx context.Context, owner string, repositories []string, permissions map[string]string) (Token, error) {
	if len(repositories) == 0 || len(permissions) == 0 { // GitHub takes none for all
		return Token{}, errors.New("a token of a GitHub App is for some repositories and permissions: none are named")
	}
	g := a.grant(grantKey(owner, repositories, permissions))
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := a.client.wire.Now(); g.token.Value != "" && now.Add(renewBefore).Before(g.token.Expires) {
		return g.token, nil
	}
	token, err := a.mint(ctx, owner, repositories, permissions)
	if err != nil {
		return Token{}, err
	}
	g.token = token
	return token, nil
}

// Source returns what Token returns, again and again, for Options.Token.
func (a *App) Source(owner string, repositories []string, permissions map[string]string) TokenSource {
	return &installation{a, owner, slices.Clone(repositories), maps.Clone(permissions)}
}

// installation is an App as it is let in by an owner.
type installation struct {
	app          *App
	owner        string
	repositories []string
	permissions  map[string]string
}

func (i *installation) Token(ctx context.Context) (Token, error) {
	return i.app.Token(ctx, i.owner, i.repositories, i.permissions)
}

// forget drops a token that GitHub refuses, so that the next one is new.
func (i *installation) forget(value string) {
	g := i.app.grant(grantKey(i.owner, i.repositories, i.permissions))
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token.Value == value {
		g.token = Token{}
	}
}

func (a *App) grant(key string) *grant {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.grants[key] == nil {
		a.grants[key] = &grant{}
	}
	return a.grants[key]
}

// grantKey is the same for what is the same, whatever the order. No name has a space.
func grantKey(owner string, repositories []string, permissions map[string]string) string {
	key := strings.ToLower(owner)
	for _, name := range slices.Sorted(slices.Values(repositories)) {
		key += " " + strings.ToLower(name)
	}
	for _, name := range slices.Sorted(maps.Keys(permissions)) {
		key += " " + name + "=" + permissions[name]
	}
	return key
}

// mint makes a token.
func (a *App) mint(ctx context.Context, owner string, repositories []string, permissions map[string]string) (Token, error) {
	at := a.client.Repository(owner, repositories[0])
	found, _, err := a.client.api.Apps.FindRepositoryInstallation(ctx, at.owner, at.name)
	if err != nil {
		return Token{}, a.explain(at, operation{act: "find the installation of the GitHub App"}, err)
	}
	// go-github has a field for each permission that there was in 2023; GitHub reads a map by name.
	request, err := a.client.api.NewRequest(http.MethodPost, fmt.Sprintf("app/installations/%d/access_tokens", found.GetID()), map[string]any{
		"repositories": repositories, "permissions": permissions,
	})
	if err != nil {
		return Token{}, a.explain(at, operation{act: "ask for a token of the GitHub App"}, err)
	}
	var minted gh.InstallationToken
	if _, err := a.client.api.Do(mayRepeat(ctx), request, &minted); err != nil {
		return Token{}, a.explain(at, operation{act: "ask for a token of the GitHub App"}, err)
	}
	if minted.GetToken() == "" || minted.GetExpiresAt().IsZero() {
		return Token{}, a.explain(at, operation{act: "ask for a token of the GitHub App"},
			&Error{Kind: Unavailable, Message: "GitHub's answer is incomplete"})
	}
	a.client.wire.Secrets.Add(minted.GetToken())
	return Token{Value: minted.GetToken(), Minted: a.client.wire.Now(), Expires: minted.GetExpiresAt().Time}, nil
}

// explain adds what is particular about Apps.
func (a *App) explain(at *Repository, op operation, err error) error {
	explained := at.explain(op, err)
	var e *Error
	if !errors.As(explained, &e) {
		return explained
	}
	switch e.Status {
	case http.StatusUnauthorized:
		e.Hint = fmt.Sprintf("the id %s and the private key must be of the same GitHub App, and the clock of this machine right", a.id)
	case http.StatusNotFound:
		e.Hint = fmt.Sprintf("install the GitHub App %s for %s, with access to this repository", a.id, at.owner)
	case http.StatusUnprocessableEntity, http.StatusForbidden:
		e.Kind = Denied
		e.Hint = "the installation must have access to the repositories, and its owner must have granted the permissions that are asked for"
	}
	return e
}

// assertions are what an App shows of itself: that it has its private key.
type assertions struct {
	app *App
	now func() time.Time
}

func (a assertions) Token(context.Context) (Token, error) {
	now := a.now()
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer:    a.app.id,
		IssuedAt:  jwt.NewNumericDate(now.Add(-clockSkew)),
		ExpiresAt: jwt.NewNumericDate(now.Add(assertionLife)),
	}).SignedString(a.app.key)
	if err != nil {
		return Token{}, errors.New("the private key of the GitHub App cannot sign")
	}
	return Token{Value: signed}, nil
}
