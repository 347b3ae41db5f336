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

// App is a GitHub App as it is installed for one owner. An App that several owners have installed is added once for
// each, with the same ID, Slug and Key.
type App struct {
	// ID is what its requests are signed with.
	ID int
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

// AddApp makes an App known. A new key ends the installations of an App that have another one.
func (s *Server) AddApp(app App) {
	s.mu.Lock()
	defer s.mu.Unlock()
	app.Permissions = maps.Clone(app.Permissions)
	s.apps = append(slices.DeleteFunc(s.apps, func(old *App) bool { return old.ID == app.ID && !app.Key.Equal(old.Key) }), &app)
}

// installedOn reports whether the App may see a repository.
func (a *App) installedOn(name string) bool {
	owner, _, _ := strings.Cut(name, "/")
	return strings.EqualFold(owner, a.Owner) && (a.Repos == nil || slices.ContainsFunc(a.Repos, func(one string) bool {
		return strings.EqualFold(one, name)
	}))
}

// app returns the App that signed a request.
func (c *call) app() *App {
	s := c.server
	var signer *App
	claims, err := jwt.ParseWithClaims(c.secret, &jwt.RegisteredClaims{}, func(unchecked *jwt.Token) (any, error) {
		issuer, err := unchecked.Claims.GetIssuer()
		for _, app := range s.apps {
			if err == nil && issuer == strconv.Itoa(app.ID) {
				signer = app
				return app.Key, nil
			}
		}
		return nil, errors.New("no such App")
	}, jwt.WithValidMethods([]string{"RS256"}), jwt.WithTimeFunc(s.now), jwt.WithExpirationRequired(), jwt.WithIssuedAt())
	if err == nil {
		if expires := must(claims.Claims.GetExpirationTime()); expires.After(s.now().Add(signatureLife)) {
			err = errors.New("'Expiration time' claim ('exp') is too far in the future")
		}
	}
	if err != nil {
		panic(refuse(http.StatusUnauthorized, "A JSON web token could not be decoded: "+err.Error()))
	}
	return signer
}

// installation returns the App that signed the request as it is installed for an owner.
func (c *call) installation(of func(*App) bool) *App {
	signer := c.app()
	for _, app := range c.server.apps {
		if app.ID == signer.ID && of(app) {
			return app
		}
	}
	panic(notFound())
}

func (c *call) showInstallation() answer {
	repo := c.server.repos[strings.ToLower(c.values["owner"]+"/"+c.values["repo"])]
	return c.installationOf(c.installation(func(app *App) bool { return repo != nil && app.installedOn(repo.Name) }))
}

// showOwnerInstallation serves owners of both sorts, as GitHub does.
func (c *call) showOwnerInstallation() answer {
	return c.installationOf(c.installation(func(app *App) bool { return strings.EqualFold(app.Owner, c.values["username"]) }))
}

func (c *call) installationOf(app *App) answer {
	o := object{
		"id": app.Installation, "permissions": app.Permissions, "suspended_at": nil,
		"html_url": fmt.Sprintf("%s/organizations/%s/settings/installations/%d", c.server.WebURL, app.Owner, app.Installation),
	}
	if app.Suspended {
		o["suspended_at"] = orNull(Midnight())
	}
	return ok(o)
}

func (c *call) showApp() answer { return ok(object{"slug": c.app().Slug}) }

// showUser knows the bots of Apps. What an App signs itself does not open it.
func (c *call) showUser() answer {
	if c.secret != "" && c.server.tokens[c.secret] == nil {
		panic(refuse(http.StatusUnauthorized, "Bad credentials"))
	}
	for _, app := range c.server.apps {
		if login := app.Slug + "[bot]"; strings.EqualFold(login, c.values["username"]) {
			user := c.server.user(login)
			user["id"] = app.Bot
			return ok(user)
		}
	}
	panic(notFound())
}

func (c *call) mintToken() answer {
	app := c.installation(func(app *App) bool { return app.Installation == c.number("installation_id") })
	asked := decode[struct {
		Repositories []string
		Permissions  map[string]string
	}](c)
	s := c.server
	token := s.narrow(app, asked.Repositories, asked.Permissions)
	s.minted++
	secret := mintedSecret(s.minted)
	token.Name = fmt.Sprintf("%s #%d", app.Slug, s.minted)
	s.addToken(secret, token)
	return created(object{"token": secret, "expires_at": orNull(token.Expires), "permissions": token.Permissions})
}

// narrow is a token of an App for some repositories, named without owner, and permissions. GitHub takes none for all,
// which nobody should ask for.
func (s *Server) narrow(app *App, names []string, permissions map[string]string) Token {
	const no = http.StatusUnprocessableEntity
	token := Token{Login: app.Slug + "[bot]", Permissions: app.Permissions, Expires: s.now().Add(tokenLife)}
	if len(names) == 0 || len(permissions) == 0 {
		check(errors.New("a token for all that an App may do"))
	}
	for _, name := range names {
		repo := s.repos[strings.ToLower(app.Owner+"/"+name)]
		if repo == nil || !app.installedOn(repo.Name) {
			panic(refuse(no, "There is at least one repository that does not exist or is not accessible to the parent installation."))
		}
		token.Repos = append(token.Repos, repo.Name)
	}
	for name, access := range permissions {
		if !token.has(name + "=" + access) {
			panic(refuse(no, "The permissions requested are not granted to this installation."))
		}
	}
	token.Permissions = permissions
	slices.Sort(token.Repos)
	return token
}

// Minted are the tokens that Apps were given so far, in order, in lines such as
// "acme/a acme/b: contents=read".
func (s *Server) Minted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for n := range s.minted {
		token := s.tokens[mintedSecret(n+1)]
		var permissions []string
		for _, name := range slices.Sorted(maps.Keys(token.Permissions)) {
			permissions = append(permissions, name+"="+token.Permissions[name])
		}
		lines = append(lines, strings.Join(token.Repos, " ")+": "+strings.Join(permissions, " "))
	}
	return lines
}

// mintedSecret is the secret of the nth token of an App.
func mintedSecret(n int) string { return fmt.Sprintf("ghs_%036d", n) }
