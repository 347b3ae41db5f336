package gitops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Options says how repositories are read. The zero Options read with no replacements, no
// credentials and the default limits.
type Options struct {
	// Replace holds the values of --replace, each "REPO=PATH", in order: the first that matches wins.
	Replace []string
	// Worktree reads the work tree of a clone that has the branch checked out, uncommitted changes
	// included, instead of the branch.
	Worktree bool
	// Env looks up environment variables: tokens, NETRC, HOME. Nil means that none is set.
	Env func(string) string
	// Helper is asked for a credential when a server wants one and none is known; see
	// GitCredential. Nil asks nobody.
	Helper CredentialHelper
	// Transport sends the http requests. Nil means one like http.DefaultTransport.
	Transport http.RoundTripper
	// Sleep waits between two tries of one request, or until ctx is done, whose error it then
	// returns. Nil means by the clock.
	Sleep func(ctx context.Context, d time.Duration) error
	// Limits bound what is read; a field that is zero has its default.
	Limits Limits
}

// Limits bound what repositories may make of themselves, and how long they may take.
type Limits struct {
	// Object is the size in bytes beyond which a file is not loaded; 64 MiB by default.
	Object int64
	// Total is the sum in bytes of all that one answer of a server inflates to; 2 GiB by default.
	Total int64
	// Objects is how many objects one answer may have; 5,000,000 by default.
	Objects int
	// Parallel is how many requests are under way at once; 8 by default.
	Parallel int
	// Stall is how long a server may be silent; a minute by default.
	Stall time.Duration
	// Request is how long one request may take in all; 15 minutes by default.
	Request time.Duration
}

func (l Limits) orDefaults() Limits {
	setDefault(&l.Object, 64<<20)
	setDefault(&l.Total, 2<<30)
	setDefault(&l.Objects, 5_000_000)
	setDefault(&l.Parallel, 8)
	setDefault(&l.Stall, time.Minute)
	setDefault(&l.Request, 15*time.Minute)
	return l
}

func setDefault[T int | int64 | time.Duration](value *T, to T) {
	if *value == 0 {
		*value = to
	}
}

// Reader reads repositories. It reads each repository and ref once and keeps what it read: a branch
// that moves meanwhile stays what it was. It is safe for use by several goroutines.
type Reader struct {
	// rules are all replacements, exact those without a `*`.
	rules, exact []replacement
	worktree     bool
	env          func(string) string
	limits       Limits
	keys         *keyring
	net          *network
	locals       memo[string, local]
	remotes      memo[remoteKey, *remote]
	changes      memo[changeKey, []string]

	mu sync.Mutex
	// standIns are the paths that stand for repositories, by normal name.
	standIns map[string]string
	// pins are the branches that were resolved; they stay so.
	pins map[pin]plumbing.Hash
	open []io.Closer
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
		keys:     newKeyring(env, opts.Helper),
		net:      newNetwork(opts, limits),
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
	r.bindTokens(refs)
	sources := make([]*model.Source, len(refs))
	lists := make([]diag.List, len(refs))
	var wait sync.WaitGroup
	for i, ref := range refs {
		wait.Go(func() {
			source, err := r.read(ctx, ref, &lists[i])
			if err != nil {
				report(&lists[i], ref, r.clean(err))
				return
			}
			sources[i] = source
		})
	}
	wait.Wait()
	return sources, slices.Concat(lists...)
}

// Tip returns the commit that a ref's branch points to, as 40 hexadecimal digits; it is empty for a
// plain folder. The ref's Commit is not looked at. The error is an *Error.
func (r *Reader) Tip(ctx context.Context, ref model.Ref) (string, error) {
	r.bindTokens([]model.Ref{ref})
	ref.Commit = ""
	at, err := r.locate(ref)
	if err != nil {
		return "", r.clean(err)
	}
	if !at.address.local() {
		tip, _, err := r.remoteTip(ctx, at, ref)
		if err != nil {
			return "", r.clean(err)
		}
		return tip.String(), nil
	}
	opened, err := r.openAt(ctx, at)
	if err != nil {
		return "", r.clean(err)
	}
	if opened.folder != nil {
		return "", nil
	}
	branch, err := opened.repo.branch(ref.Branch)
	if err != nil {
		return "", r.clean(err)
	}
	return branch.commit.String(), nil
}

// clean takes the secrets out of an error, and keeps nil an untyped nil.
func (r *Reader) clean(err error) error {
	if err == nil {
		return nil
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

// bindTokens decides which hosts may see the tokens, before anything is sent.
func (r *Reader) bindTokens(refs []model.Ref) {
	hosts := map[string][]string{}
	for _, ref := range refs {
		at, err := r.locate(ref)
		if err != nil || at.address.local() || at.address.scheme == "ssh" {
			continue
		}
		variable := roleVariable(ref.Role)
		hosts[variable] = append(hosts[variable], at.address.authority())
	}
	r.keys.bind(hosts)
}

// read reads one ref. Notices go to the list; the error is the caller's to report.
func (r *Reader) read(ctx context.Context, ref model.Ref, list *diag.List) (*model.Source, error) {
	at, err := r.locate(ref)
	if err != nil {
		return nil, err
	}
	ref.Path = cleanPath(ref.Path)
	if ref.Commit != "" && !plumbing.IsHash(ref.Commit) {
		return nil, problem(RuleCommitNotFound, "%q is not a full commit id of 40 hexadecimal digits", oneLine(ref.Commit))
	}
	source := &model.Source{Ref: ref, Repo: at.name}
	if at.address.local() {
		err = r.readLocal(ctx, at, source, list)
	} else if ref.WorkTree {
		err = noWorkTree(at.String())
	} else {
		err = r.readRemote(ctx, at, source)
	}
	if err != nil {
		return nil, err
	}
	return source, nil
}

// cleanPath brings a path as people write it ("./workload/", "/workload") into the form of io/fs.
func cleanPath(name string) string {
	return path.Clean(strings.TrimLeft(strings.TrimSpace(name), "/"))
}

// openAt opens a local repository or folder, once.
func (r *Reader) openAt(ctx context.Context, at location) (local, error) {
	file := at.address.path
	if rest, found := strings.CutPrefix(file, "~/"); found && r.env("HOME") != "" {
		file = filepath.Join(r.env("HOME"), rest)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return local{}, problem(RuleInvalidRepository, "%s cannot be read: %v", at, err)
	}
	return r.locals.do(ctx, file, func() (local, error) {
		opened, err := openLocal(at.read, file, r.limits.Object)
		switch {
		case err != nil:
		case opened.repo != nil:
			r.keepOpen(opened.repo)
		default:
			r.keepOpen(opened.folder)
		}
		return opened, err
	})
}

// keepOpen leaves something to be closed by Close.
func (r *Reader) keepOpen(c io.Closer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = append(r.open, c)
}

func (r *Reader) readLocal(ctx context.Context, at location, source *model.Source, list *diag.List) error {
	opened, err := r.openAt(ctx, at)
	if err != nil {
		return err
	}
	if opened.repo != nil {
		return r.readClone(ctx, opened.repo, source, list)
	}
	return r.readFolder(opened.folder, at.String(), source, list)
}

// readFolder reads a plain folder.
func (r *Reader) readFolder(f *os.Root, name string, source *model.Source, list *diag.List) error {
	root, err := branchFolder(f, source.Ref.Branch)
	if err != nil {
		return problem(RuleInvalidRepository, "%s cannot be read: %v", name, cause(err))
	}
	if root != f {
		r.keepOpen(root)
	}
	source.FS = &folderFS{root: root}
	if commit := source.Ref.Commit; commit != "" {
		source.Commit = commit
		list.Notice(RuleUncheckedCommit, source.Ref.At, about(source.Ref, fmt.Sprintf(
			"the commit %s is taken at its word: %s is a plain folder and has no commits", commit, name)))
	}
	return checkPath(source, name)
}

// checkPath makes a path that is not there an error. In the GitOps repository it may be new.
func checkPath(source *model.Source, name string) error {
	if source.Ref.Role == model.Output && fs.ValidPath(source.Ref.Path) {
		return nil
	}
	if err := describePath(source.FS, name, source.Ref.Path); err != nil {
		return err
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
		return nil, problem(RuleInvalidRepository, "%s is not read: it holds %s", name, oneLine(cause(err).Error()))
	}
	return files, nil
}

// readClone reads a bare repository or a clone.
func (r *Reader) readClone(ctx context.Context, repo *localRepo, source *model.Source, list *diag.List) error {
	ref := &source.Ref
	var branch localBranch
	id := plumbing.NewHash(ref.Commit)
	if ref.Commit == "" && !ref.WorkTree {
		var err error
		if branch, err = repo.branch(ref.Branch); err != nil {
			return err
		}
		ref.Branch, id = branch.name, branch.commit
	}
	checkedOut := branch.name != "" && branch.remote == "" && repo.workTree != "" && repo.checkedOut() == ref.Branch
	if ref.WorkTree && repo.workTree == "" {
		return noWorkTree(repo.name)
	}
	if ref.WorkTree || checkedOut && r.worktree {
		return r.readWorkTree(repo, source)
	}
	commit, err := repo.commit(id)
	if err != nil {
		return err
	}
	tree := newTreeFS(ctx, repo, commit)
	tree.parsed = &repo.parsed
	source.Commit, source.FS = id.String(), tree
	if _, err := checkTree(source, repo.name); err != nil {
		return err
	}
	noticeRemoteBranch(repo, branch, *ref, list)
	if checkedOut && ref.Role != model.Output {
		r.noticeUncommitted(ctx, repo, source, list)
	}
	return nil
}

func noWorkTree(name string) *Error {
	return problem(RuleRefusedURL, "%s has no work tree: it is not a clone on this machine", name).
		hint("give a clone with --control-plane or --replace")
}

// readWorkTree reads the files of a clone as they are. They are no commit.
func (r *Reader) readWorkTree(repo *localRepo, source *model.Source) error {
	root, err := os.OpenRoot(repo.workTree)
	if err != nil {
		return problem(RuleInvalidRepository, "%s cannot be read: %v", repo.name, cause(err))
	}
	r.keepOpen(root)
	source.FS = &folderFS{root: root}
	return checkPath(source, repo.name)
}

func noticeRemoteBranch(repo *localRepo, branch localBranch, ref model.Ref, list *diag.List) {
	if branch.remote == "" {
		return
	}
	text := fmt.Sprintf("%s has no local branch %q: refs/remotes/%s/%s is read", repo.name, branch.name, branch.remote, branch.name)
	if len(branch.others) > 0 {
		text += " (also in " + strings.Join(branch.others, ", ") + ")"
	}
	list.Notice(RuleRemoteBranch, ref.At, about(ref, text))
}

// changeKey names what is compared with a work tree.
type changeKey struct{ workTree, path string }

// noticeUncommitted says which files were not read as they are on the disk. A work tree that cannot
// be compared is no reason to fail: it is not what is read.
func (r *Reader) noticeUncommitted(ctx context.Context, repo *localRepo, source *model.Source, list *diag.List) {
	key := changeKey{repo.workTree, source.Ref.Path}
	changed, err := r.changes.do(ctx, key, func() ([]string, error) {
		return uncommitted(repo.workTree, source.FS, source.Ref.Path)
	})
	if err != nil || len(changed) == 0 {
		return
	}
	list.Notice(RuleUncommittedChanges, source.Ref.At,
		about(source.Ref, fmt.Sprintf("uncommitted changes in %s are not read: %s", repo.name, listed(changed))),
		diag.Hint("--worktree reads them"))
}

// noBranch is the error for a branch that is not among those there are.
func noBranch(repo, name string, names []string) *Error {
	if len(names) == 0 {
		return problem(RuleBranchNotFound, "%s has no branch %q: it is empty", repo, name)
	}
	return problem(RuleBranchNotFound, "%s has no branch %q", repo, name).hint(diag.DidYouMean(name, names))
}
