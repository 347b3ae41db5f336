package remote

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// connections are the repositories of a run. Each is opened once, and a branch that was resolved stays at that commit.
type connections struct {
	*giturl.Resolver
	env     func(string) string
	keys    *credentials.Keyring
	net     *wire.Network
	locals  memo[string, local]
	remotes memo[remoteKey, *remote]

	mu sync.Mutex
	// forms are how each repository on a server is reached, by normal name: as it was named first.
	forms map[string]giturl.Address
	// budgets are the remaining limits of application repositories, by normal name.
	budgets map[string]*wire.Budget
	open    []io.Closer
	snapshot
}

// snapshot is which commits the branches of a run were at.
type snapshot struct {
	// pins are the branches that were resolved; they stay so.
	pins map[pin]plumbing.Hash
	// early are the repositories that were listed before the destinations were opened.
	early listing
}

// listing are repositories that a run has listed.
type listing struct {
	remotes []*remote
	locals  []*localRepo
}

func newConnections(opts Options) (*connections, error) {
	names, err := giturl.NewResolver(opts.Replace)
	if err != nil {
		return nil, err
	}
	env := opts.Env
	if env == nil {
		env = func(string) string { return "" }
	}
	return &connections{
		Resolver: names,
		env:      env,
		keys:     credentials.NewKeyring(env, opts.Helper, opts.Tokens),
		net:      wire.NewNetwork(opts.Transport, opts.Sleep, opts.Waiting, opts.Limits),
		forms:    map[string]giturl.Address{},
		budgets:  map[string]*wire.Budget{},
		snapshot: snapshot{pins: map[pin]plumbing.Hash{}},
	}, nil
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

// IsLocal reports whether reading the repository needs no network: it is a path of this machine, or
// a replacement makes it one.
func (c *connections) IsLocal(repo string) bool {
	at, err := c.Locate(model.Ref{Repo: repo})
	return err == nil && at.Address.Local()
}

// Where returns the place that a ref is really read from, after replacements, in normal form. The error is an *Error.
func (c *connections) Where(ref model.Ref) (string, error) {
	at, err := c.Locate(ref)
	if err != nil {
		return "", c.Clean(err)
	}
	return at.Read, nil
}

// Credential returns the secret that is sent to the host of a repository, and where it is from: what is
// known, else what git's credential helpers know. Both are empty if there is none. One whose origin is AppOrigin
// ends, and must be asked for again. name is in normal form. The error is an *Error.
func (c *connections) Credential(ctx context.Context, role model.Role, name string) (secret, origin string, err error) {
	at, err := c.Locate(model.Ref{Repo: name})
	if err != nil || at.Address.Local() {
		return "", "", nil // it is known why, or there is nothing to show a credential to
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

// exhausted returns the error of a ref whose repository used up its budget, or nil. Refs that were read before that
// fail as well: which ones these are depends on timing.
func (c *connections) exhausted(ref model.Ref) error {
	at, err := c.Locate(ref)
	if err != nil || at.Address.Local() {
		return nil
	}
	s := c.server(at, ref.Role)
	return s.explain(s.budget.Exhausted())
}

// Tip returns the commit that a ref's branch points to, as 40 hexadecimal digits; it is empty for a
// plain folder. The ref's Commit is not looked at. The error is an *Error.
func (c *connections) Tip(ctx context.Context, ref model.Ref) (string, error) {
	c.Prepare([]model.Ref{ref})
	ref.Commit = ""
	at, err := c.Locate(ref)
	if err != nil {
		return "", c.Clean(err)
	}
	tip, err := c.TipAt(ctx, at, ref)
	return tip, c.Clean(at.Explain(err))
}

// TipAt is Tip for a ref that was located.
func (c *connections) TipAt(ctx context.Context, at giturl.Location, ref model.Ref) (string, error) {
	repo, tip, _, err := c.resolve(ctx, at, ref)
	if err != nil || repo == nil {
		return "", err
	}
	return tip.String(), nil
}

// Clean takes the secrets out of an error, and keeps nil an untyped nil.
func (c *connections) Clean(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrMoved) {
		return err // it has names of branches in it, no secrets
	}
	var e *giterror.Error
	if !errors.As(err, &e) {
		e = giterror.New(giterror.RuleInvalidRepository, "%s", giterror.OneLine(err.Error()))
	}
	return c.keys.Secret.CleanError(e)
}

// Prepare decides, before anything is sent and in the order of the refs, how each repository is
// reached and which hosts may see the tokens.
func (c *connections) Prepare(refs []model.Ref) {
	hosts := map[string][]string{}
	reached := map[model.Role][]giturl.Address{}
	for _, ref := range refs {
		at, err := c.Locate(ref)
		if err != nil || at.Address.Local() {
			continue
		}
		if a := c.form(at); a.Scheme != "ssh" {
			variable := credentials.RoleVariable(ref.Role)
			hosts[variable] = append(hosts[variable], a.Authority())
			reached[ref.Role] = append(reached[ref.Role], a)
		}
	}
	c.keys.Bind(hosts)
	c.keys.Expect(reached)
}

// form is how a repository on a server is reached: by ssh or https, as it was named first.
func (c *connections) form(at giturl.Location) giturl.Address {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.forms[at.Read]; ok {
		return a
	}
	c.forms[at.Read] = at.Address
	return at.Address
}

// CheckedOut returns the branch that a clone on this machine has checked out; empty if it has none, or if there is no
// such clone.
func (c *connections) CheckedOut(ctx context.Context, repo string) string {
	at, err := c.Locate(model.Ref{Repo: repo})
	if err != nil || !at.Address.Local() {
		return ""
	}
	opened, err := c.openAt(ctx, at)
	if err != nil || opened.folder != nil || opened.repo.workTree == "" {
		return ""
	}
	return opened.repo.checkedOut()
}
