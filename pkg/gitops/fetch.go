package gitops

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Reader reads repositories. It reads each repository and ref once and keeps what it read: a branch
// that moves meanwhile stays what it was. It is safe for use by several goroutines.
type Reader struct {
	// rules are all replacements, exact those without a `*`.
	rules, exact []replacement
	worktree     bool
	env          func(string) string
	limits       Limits
	progress     func(done, total int)
	keys         *keyring
	net          *network
	locals       memo[string, local]
	remotes      memo[remoteKey, *remote]
	changes      memo[changeKey, []string]

	mu sync.Mutex
	// forms are how each repository on a server is reached, by normal name: as it was named first.
	forms map[string]address
	// standIns are the paths that stand for repositories, by normal name.
	standIns map[string]string
	// budgets are the remaining limits of application repositories, by normal name.
	budgets map[string]*budget
	// pins are the branches that were resolved; they stay so.
	pins  map[pin]plumbing.Hash
	open  []io.Closer
	early listing
}

// NewReader returns a Reader. The error lists all that is wrong with opts.Replace, which is wrong
// usage.
func NewReader(opts Options) (*Reader, error) {
	rules, err := parseReplacements(opts.Replace)
	if err != nil {
		return nil, err
	}
	env := opts.Env
	if env == nil {
		env = func(string) string { return "" }
	}
	limits := opts.Limits.orDefaults()
	return &Reader{
		rules:    rules,
		exact:    slices.DeleteFunc(slices.Clone(rules), replacement.wild),
		worktree: opts.Worktree,
		env:      env,
		limits:   limits,
		progress: opts.Progress,
		keys:     newKeyring(env, opts.Helper, opts.Tokens),
		net:      newNetwork(opts, limits),
		budgets:  map[string]*budget{},
	}, nil
}

// Close closes the files of local repositories. Sources that were read from them cannot be used
// afterwards.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, c := range r.open {
		errs = append(errs, c.Close())
	}
	r.open = nil
	return errors.Join(errs...)
}

// Scrub returns text without the secrets that the Reader knows.
func (r *Reader) Scrub(text string) string { return r.keys.secret.clean(text) }

// IsLocal reports whether reading the repository needs no network: it is a path of this machine, or
// a replacement makes it one.
func (r *Reader) IsLocal(repo string) bool {
	at, err := r.locate(model.Ref{Repo: repo})
	return err == nil && at.address.local()
}

// StandFor makes a path of this machine stand for a repository, as a control plane given as a path
// does for the URL that its Environments name. A replacement of exactly this name goes first; one with
// a `*` does not, as it says less. name is in normal form; path must come from the command line. It
// changes what is read afterwards.
func (r *Reader) StandFor(name, path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.standIns == nil {
		r.standIns = map[string]string{}
	}
	r.standIns[name] = path
}

// replaced returns what is read instead of a repository.
func (r *Reader) replaced(name string) (target string, ok bool) {
	if target, ok = replace(r.exact, name); ok {
		return target, true
	}
	r.mu.Lock()
	target, ok = r.standIns[name]
	r.mu.Unlock()
	if ok {
		return target, true
	}
	return replace(r.rules, name)
}

// Read reads all refs side by side. The i-th source is that of refs[i], or nil if it could not be
// read; then the list has an error at refs[i].At that begins with refs[i].Subject. Its rule is one
// of the Rule constants. The list can hold notices too.
//
// A ref whose place is zero was given on the command line and may be a path of this machine; one
// that a YAML object names may not, unless a replacement says so.
func (r *Reader) Read(ctx context.Context, refs []model.Ref) ([]*model.Source, diag.List) {
	r.prepare(refs)
	sources := make([]*model.Source, len(refs))
	lists := make([]diag.List, len(refs))
	var wait sync.WaitGroup
	var done atomic.Int64
	for i, ref := range refs {
		wait.Go(func() {
			source, err := r.read(ctx, ref, &lists[i])
			if r.progress != nil {
				r.progress(int(done.Add(1)), len(refs))
			}
			if err != nil {
				report(&lists[i], ref, r.clean(err))
				return
			}
			sources[i] = source
		})
	}
	wait.Wait()
	for i, ref := range refs {
		if err := r.exhausted(ref); sources[i] != nil && err != nil {
			report(&lists[i], ref, r.clean(err))
			sources[i] = nil
		}
	}
	return sources, slices.Concat(lists...)
}

// exhausted returns the error of a ref whose repository used up its budget, or nil. Refs that were read before that
// fail as well: which ones these are depends on timing.
func (r *Reader) exhausted(ref model.Ref) error {
	at, err := r.locate(ref)
	if err != nil || at.address.local() {
		return nil
	}
	m := r.newRemote(at, ref.Role)
	return m.explain(m.budget.exhausted())
}

// Tip returns the commit that a ref's branch points to, as 40 hexadecimal digits; it is empty for a
// plain folder. The ref's Commit is not looked at. The error is an *Error.
func (r *Reader) Tip(ctx context.Context, ref model.Ref) (string, error) {
	r.prepare([]model.Ref{ref})
	ref.Commit = ""
	at, err := r.locate(ref)
	if err != nil {
		return "", r.clean(err)
	}
	tip, err := r.tip(ctx, at, ref)
	return tip, r.clean(at.explain(err))
}

func (r *Reader) tip(ctx context.Context, at location, ref model.Ref) (string, error) {
	if !at.address.local() {
		tip, _, err := r.remoteTip(ctx, at, ref)
		if err != nil {
			return "", err
		}
		return tip.String(), nil
	}
	opened, err := r.openAt(ctx, at)
	if err != nil || opened.folder != nil {
		return "", err
	}
	branch, err := opened.repo.branch(ref.Branch)
	if err != nil {
		return "", err
	}
	return branch.commit.String(), nil
}

// clean takes the secrets out of an error, and keeps nil an untyped nil.
func (r *Reader) clean(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrMoved) {
		return err // it has names of branches in it, no secrets
	}
	var e *Error
	if !errors.As(err, &e) {
		e = problem(RuleInvalidRepository, "%s", oneLine(err.Error()))
	}
	return r.keys.secret.cleanError(e)
}

// location is where a ref is read.
type location struct {
	// name is the normal form of what the ref names; read is that of what is read instead.
	name, read string
	address    address
}

// String is what messages call it.
func (l location) String() string {
	if l.name == l.read {
		return l.name
	}
	return l.name + " (read from " + l.read + ")"
}

// explain names the location in the error of a read that was interrupted.
func (l location) explain(err error) error {
	var stopped interruptedError
	if errors.As(err, &stopped) {
		return stopped.explain(l)
	}
	return err
}

// locate applies the replacements and says where a ref is read, or why it must not be.
func (r *Reader) locate(ref model.Ref) (location, error) {
	name := strings.TrimSpace(ref.Repo)
	a, err := parseAddress(name)
	if err != nil {
		return location{}, refused(name, err)
	}
	at := location{name: a.String(), read: a.String(), address: a}
	given := ref.At.IsZero()
	if given && a.local() {
		return at, nil
	}
	if target, ok := r.replaced(at.name); ok {
		if at.address, err = parseAddress(target); err == nil {
			err = at.address.fromCommandLine()
		}
		at.read = at.address.String()
	} else if given {
		err = a.fromCommandLine()
	} else {
		err = a.fromYAML()
	}
	if err != nil {
		return location{}, refused(name, err)
	}
	return at, nil
}

func refused(name string, err error) *Error {
	return problem(RuleRefusedURL, "the repository %s is refused: %v", display(name), err).
		hint("write https://host/owner/name, or read it from somewhere else with --replace")
}

// prepare decides, before anything is sent and in the order of the refs, how each repository is
// reached and which hosts may see the tokens.
func (r *Reader) prepare(refs []model.Ref) {
	hosts := map[string][]string{}
	reached := map[model.Role][]address{}
	for _, ref := range refs {
		at, err := r.locate(ref)
		if err != nil || at.address.local() {
			continue
		}
		if a := r.form(at); a.scheme != "ssh" {
			variable := roleVariable(ref.Role)
			hosts[variable] = append(hosts[variable], a.authority())
			reached[ref.Role] = append(reached[ref.Role], a)
		}
	}
	r.keys.bind(hosts)
	r.keys.expect(reached)
}

// form is how a repository on a server is reached: by ssh or https, as it was named first.
func (r *Reader) form(at location) address {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok := r.forms[at.read]; ok {
		return a
	}
	if r.forms == nil {
		r.forms = map[string]address{}
	}
	r.forms[at.read] = at.address
	return at.address
}

// read reads one ref. Notices go to the list; the error is the caller's to report.
func (r *Reader) read(ctx context.Context, ref model.Ref, list *diag.List) (*model.Source, error) {
	at, err := r.locate(ref)
	if err != nil {
		return nil, err
	}
	ref.Path = cleanPath(ref.Path)
	source := &model.Source{Ref: ref, Repo: at.name}
	switch {
	case ctx.Err() != nil:
		err = interrupted(ctx)
	case at.address.local():
		err = r.readLocal(ctx, at, source, list)
	case ref.WorkTree:
		err = noWorkTree(at.String())
	default:
		if err = checkCommit(ref.Commit); err == nil {
			err = r.readRemote(ctx, at, source)
		}
	}
	if err != nil {
		return nil, at.explain(err)
	}
	return source, nil
}

// cleanPath brings a path as people write it ("./workload/", "/workload") into the form of io/fs.
func cleanPath(name string) string {
	return path.Clean(strings.TrimLeft(strings.TrimSpace(name), "/"))
}

// checkPath makes a path that is not there an error. In the GitOps repository it may be new.
func checkPath(source *model.Source, name string) error {
	if source.Ref.Role == model.Output && fs.ValidPath(source.Ref.Path) {
		return nil
	}
	if wrong := describePath(source.FS, name, source.Ref.Path); wrong != nil {
		return wrong // never a typed nil
	}
	return nil
}

// checkTree checks the path of a source and all trees that reading it looks at, and returns the
// files that reading needs. Of the GitOps repository no file is needed to begin with.
func checkTree(source *model.Source, name string) ([]string, error) {
	if err := checkPath(source, name); err != nil || source.Ref.Role == model.Output {
		return nil, err
	}
	files, err := neededFiles(source.FS, source.Ref.Path)
	if err != nil {
		return nil, problem(RuleInvalidRepository, "%s is refused: %s", name, oneLine(cause(err).Error()))
	}
	return files, nil
}

// noBranch is the error for a branch that is not among those there are.
func noBranch(repo, name string, names []string) *Error {
	switch {
	case len(names) == 0:
		return problem(RuleBranchNotFound, "%s has no branch %q: it is empty", repo, name)
	case name == "":
		return problem(RuleBranchNotFound, "%s has no default branch; name one", repo).hint(diag.DidYouMean(name, names))
	}
	return problem(RuleBranchNotFound, "%s has no branch %q", repo, name).hint(diag.DidYouMean(name, names))
}
