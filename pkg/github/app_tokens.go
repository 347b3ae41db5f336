package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

const (
	// maxNames is how many repositories GitHub takes for one token.
	maxNames = 500
	// maxProbes is how many repositories are asked about at once.
	maxProbes = 8
)

// Needs are permissions: "read" or "write" by the names that GitHub's API has for them.
type Needs struct {
	// Required are those without which there is no token.
	Required map[string]string
	// Optional are asked for if the owner has granted them. Where one is missing, what needs it fails later, by itself.
	Optional map[string]string
}

// AppTokens are the tokens of an App for the repositories of a run, as few as can be: one for all repositories of an
// owner that need the same permissions, and for these only. It may be used by several goroutines at once.
type AppTokens struct {
	app    *App
	server Server
	needs  func(model.Role) Needs

	mu      sync.Mutex
	circles map[string]*circle
}

var _ gitops.TokenSource = (*AppTokens)(nil)

// NewAppTokens returns the tokens of an App for the repositories of the GitHub that server is, else of github.com.
// needs are the permissions on the repositories of a role.
func NewAppTokens(app *App, server Server, needs func(model.Role) Needs) *AppTokens {
	return &AppTokens{app: app, server: server, needs: needs, circles: map[string]*circle{}}
}

// circle are the repositories of an owner that need the same permissions.
type circle struct {
	owner string
	needs Needs

	// mu is held while a token is made: others wait for it, as it may be for them too.
	mu sync.Mutex
	// expected are the names that a token will be asked for, in order, in lower case.
	expected []string
	// sets are the names that share a token, by each of them; nil for what the App is not installed on.
	sets map[string][]string
	// alone says that what has no set yet gets one of its own.
	alone bool
}

// Expect implements gitops.TokenSource.
func (t *AppTokens) Expect(role model.Role, repos []string) {
	for _, repo := range repos {
		at, ours := t.locate(repo)
		if !ours {
			continue
		}
		c := t.circle(at.Owner, role)
		c.mu.Lock()
		if name := strings.ToLower(at.Name); !slices.Contains(c.expected, name) {
			c.expected = append(c.expected, name)
		}
		c.mu.Unlock()
	}
}

// Token implements gitops.TokenSource. The error is a gitops.Error, or the end of the context.
func (t *AppTokens) Token(ctx context.Context, role model.Role, repo string) (string, error) {
	token, err := t.token(ctx, role, repo)
	var denied *Error
	switch {
	case err == nil:
		return token.Value, nil
	case ctx.Err() != nil || !errors.As(err, &denied):
		return "", err
	}
	e := &gitops.Error{Rule: gitops.RuleRemoteFailed, Message: fmt.Sprintf("%s: %v", repo, err), Hint: denied.Hint}
	if denied.Kind == Denied {
		e.Rule = gitops.RuleAccessDenied
	}
	return "", e
}

// Advice implements gitops.TokenSource.
func (t *AppTokens) Advice(_ model.Role, repo string) string {
	at, ours := t.locate(repo)
	if !ours {
		return ""
	}
	return fmt.Sprintf("give the GitHub App %s access to %s/%s in its installation for %s", t.app.id, at.Owner, at.Name, at.Owner)
}

// Source returns what hands out tokens for the API of a repository, for Options.Token.
func (t *AppTokens) Source(role model.Role, repo string) TokenSource {
	return &roleSource{t, role, repo}
}

type roleSource struct {
	tokens *AppTokens
	role   model.Role
	repo   string
}

func (s *roleSource) Token(ctx context.Context) (Token, error) {
	return s.tokens.token(ctx, s.role, s.repo)
}

func (s *roleSource) forget(value string) { s.tokens.app.forget(value) }

// Bot returns who the App is as an author of commits; see App.Bot.
func (t *AppTokens) Bot(ctx context.Context, with *Repository) (gitops.Identity, error) {
	return t.app.Bot(ctx, with, cmp.Or(t.server.URL, serverOf(t.server.API)))
}

// locate finds a repository of the App's own GitHub.
func (t *AppTokens) locate(repo string) (Location, bool) {
	at, found := t.server.Locate(repo)
	return at, found && strings.EqualFold(at.API, t.server.Home())
}

// token returns the zero Token for a repository that the App has nothing to do with.
func (t *AppTokens) token(ctx context.Context, role model.Role, repo string) (Token, error) {
	at, ours := t.locate(repo)
	if !ours {
		return Token{}, nil
	}
	c := t.circle(at.Owner, role)
	set, permissions, err := c.set(ctx, t.app, strings.ToLower(at.Name))
	if err != nil || set == nil {
		return Token{}, err
	}
	return t.app.Token(ctx, c.owner, set, permissions)
}

// circle returns the circle that a repository of an owner is in.
func (t *AppTokens) circle(owner string, role model.Role) *circle {
	needs := t.needs(role)
	owner = strings.ToLower(owner)
	key := grantKey(owner, nil, needs.Required) + " " + grantKey("", nil, needs.Optional)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.circles[key] == nil {
		t.circles[key] = &circle{owner: owner, needs: needs, sets: map[string][]string{}}
	}
	return t.circles[key]
}

// set returns the names that share a token with name, among them name, and what the token permits; none if the App
// is not installed on it.
func (c *circle) set(ctx context.Context, app *App, name string) (set []string, permissions map[string]string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, err := app.installed(ctx, c.owner)
	if missing(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	permissions = c.permissions(found)
	if _, known := c.sets[name]; !known {
		if err := c.assign(ctx, app, name, permissions); err != nil {
			return nil, nil, err
		}
	}
	return c.sets[name], permissions, nil
}

// missing tells whether the App is not installed there.
func missing(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == NotFound
}

// permissions are those that are needed, and of the others those that are granted.
func (c *circle) permissions(found *installation) map[string]string {
	permissions := maps.Clone(c.needs.Required)
	for name, access := range c.needs.Optional {
		if found.grants(name, access) {
			permissions[name] = access
		}
	}
	return permissions
}

// assign finds a set for name: with all that are expected, else with those of them that the App is installed on,
// else by itself.
func (c *circle) assign(ctx context.Context, app *App, name string, permissions map[string]string) error {
	group := c.waiting(name)
	_, err := app.Token(ctx, c.owner, group, permissions)
	if missing(err) && len(group) > 1 {
		if group, err = c.installed(ctx, app, group); err != nil {
			return err
		}
		if _, known := c.sets[name]; known {
			return nil
		}
		if _, err = app.Token(ctx, c.owner, group, permissions); missing(err) { // one of them was renamed
			c.alone, group = true, []string{name}
			_, err = app.Token(ctx, c.owner, group, permissions)
		}
	}
	switch {
	case missing(err):
		c.sets[name] = nil
		return nil
	case err != nil:
		return err
	}
	for _, one := range group {
		c.sets[one] = group
	}
	return nil
}

// waiting are name and those that are expected and have no set yet, as many as fit.
func (c *circle) waiting(name string) []string {
	group := []string{name}
	for _, one := range c.expected {
		if _, known := c.sets[one]; !known && one != name && !c.alone && len(group) < maxNames {
			group = append(group, one)
		}
	}
	return group
}

// installed returns those of a group that the App is installed on, and notes the others.
func (c *circle) installed(ctx context.Context, app *App, group []string) ([]string, error) {
	is := make([]bool, len(group))
	probes, ctx := errgroup.WithContext(ctx)
	probes.SetLimit(maxProbes)
	for i, name := range group {
		probes.Go(func() (err error) {
			is[i], err = app.installedOn(ctx, c.owner, name)
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
			c.sets[name] = nil
		}
	}
	return left, nil
}
