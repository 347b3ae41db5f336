package githubtest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// registry is all that a server knows.
type registry struct {
	site
	repos  map[string]*Repo  // by lower-case owner/name
	tokens map[string]*Token // by secret
	apps   []*App
	minted int // tokens of Apps
	log
}

// AddRepo makes a repository.
func (g *registry) AddRepo(name string, options RepoOptions) *Repo {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := newRepo(&g.site, len(g.repos)+1, name, options)
	g.repos[strings.ToLower(name)] = r
	return r
}

// Repo returns the repository of that name, or nil.
func (g *registry) Repo(name string) *Repo {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.repos[strings.ToLower(name)]
}

// findPull finds a pull request by its global id.
func (g *registry) findPull(id string) (*Repo, *item) {
	for _, repo := range g.repos {
		for _, i := range repo.items {
			if i.pull && i.nodeID(repo) == id {
				return repo, i
			}
		}
	}
	return nil, nil
}

// AddToken makes a secret known, or changes what it stands for.
func (g *registry) AddToken(secret string, token Token) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.addToken(secret, token)
}

func (g *registry) addToken(secret string, token Token) {
	if token.Login == "" {
		token.Login = actionsLogin
	}
	token.Permissions = maps.Clone(token.Permissions)
	g.tokens[secret] = &token
}

// AddApp makes an App known. A new key ends the installations of an App that have another one.
func (g *registry) AddApp(app App) {
	g.mu.Lock()
	defer g.mu.Unlock()
	app.Permissions = maps.Clone(app.Permissions)
	g.apps = append(slices.DeleteFunc(g.apps, func(old *App) bool { return old.ID == app.ID && !app.Key.Equal(old.Key) }), &app)
}

// Minted are the tokens that Apps were given so far, in order, in lines such as
// "acme/a acme/b: contents=read".
func (g *registry) Minted() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var lines []string
	for n := range g.minted {
		token := g.tokens[mintedSecret(n+1)]
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

// secretOf is the secret that a request came with.
func secretOf(r *http.Request) string {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch strings.ToLower(scheme) {
	case "token", "bearer":
		return secret
	}
	return ""
}

func (g *registry) tokenName(r *http.Request) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	secret := secretOf(r)
	switch token := g.tokens[secret]; {
	case token != nil:
		return token.Name
	case secret != "":
		return "unknown"
	}
	return ""
}

// token is what a secret stands for until it expires; nil if nothing.
func (g *registry) token(secret string) *Token {
	token := g.tokens[secret]
	if token == nil || !token.Expires.IsZero() && !g.now().Before(token.Expires) {
		return nil
	}
	return token
}

// authenticate finds out whose request it is: nil if it does not say.
func (g *registry) authenticate(r *http.Request) *Token {
	if r.Header.Get("Authorization") == "" {
		return nil
	}
	token := g.token(secretOf(r))
	if token == nil {
		panic(refuse(http.StatusUnauthorized, "Bad credentials"))
	}
	return token
}
