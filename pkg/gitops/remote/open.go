package remote

import (
	"cmp"
	"context"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Repository opens a repository, once; it is nil for a plain folder.
func (c *connections) repository(ctx context.Context, at giturl.Location, role model.Role) (Repository, error) {
	if !at.Address.Local() {
		m, err := c.remote(ctx, at, role)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	opened, err := c.openAt(ctx, at)
	if err != nil || opened.folder != nil {
		return nil, err
	}
	return opened.repo, nil
}

// resolve opens a repository and finds a branch, which stays at that commit; an empty one is the default branch. repo
// is nil for a plain folder.
func (c *connections) resolve(ctx context.Context, at giturl.Location, ref model.Ref) (repo Repository, tip plumbing.Hash, branch string, err error) {
	repo, err = c.repository(ctx, at, ref.Role)
	if err != nil {
		return nil, tip, "", err
	}
	switch opened := repo.(type) {
	case *remote:
		tip, branch, err = c.remoteTip(ctx, at, ref)
	case *localRepo:
		var found localBranch
		found, err = opened.branch(ref.Branch)
		tip, branch = found.commit, found.name
	}
	return repo, tip, branch, err
}

// Branches opens a repository and returns the tips of its branches, which stay there; the repository is nil if it is a
// plain folder.
func (c *connections) Branches(ctx context.Context, at giturl.Location, role model.Role) (Repository, map[string]plumbing.Hash, error) {
	repo, err := c.repository(ctx, at, role)
	switch opened := repo.(type) {
	case *remote:
		return repo, opened.branches, err
	case *localRepo:
		tips, err := opened.tipsNow(ctx)
		opened.pin(tips)
		return repo, tips, err
	default:
		return nil, nil, err
	}
}

// CurrentBranch is a branch as it is now, whatever has been read of it before.
type CurrentBranch struct {
	// Repository has it; nil if that is a plain folder.
	Repository Repository
	Name       string
	Tip        plumbing.Hash
	// Tips are the commits of all branches, by name.
	Tips map[string]plumbing.Hash
	// Clone says that the repository is a clone with a work tree on this machine; origin is the URL that it was cloned
	// from, without credentials, or empty.
	Clone  bool
	Origin string
}

// CurrentBranch reads the current state of a branch; an empty name is the default one.
func (c *connections) CurrentBranch(ctx context.Context, at giturl.Location, role model.Role, name string) (now CurrentBranch, err error) {
	if !at.Address.Local() {
		m, err := c.remoteNow(ctx, at, role)
		if err != nil {
			return now, err
		}
		now.Repository, now.Tips = m, m.branches
		now.Tip, now.Name, err = m.tip(name)
		return now, err
	}
	opened, err := c.openAt(ctx, at)
	if err != nil || opened.folder != nil {
		return now, err
	}
	return opened.repo.branchNow(ctx, name)
}

func (r *localRepo) branchNow(ctx context.Context, name string) (CurrentBranch, error) {
	r.reindex()
	tips, err := r.tipsNow(ctx)
	if err != nil {
		return CurrentBranch{}, err
	}
	if name == "" {
		name = r.checkedOut()
	}
	if tip, found := tips[name]; found {
		return CurrentBranch{Repository: r, Name: name, Tip: tip, Tips: tips, Clone: r.workTree != "", Origin: r.remoteURL("origin")}, nil
	}
	if found, err := r.findBranch(name); err == nil && found.remote != "" {
		return CurrentBranch{}, giterror.New(giterror.RuleBranchNotFound, "%s has no local branch %q, only %s/%s", r.name, name, found.remote, name).
			WithHint("--control-plane " + cmp.Or(r.remoteURL(found.remote), "URL") + " uses the repository that it was cloned from")
	}
	return CurrentBranch{}, giterror.NoBranch(r.name, name, slices.Sorted(maps.Keys(tips)))
}

func noHistory(at giturl.Location) *giterror.Error {
	return giterror.New(giterror.RuleInvalidRepository, "%s is a plain folder, which has no history", at).WithHint("give a clone or a bare repository")
}

// remoteKey identifies a remote: one repository may be read with different tokens in different roles, and has separate
// limits as an application repository.
type remoteKey struct {
	name, origin string
	tenant       bool
}

// remote connects to a repository, once.
func (c *connections) remote(ctx context.Context, at giturl.Location, role model.Role) (*remote, error) {
	at.Address = c.form(at)
	known, err := c.keys.Known(ctx, role, at.Address)
	if err != nil {
		return nil, at.Explain(err)
	}
	key := remoteKey{name: at.Read, tenant: role == model.Tenant}
	if known != nil {
		key.origin = known.Origin
	}
	return c.remotes.do(ctx, key, func() (*remote, error) { return c.connect(ctx, at, role, known) })
}

// connect asks the server what it has.
func (c *connections) connect(ctx context.Context, at giturl.Location, role model.Role, known *credentials.Credential) (*remote, error) {
	m := &remote{server: c.server(at, role), whole: map[plumbing.Hash]bool{}}
	var err error
	m.advertisement, err = m.server.connect(ctx, known)
	return m, m.explain(err)
}

func (c *connections) server(at giturl.Location, role model.Role) *server {
	return &server{at: at, role: role, net: c.net, keys: c.keys, budget: c.budgetOf(at, role)}
}

// remoteNow connects to a repository again, and reads its current state.
func (c *connections) remoteNow(ctx context.Context, at giturl.Location, role model.Role) (*remote, error) {
	at.Address = c.form(at)
	known, err := c.keys.Known(ctx, role, at.Address)
	if err != nil {
		return nil, at.Explain(err)
	}
	return c.connect(ctx, at, role, known)
}

// remoteTip resolves a branch: once, whatever credential it is asked with.
func (c *connections) remoteTip(ctx context.Context, at giturl.Location, ref model.Ref) (plumbing.Hash, string, error) {
	m, err := c.remote(ctx, at, ref.Role)
	if err != nil {
		return plumbing.ZeroHash, "", err
	}
	id, branch, err := m.tip(ref.Branch)
	if err != nil {
		return plumbing.ZeroHash, "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := pin{at.Read, branch}
	if pinned, ok := c.pins[key]; ok {
		return pinned, branch, nil
	}
	c.pins[key] = id
	return id, branch, nil
}

// pin names a branch that was resolved.
type pin struct{ repo, branch string }

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

// inherit takes over the budgets of application repositories from an earlier part of the run.
func (c *connections) inherit(earlier *connections) {
	earlier.mu.Lock()
	defer earlier.mu.Unlock()
	for name, b := range earlier.budgets {
		b.Packs.Kept.Store(0) // the objects are freed with the earlier connections
		c.budgets[name] = b
	}
}

// openAt opens a local repository or folder, once.
func (c *connections) openAt(ctx context.Context, at giturl.Location) (local, error) {
	file := at.Address.Path
	if rest, found := strings.CutPrefix(file, "~/"); found && c.env("HOME") != "" {
		file = filepath.Join(c.env("HOME"), rest)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return local{}, giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %v", at, err)
	}
	return c.locals.do(ctx, file, func() (local, error) {
		opened, err := openLocal(at.Read, file, c.net.Limits.Object)
		switch {
		case err != nil:
		case opened.repo != nil:
			c.keepOpen(opened.repo)
		default:
			c.keepOpen(opened.folder)
		}
		return opened, err
	})
}

// keepOpen leaves something to be closed by Close.
func (c *connections) keepOpen(file io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, file)
}
