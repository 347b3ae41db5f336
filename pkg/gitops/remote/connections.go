package remote

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/local"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/memo"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/server"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// connections are the repositories of a run. Each is opened once.
type connections struct {
	*giturl.Resolver
	env     func(string) string
	keys    *credentials.Keyring
	net     *wire.Network
	locals  memo.Map[string, opened]
	servers memo.Map[serverKey, *server.Repository]

	mu sync.Mutex
	// forms are the URLs of repositories on servers, https or ssh, by normal name: those of the first use.
	forms map[string]giturl.Address
	// budgets are the remaining limits of application repositories, by normal name.
	budgets map[string]*wire.Budget
	open    []io.Closer
}

// serverKey identifies a repository on a server: it may be read with different tokens in different roles, and has
// separate limits as an application repository.
type serverKey struct {
	name, origin string
	tenant       bool
}

// opened is the content of a path of this machine: one of the two is set.
type opened struct {
	repo      *local.Repository
	directory *os.Root
}

// Close closes the files of local repositories. Sources that were read from them cannot be used
// afterwards.
func (c *connections) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, file := range c.open {
		errs = append(errs, file.Close())
	}
	c.open = nil
	return errors.Join(errs...)
}

// Scrub returns text without the secrets that the Reader knows.
func (c *connections) Scrub(text string) string { return c.keys.Secret.Clean(text) }

// IsLocal reports whether the repository is a path of this machine, possibly after replacements.
func (c *connections) IsLocal(repo string) bool {
	at, err := c.Locate(model.Ref{Repo: repo})
	return err == nil && at.Address.Local()
}

// Where returns the location of a ref after replacements, in normal form. The error is an *Error.
func (c *connections) Where(ref model.Ref) (string, error) {
	at, err := c.Locate(ref)
	if err != nil {
		return "", c.Clean(err)
	}
	return at.Read, nil
}

// Credential returns the secret for the host of a repository and its origin; git's credential helpers are asked last. Both
// are empty if there is none. A secret whose origin is AppOrigin expires, so it must be requested again. name is in normal
// form. The error is an *Error.
func (c *connections) Credential(ctx context.Context, role model.Role, name string) (secret, origin string, err error) {
	at, err := c.Locate(model.Ref{Repo: name})
	if err != nil || at.Address.Local() {
		return "", "", nil // reading it reports the error, or it needs no credential
	}
	shown, err := c.keys.Known(ctx, role, at.Address)
	if err != nil {
		return "", "", c.Clean(at.Explain(err))
	}
	if shown == nil {
		shown = c.keys.Ask(ctx, at.Address)
	}
	if shown == nil {
		return "", "", nil
	}
	return shown.Password, shown.Origin, nil
}

// exhausted returns the error of a ref whose repository used up its budget, or nil. Refs that were read before fail as
// well, because the order depends on timing.
func (c *connections) exhausted(ref model.Ref) error {
	at, err := c.Locate(ref)
	if err != nil || at.Address.Local() {
		return nil
	}
	return c.connection(at, ref.Role).Exhausted()
}

// Clean removes secrets from an error; nil stays an untyped nil.
func (c *connections) Clean(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, giterror.ErrConflict) {
		return err // it contains names of branches, no secrets
	}
	e, ok := errors.AsType[*giterror.Error](err)
	if !ok {
		e = giterror.New(giterror.RuleInvalidRepository, "%s", giterror.OneLine(err.Error()))
	}
	return c.keys.Secret.CleanError(e)
}

// Prepare decides, before the first request and in the order of the refs, between https and ssh for each repository, and
// which hosts get the tokens.
func (c *connections) Prepare(refs []model.Ref) {
	var places []giturl.Location
	var roles []model.Role
	for _, ref := range refs {
		if at, err := c.Locate(ref); err == nil && !at.Address.Local() {
			places, roles = append(places, at), append(roles, ref.Role)
		}
	}
	c.expect(places, roles)
}

// expect is Prepare for repositories on servers, with the role of each.
func (c *connections) expect(places []giturl.Location, roles []model.Role) {
	hosts := map[string][]string{}
	reached := map[model.Role][]giturl.Address{}
	for i, at := range places {
		if a := c.form(at); a.Scheme != "ssh" {
			variable := credentials.RoleVariable(roles[i])
			hosts[variable] = append(hosts[variable], a.Authority())
			reached[roles[i]] = append(reached[roles[i]], a)
		}
	}
	c.keys.Bind(hosts)
	c.keys.Expect(reached)
}

// form returns the URL, ssh or https, of the first use of a repository on a server.
func (c *connections) form(at giturl.Location) giturl.Address {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.forms[at.Read]; ok {
		return a
	}
	c.forms[at.Read] = at.Address
	return at.Address
}

// Local returns a repository on this machine; nil if there is none or it cannot be opened, which reading it reports.
func (c *connections) Local(ctx context.Context, repo string) *local.Repository {
	at, err := c.Locate(model.Ref{Repo: repo})
	if err != nil || !at.Address.Local() {
		return nil
	}
	found, err := c.openAt(ctx, at)
	if err != nil {
		return nil
	}
	return found.repo
}

// CheckedOut returns the branch that a clone on this machine has checked out; empty if there is none.
func (c *connections) CheckedOut(ctx context.Context, repo string) string {
	if found := c.Local(ctx, repo); found != nil && found.WorkTree != "" {
		return found.CheckedOut()
	}
	return ""
}

// Nearest returns the first of the candidates of whose history a branch of a clone on this machine has the most; empty if
// this cannot be told.
func (c *connections) Nearest(ctx context.Context, repo, branch string, candidates []string) string {
	if found := c.Local(ctx, repo); found != nil {
		return found.Nearest(ctx, branch, candidates)
	}
	return ""
}

// CloneRemote returns the remote of a clone on this machine and its URL, as local.Repository.Upstream does. Both are
// empty if the repository is no such clone or cannot be opened.
func (c *connections) CloneRemote(ctx context.Context, repo, branch string) (remote, url string, err error) {
	if found := c.Local(ctx, repo); found != nil {
		return found.Upstream(branch)
	}
	return "", "", nil
}

// tipsAt lists the branches that the remote of a clone has now. A replacement with the clone itself is not one.
func (c *connections) tipsAt(ctx context.Context, clone *local.Repository, url string) (map[string]plumbing.Hash, error) {
	at, err := c.Own().Locate(model.Ref{Repo: url})
	if err != nil {
		return nil, err
	}
	if at.Address.Local() {
		found, err := c.openAt(ctx, at)
		if err != nil || found.repo == nil || found.repo.ID() == clone.ID() {
			return nil, err
		}
		return found.repo.Tips(ctx)
	}
	c.expect([]giturl.Location{at}, []model.Role{model.Main})
	repo, err := c.server(ctx, at, model.Main, true)
	if err != nil {
		return nil, err
	}
	return repo.Branches(), nil
}

// Repository opens a repository, once; it is nil for a plain directory.
func (c *connections) Repository(ctx context.Context, at giturl.Location, role model.Role) (Repository, error) {
	if !at.Address.Local() {
		repo, err := c.server(ctx, at, role, false)
		if err != nil {
			return nil, err
		}
		return repo, nil
	}
	found, err := c.openAt(ctx, at)
	if err != nil || found.directory != nil {
		return nil, err
	}
	return found.repo, nil
}

// server connects to a repository, once; with now it connects again, for the current tips of the branches.
func (c *connections) server(ctx context.Context, at giturl.Location, role model.Role, now bool) (*server.Repository, error) {
	at.Address = c.form(at)
	known, err := c.keys.Known(ctx, role, at.Address)
	if err != nil {
		return nil, at.Explain(err)
	}
	connect := func() (*server.Repository, error) { return c.connection(at, role).Connect(ctx, known) }
	if now {
		return connect()
	}
	key := serverKey{name: at.Read, tenant: role == model.Tenant}
	if known != nil {
		key.origin = known.Origin
	}
	return c.servers.Do(ctx, key, connect)
}

func (c *connections) connection(at giturl.Location, role model.Role) *server.Connection {
	return &server.Connection{At: at, Role: role, Net: c.net, Keys: c.keys, Budget: c.budgetOf(at, role)}
}

// budgetOf returns the budget of a repository in a role; nil for the platform's roles. A repository with both roles has
// a budget only as an application repository.
func (c *connections) budgetOf(at giturl.Location, role model.Role) *wire.Budget {
	if role != model.Tenant {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b, known := c.budgets[at.Read]
	if !known {
		b = wire.NewBudget(c.net.Limits.Tenant)
		c.budgets[at.Read] = b
	}
	return b
}

func (c *connections) openAt(ctx context.Context, at giturl.Location) (opened, error) {
	file := at.Address.Path
	if rest, found := strings.CutPrefix(file, "~/"); found && c.env("HOME") != "" {
		file = filepath.Join(c.env("HOME"), rest)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return opened{}, giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %v", at, err)
	}
	return c.locals.Do(ctx, file, func() (found opened, err error) {
		found.repo, found.directory, err = local.Open(at.Read, file, c.net.Limits.Object)
		switch {
		case err != nil:
		case found.repo != nil:
			c.keepOpen(found.repo)
		default:
			c.keepOpen(found.directory)
		}
		return found, err
	})
}

func (c *connections) keepOpen(file io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, file)
}
