package github

import (
	"context"
	"crypto/rsa"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
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
	owners map[string]*ownership
	bot    botOnce
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
	app := &App{id: id, key: key, grants: map[string]*grant{}, owners: map[string]*ownership{}}
	o.Token = assertions{app, o.orDefaults().Now}
	o.Limits.Apart = time.Nanosecond // GitHub asks for pauses between changes of what people see, and a token is none
	app.client, err = New(o)
	return app, err
}

// Token returns a token for some repositories of an owner, by name, with some permissions: "read" or "write" by
// the names that GitHub's API has for them, such as "pull_requests". One that is still good for five minutes
// is not made again. The Error is of the kind NotFound if the App is not installed for all of them.
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
	return &appSource{a, owner, slices.Clone(repositories), maps.Clone(permissions)}
}

// appSource is an App for some repositories of an owner.
type appSource struct {
	app          *App
	owner        string
	repositories []string
	permissions  map[string]string
}

func (s *appSource) Token(ctx context.Context) (Token, error) {
	return s.app.Token(ctx, s.owner, s.repositories, s.permissions)
}

func (s *appSource) forget(value string) { s.app.forget(value) }

// forget drops a token that GitHub refuses, so that the next one is new.
func (a *App) forget(value string) {
	a.mu.Lock()
	grants := slices.Collect(maps.Values(a.grants))
	a.mu.Unlock()
	for _, g := range grants {
		g.mu.Lock()
		if g.token.Value == value {
			g.token = Token{}
		}
		g.mu.Unlock()
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
