package githubtest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// tokenLife is how long a token of an App is good, and signatureLife how long a signature may be.
const (
	tokenLife     = time.Hour
	signatureLife = 10 * time.Minute
)

// app returns the App that signed a request.
func (c *call) app() *App {
	g := c.registry
	var signer *App
	claims, err := jwt.ParseWithClaims(c.secret, &jwt.RegisteredClaims{}, func(unchecked *jwt.Token) (any, error) {
		issuer, err := unchecked.Claims.GetIssuer()
		for _, app := range g.apps {
			if err == nil && issuer == strconv.Itoa(app.ID) {
				signer = app
				return app.Key, nil
			}
		}
		return nil, errors.New("no such App")
	}, jwt.WithValidMethods([]string{"RS256"}), jwt.WithTimeFunc(g.now), jwt.WithExpirationRequired(), jwt.WithIssuedAt())
	if err == nil {
		if expires := must(claims.Claims.GetExpirationTime()); expires.After(g.now().Add(signatureLife)) {
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
	for _, app := range c.registry.apps {
		if app.ID == signer.ID && of(app) {
			return app
		}
	}
	panic(notFound())
}

func (c *call) showInstallation() answer {
	repo := c.registry.repos[strings.ToLower(c.values["owner"]+"/"+c.values["repo"])]
	return c.installationOf(c.installation(func(app *App) bool { return repo != nil && app.installedOn(repo.Name) }))
}

// showOwnerInstallation serves owners of both sorts, as GitHub does.
func (c *call) showOwnerInstallation() answer {
	return c.installationOf(c.installation(func(app *App) bool { return strings.EqualFold(app.Owner, c.values["username"]) }))
}

func (c *call) installationOf(app *App) answer {
	o := object{
		"id": app.Installation, "permissions": app.Permissions, "suspended_at": nil,
		"html_url": fmt.Sprintf("%s/organizations/%s/settings/installations/%d", c.registry.web, app.Owner, app.Installation),
	}
	if app.Suspended {
		o["suspended_at"] = orNull(Midnight())
	}
	return ok(o)
}

func (c *call) showApp() answer { return ok(object{"slug": c.app().Slug}) }

// showUser knows the bots of Apps. What an App signs itself does not open it.
func (c *call) showUser() answer {
	if c.secret != "" && c.registry.tokens[c.secret] == nil {
		panic(refuse(http.StatusUnauthorized, "Bad credentials"))
	}
	for _, app := range c.registry.apps {
		if login := app.Slug + "[bot]"; strings.EqualFold(login, c.values["username"]) {
			user := c.registry.user(login)
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
	g := c.registry
	token := g.narrow(app, asked.Repositories, asked.Permissions)
	g.minted++
	secret := mintedSecret(g.minted)
	token.Name = fmt.Sprintf("%s #%d", app.Slug, g.minted)
	g.addToken(secret, token)
	return created(object{"token": secret, "expires_at": orNull(token.Expires), "permissions": token.Permissions})
}

// narrow is a token of an App for some repositories, named without owner, and permissions. GitHub takes none for all,
// which nobody should ask for.
func (g *registry) narrow(app *App, names []string, permissions map[string]string) Token {
	const no = http.StatusUnprocessableEntity
	token := Token{Login: app.Slug + "[bot]", Permissions: app.Permissions, Expires: g.now().Add(tokenLife)}
	if len(names) == 0 || len(permissions) == 0 {
		check(errors.New("a token for all that an App may do"))
	}
	for _, name := range names {
		repo := g.repos[strings.ToLower(app.Owner+"/"+name)]
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
