package githubtest

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// App is a GitHub App as it is installed for one owner. An App that several owners have let in is added once for
// each, with the same ID, Slug and Key.
type App struct {
	// ID is what its requests are signed with. ClientID does too, if it is set.
	ID       int
	ClientID string
	// Slug is its name: it acts as slug[bot], a user whose id is Bot.
	Slug string
	Bot  int
	// Key checks its signatures.
	Key *rsa.PublicKey
	// Owner is whose installation it is, Installation the number of that.
	Owner        string
	Installation int
	// Repos are the repositories, as owner/name, that it is installed on; nil means all of the owner.
	Repos []string
	// Permissions are what it was granted.
	Permissions map[string]string
	Suspended   bool
}

// tokenLife is how long a token of an App is good, and signatureLife how long a signature may be.
const (
	tokenLife     = time.Hour
	signatureLife = 10 * time.Minute
)

// AddApp makes an App known.
func (s *Server) AddApp(app App) {
	s.mu.Lock()
	defer s.mu.Unlock()
	app.Permissions = maps.Clone(app.Permissions)
	s.apps = append(s.apps, &app)
}

// installedOn tells whether the App may see a repository.
func (a *App) installedOn(name string) bool {
	owner, _, _ := strings.Cut(name, "/")
	return strings.EqualFold(owner, a.Owner) && (a.Repos == nil || slices.ContainsFunc(a.Repos, func(one string) bool {
		return strings.EqualFold(one, name)
	}))
}

// app finds out which App signed a request.
func (c *call) app() (*App, error) {
	s := c.server
	var signer *App
	claims, err := jwt.ParseWithClaims(c.secret, &jwt.RegisteredClaims{}, func(unchecked *jwt.Token) (any, error) {
		issuer, err := unchecked.Claims.GetIssuer()
		for _, app := range s.apps {
			if err == nil && issuer != "" && (issuer == strconv.Itoa(app.ID) || issuer == app.ClientID) {
				signer = app
				return app.Key, nil
			}
		}
		return nil, errors.New("no such App")
	}, jwt.WithValidMethods([]string{"RS256"}), jwt.WithTimeFunc(s.now), jwt.WithExpirationRequired(), jwt.WithIssuedAt())
	if signer == nil {
		return nil, refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
	}
	expires, _ := claims.Claims.GetExpirationTime()
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return nil, refuse(http.StatusUnauthorized,
			"'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	case errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return nil, refuse(http.StatusUnauthorized,
			"'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	case err != nil:
		return nil, refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
	case expires.After(s.now().Add(signatureLife)):
		return nil, refuse(http.StatusUnauthorized, "'Expiration time' claim ('exp') is too far in the future")
	}
	return signer, nil
}

// installation finds the App as it is installed for an owner; nil if it is not.
func (c *call) installation(of func(*App) bool) (*App, error) {
	signer, err := c.app()
	if err != nil {
		return nil, err
	}
	for _, app := range c.server.apps {
		if app.ID == signer.ID && of(app) {
			return app, nil
		}
	}
	return nil, notFound()
}

func (c *call) showInstallation() (answer, error) {
	repo := c.server.repos[strings.ToLower(c.values["owner"]+"/"+c.values["repo"])]
	app, err := c.installation(func(app *App) bool { return repo != nil && app.installedOn(repo.Name) })
	if err != nil {
		return answer{}, err
	}
	return c.installationOf(app)
}

// showOwnerInstallation serves owners of both sorts, as GitHub does.
func (c *call) showOwnerInstallation() (answer, error) {
	app, err := c.installation(func(app *App) bool { return strings.EqualFold(app.Owner, c.values["username"]) })
	if err != nil {
		return answer{}, err
	}
	return c.installationOf(app)
}

func (c *call) installationOf(app *App) (answer, error) {
	url := fmt.Sprintf("%s/app/installations/%d", c.server.URL, app.Installation)
	return ok(object{
		"id": app.Installation, "app_id": app.ID, "app_slug": app.Slug, "account": c.server.user(app.Owner),
		"target_type": "Organization", "target_id": 1, "repository_selection": app.selection(),
		"access_tokens_url": url + "/access_tokens", "permissions": app.Permissions, "events": []string{},
		"html_url":     fmt.Sprintf("%s/organizations/%s/settings/installations/%d", c.server.WebURL, app.Owner, app.Installation),
		"suspended_at": app.suspendedAt(),
	})
}

func (c *call) showApp() (answer, error) {
	app, err := c.app()
	if err != nil {
		return answer{}, err
	}
	return ok(object{
		"id": app.ID, "slug": app.Slug, "name": app.Slug, "description": nil, "external_url": c.server.WebURL,
		"html_url": c.server.WebURL + "/apps/" + app.Slug, "owner": c.server.user(app.Owner), "permissions": app.Permissions,
	})
}

// showUser knows the bots of Apps. What an App signs itself does not open it.
func (c *call) showUser() (answer, error) {
	if c.secret != "" && c.server.tokens[c.secret] == nil {
		return answer{}, refuse(http.StatusUnauthorized, "Bad credentials")
	}
	for _, app := range c.server.apps {
		if login := app.Slug + "[bot]"; strings.EqualFold(login, c.values["username"]) {
			user := c.server.user(login)
			user["id"] = app.Bot
			return ok(user)
		}
	}
	return answer{}, notFound()
}

func (a *App) selection() string {
	if a.Repos == nil {
		return "all"
	}
	return "selected"
}

func (a *App) suspendedAt() any {
	if a.Suspended {
		return orNull(Midnight())
	}
	return nil
}

func (c *call) mintToken() (answer, error) {
	app, err := c.installation(func(app *App) bool { return app.Installation == c.number("installation_id") })
	if err != nil {
		return answer{}, err
	}
	asked, err := decode[struct {
		Repositories []string
		Permissions  map[string]string
	}](c)
	if err != nil {
		return answer{}, err
	}
	if app.Suspended {
		return answer{}, refuse(http.StatusForbidden, "This installation has been suspended")
	}
	token, err := c.server.narrow(app, asked.Repositories, asked.Permissions)
	if err != nil {
		return answer{}, err
	}
	c.server.minted++
	secret := mintedSecret(c.server.minted)
	token.Name = fmt.Sprintf("%s #%d", app.Slug, c.server.minted)
	c.server.addToken(secret, token)
	return created(c.server.tokenJSON(secret, token, len(asked.Repositories) > 0))
}

// narrow is a token of an App for some repositories, named without owner, and permissions; none mean all.
func (s *Server) narrow(app *App, names []string, permissions map[string]string) (Token, error) {
	token := Token{Login: app.Slug + "[bot]", Permissions: app.Permissions, Repos: []string{}, Expires: s.now().Add(tokenLife)}
	for _, repo := range s.repos {
		if app.installedOn(repo.Name) && len(names) == 0 {
			token.Repos = append(token.Repos, repo.Name)
		}
	}
	for _, name := range names {
		repo := s.repos[strings.ToLower(app.Owner+"/"+name)]
		if repo == nil || !app.installedOn(repo.Name) {
			return Token{}, refuse(http.StatusUnprocessableEntity, "There is at least one repository that does not exist "+
				"or is not accessible to the parent installation.")
		}
		token.Repos = append(token.Repos, repo.Name)
	}
	granted := Token{Permissions: app.Permissions}
	for name, access := range permissions {
		if !granted.has(name + "=" + access) {
			return Token{}, refuse(http.StatusUnprocessableEntity,
				"The permissions requested are not granted to this installation.")
		}
	}
	if len(permissions) > 0 {
		token.Permissions = permissions
	}
	slices.Sort(token.Repos)
	return token, nil
}

func (s *Server) tokenJSON(secret string, token Token, selected bool) object {
	o := object{
		"token": secret, "expires_at": orNull(token.Expires), "permissions": token.Permissions,
		"repository_selection": "all",
	}
	if selected {
		o["repository_selection"] = "selected"
		repos := []object{}
		for _, name := range token.Repos {
			repos = append(repos, s.repos[strings.ToLower(name)].json())
		}
		o["repositories"] = repos
	}
	return o
}
