package githubtest

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Token is what a secret stands for.
type Token struct {
	// Name is what Request.Token has.
	Name string
	// Login is who acts with it: "github-actions[bot]" if it is empty, another "…[bot]" for an App, a person
	// otherwise.
	Login string
	// Permissions are "read" or "write" by the name of a permission. Anything that is public may be read
	// without.
	Permissions map[string]string
	// Repos are the repositories, as owner/name, that it is for; nil means all.
	Repos []string
	// Expires is when it is refused from; zero means never.
	Expires time.Time
}

// AllPermissions are all that the stand-in knows, for writing.
func AllPermissions() map[string]string {
	return map[string]string{
		"actions": "write", "contents": "write", "issues": "write", "members": "read", "metadata": "read",
		"pull_requests": "write", "statuses": "write",
	}
}

// AddToken makes a secret known, or changes what it stands for.
func (s *Server) AddToken(secret string, token Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addToken(secret, token)
}

func (s *Server) addToken(secret string, token Token) {
	if token.Login == "" {
		token.Login = actionsLogin
	}
	token.Permissions = maps.Clone(token.Permissions)
	s.tokens[secret] = &token
}

const actionsLogin = "github-actions[bot]"

// secretOf is the secret that a request came with.
func secretOf(r *http.Request) string {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch strings.ToLower(scheme) {
	case "token", "bearer":
		return secret
	}
	return ""
}

func (s *Server) tokenName(r *http.Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	secret := secretOf(r)
	switch token := s.tokens[secret]; {
	case token != nil:
		return token.Name
	case secret != "":
		return "unknown"
	}
	return ""
}

// authenticate finds out whose request it is: nil if it does not say.
func (s *Server) authenticate(r *http.Request) *Token {
	if r.Header.Get("Authorization") == "" {
		return nil
	}
	token := s.tokens[secretOf(r)]
	if token == nil || !token.Expires.IsZero() && !s.now().Before(token.Expires) {
		panic(refuse(http.StatusUnauthorized, "Bad credentials"))
	}
	return token
}

// admit lets through who may use the endpoint, in the order in which GitHub looks: who is it, is there such
// a repository, may one write to it, has the token the permission.
func (c *call) admit(r *http.Request) {
	if c.route.needs == "" {
		return
	}
	c.token = c.server.authenticate(r)
	c.repo = c.server.repos[strings.ToLower(c.values["owner"]+"/"+c.values["repo"])]
	if c.repo == nil || c.repo.options.Private && !c.token.reaches(c.repo) {
		panic(notFound())
	}
	c.repo.sync()
	switch {
	case c.token == nil && c.route.writes():
		panic(refuse(http.StatusUnauthorized, "Requires authentication"))
	case !c.permitted():
		panic(c.missing())
	case c.route.writes() && c.repo.options.Archived:
		panic(refuse(http.StatusForbidden, "Repository was archived so is read-only."))
	}
}

// reaches reports whether the token is for a repository.
func (t *Token) reaches(repo *Repo) bool {
	return t != nil && (t.Repos == nil || slices.ContainsFunc(t.Repos, func(name string) bool {
		return strings.EqualFold(name, repo.Name)
	}))
}

// permitted reports whether the token has what the endpoint needs.
func (c *call) permitted() bool {
	if !c.route.writes() && !c.repo.options.Private {
		return true
	}
	if !c.token.reaches(c.repo) {
		return false
	}
	return slices.ContainsFunc(strings.Split(c.needs(), "; "), c.token.has)
}

// needs are the permissions for this request. Of what pull requests and issues share, each has its own.
func (c *call) needs() string {
	item := c.repo.find(c.number("issue_number"))
	if item == nil || c.values["issue_number"] == "" {
		return c.route.needs
	}
	issues, pulls, both := strings.Cut(c.route.needs, "; ")
	if both && item.pull {
		return pulls
	}
	return issues
}

// has reports whether the token has a permission, written "contents=write".
func (t *Token) has(permission string) bool {
	name, access, _ := strings.Cut(permission, "=")
	has := t.Permissions[name]
	return has == "write" || has == access || name == "metadata"
}

// missing is the refusal for a permission that is missing.
func (c *call) missing() *refusal {
	who := "integration"
	if !strings.HasSuffix(c.token.Login, "[bot]") {
		who = "personal access token"
	}
	return refuse(http.StatusForbidden, "Resource not accessible by "+who)
}

// login is who acts.
func (c *call) login() string { return c.token.Login }
