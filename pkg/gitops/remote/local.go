package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
)

// localRepo is a bare repository or a clone on this machine. It is read through go-git's storage:
// no git program runs, no hook, and no work tree is looked at.
type localRepo struct {
	// name is what messages call it.
	name string
	// dir is the repository itself: what HEAD is in.
	dir string
	// workTree is the folder that holds .git; empty for a bare repository.
	workTree string
	refs     *filesystem.Storage
	limit    int64

	// pinning guards pins: the branches that were resolved, which stay so.
	pinning sync.Mutex
	pins    map[string]localBranch

	// mu guards stores, which are not safe for use at the same time.
	mu sync.Mutex
	// stores are the repository's own objects and then those of its alternates.
	stores []objectStore
	parsed gitobject.TreeCache
}

// objectStore is a folder of objects.
type objectStore struct {
	*filesystem.ObjectStorage
	files *dotgit.DotGit
}

// Size returns the size of an object. For a loose one go-git's EncodedObjectSize leaves the file open,
// so that a clone with many of them runs out of descriptors.
func (s objectStore) Size(id plumbing.Hash) (int64, error) {
	file, err := s.files.Object(id)
	if errors.Is(err, fs.ErrNotExist) {
		return s.EncodedObjectSize(id) // it is in a pack, or nowhere
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	reader, err := objfile.NewReader(file)
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	_, size, err := reader.Header()
	return size, err
}

// local is what is at a path of this machine: one of the two is set.
type local struct {
	repo *localRepo
	// folder is a plain folder that stands for a repository.
	folder *os.Root
}

// openLocal opens what is at a path.
func openLocal(name, file string, limit int64) (local, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return local{}, giterror.New(giterror.RuleInvalidRepository, "%s: there is no such folder", name).WithCause(fs.ErrNotExist)
	case err != nil:
		return local{}, giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %v", name, giterror.Cause(err))
	case !info.IsDir():
		return local{}, giterror.New(giterror.RuleInvalidRepository, "%s is a file, not a folder or a repository", name)
	}
	dir, workTree, err := findRepo(file)
	if err != nil {
		return local{}, invalidLocal(name, err)
	}
	if dir != "" {
		repo, err := openRepo(name, dir, workTree, limit)
		return local{repo: repo}, err
	}
	root, err := os.OpenRoot(file)
	if err != nil {
		return local{}, giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %v", name, giterror.Cause(err))
	}
	return local{folder: root}, nil
}

// findRepo returns the repository that a folder is (a bare one) or has (a clone); dir is empty if it
// is a plain folder.
func findRepo(file string) (dir, workTree string, err error) {
	_, err = os.Lstat(filepath.Join(file, gitobject.GitDir))
	if err == nil {
		dir, err := dotGit(file)
		return dir, file, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", "", giterror.Cause(err)
	}
	if isGitDir(file) {
		return file, "", nil
	}
	return "", "", nil
}

func invalidLocal(name string, err error) *giterror.Error {
	return giterror.New(giterror.RuleInvalidRepository, "%s cannot be read as a git repository: %s", name, giterror.OneLine(err.Error()))
}

// dotGit returns the repository of a work tree: .git, or what the file .git points to, as it does
// in a work tree of `git worktree add` and in a submodule.
func dotGit(workTree string) (string, error) {
	dir := filepath.Join(workTree, gitobject.GitDir)
	info, err := os.Stat(dir)
	if err != nil || info.IsDir() {
		return dir, err
	}
	target, err := pointer(dir, "gitdir: ")
	if err != nil {
		return "", err
	}
	return within(workTree, target), nil
}

// pointer reads a file that holds one path after a prefix.
func pointer(file, prefix string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", giterror.Cause(err)
	}
	target, found := strings.CutPrefix(strings.TrimSpace(string(data)), prefix)
	if !found || target == "" {
		return "", fmt.Errorf("the file %s does not say where the repository is", filepath.Base(file))
	}
	return filepath.FromSlash(target), nil
}

// within makes a path absolute that is relative to a folder.
func within(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

func isGitDir(dir string) bool {
	head, headErr := os.Stat(filepath.Join(dir, "HEAD"))
	objects, objectsErr := os.Stat(filepath.Join(dir, "objects"))
	_, refsErr := os.Stat(filepath.Join(dir, "refs"))
	return headErr == nil && objectsErr == nil && refsErr == nil && head.Mode().IsRegular() && objects.IsDir()
}

func openRepo(name, dir, workTree string, limit int64) (*localRepo, error) {
	common := dir
	if _, err := os.Stat(filepath.Join(dir, "commondir")); err == nil {
		target, err := pointer(filepath.Join(dir, "commondir"), "")
		if err != nil {
			return nil, invalidLocal(name, err)
		}
		common = within(dir, target)
	}
	if _, err := os.Stat(filepath.Join(common, "objects")); err != nil {
		return nil, invalidLocal(name, errors.New("it has no objects; is it incomplete?"))
	}
	var commonFS billy.Filesystem
	if common != dir {
		commonFS = osfs.New(common)
	}
	files := dotgit.NewRepositoryFilesystem(osfs.New(dir), commonFS)
	r := &localRepo{
		parsed: gitobject.TreeCache{Small: true},
		name:   name, dir: dir, workTree: workTree, limit: limit,
		refs: filesystem.NewStorage(withoutLocks{files}, cache.NewObjectLRUDefault()),
	}
	if err := r.supported(); err != nil {
		return nil, invalidLocal(name, err)
	}
	err := r.addObjects(filepath.Join(common, "objects"), 0)
	if err != nil {
		return nil, invalidLocal(name, err)
	}
	return r, nil
}

// supported refuses the formats that go-git would misread. Other extensions (a partial clone,
// configuration per work tree) change nothing for reading.
func (r *localRepo) supported() error {
	config, err := r.refs.Config()
	if err != nil {
		return err
	}
	extensions := config.Raw.Section("extensions")
	if format := extensions.Option("objectformat"); format != "" && !strings.EqualFold(format, "sha1") {
		return fmt.Errorf("its object format %s is not supported", format)
	}
	if format := extensions.Option("refstorage"); format != "" && !strings.EqualFold(format, "files") {
		return fmt.Errorf("its reference format %s is not supported", format)
	}
	return nil
}

// maxAlternates is how far alternates of alternates are followed; git does the same.
const maxAlternates = 5

// addObjects adds an object folder and those that its info/alternates names.
func (r *localRepo) addObjects(dir string, depth int) error {
	options := filesystem.Options{KeepDescriptors: true}
	files := dotgit.New(osfs.New(filepath.Dir(dir)))
	r.stores = append(r.stores, objectStore{filesystem.NewObjectStorageWithOptions(files, cache.NewObjectLRUDefault(), options), files})
	file, err := os.Open(filepath.Join(dir, "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) || depth >= maxAlternates {
		return nil
	}
	if err != nil {
		return giterror.Cause(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		alternate := within(dir, filepath.FromSlash(line))
		if info, err := os.Stat(alternate); err != nil || !info.IsDir() {
			return fmt.Errorf("its alternate %q does not exist", line)
		}
		if err := r.addObjects(alternate, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the files that are kept open.
func (r *localRepo) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, store := range r.stores {
		errs = append(errs, store.Close())
	}
	return errors.Join(errs...)
}

// localBranch is where a branch was found.
type localBranch struct {
	name   string
	commit plumbing.Hash
	// remote is empty for refs/heads; others are further remotes that have the branch too.
	remote string
	others []string
}

// checkedOut returns the branch that HEAD points to, or "".
func (r *localRepo) checkedOut() string {
	head, err := r.refs.Reference(plumbing.HEAD)
	if err != nil || head.Type() != plumbing.SymbolicReference || !head.Target().IsBranch() {
		return ""
	}
	return head.Target().Short()
}

// plainArgument matches text that a shell reads as one word without quoting.
var plainArgument = regexp.MustCompile(`^[A-Za-z0-9@%+,./:=_~-]+$`)

// remoteURL returns the URL of a remote as an argument for the command line, without credentials; empty if it is
// unknown or not a valid argument.
func (r *localRepo) remoteURL(remote string) string {
	config, err := r.refs.Config()
	if err != nil || config.Remotes[remote] == nil || len(config.Remotes[remote].URLs) == 0 {
		return ""
	}
	at := config.Remotes[remote].URLs[0]
	if strings.HasPrefix(at, "http") {
		at = credentials.UserInURL.ReplaceAllString(at, "$1")
	}
	parsed, err := giturl.ParseAddress(at)
	switch {
	case err != nil || parsed.FromCommandLine() != nil:
		return ""
	case parsed.Scheme == "":
		at = within(r.workTree, at)
	case parsed.User != "" && strings.Contains(at, "://"): // messages leave out users of URLs
		at = parsed.User + "@" + parsed.Host + ":" + parsed.Path
	}
	if parsed.Port != "" && parsed.User != "" || !plainArgument.MatchString(at) {
		return ""
	}
	return at
}

// branch resolves a branch, once: what moves it meanwhile is not seen.
func (r *localRepo) branch(name string) (localBranch, error) {
	r.pinning.Lock()
	defer r.pinning.Unlock()
	if pinned, ok := r.pins[name]; ok {
		return pinned, nil
	}
	found, err := r.findBranch(name)
	if err != nil {
		return localBranch{}, err
	}
	if r.pins == nil {
		r.pins = map[string]localBranch{}
	}
	r.pins[name], r.pins[found.name] = found, found
	return found, nil
}

// findBranch finds refs/heads/<name>, else refs/remotes/<remote>/<name>, with origin before others. An
// empty name is the branch that is checked out.
func (r *localRepo) findBranch(name string) (localBranch, error) {
	if name == "" {
		if name = r.checkedOut(); name == "" {
			return localBranch{}, giterror.New(giterror.RuleBranchNotFound, "%s has no branch checked out; name one", r.name)
		}
	}
	ref, err := storer.ResolveReference(r.refs, plumbing.NewBranchReferenceName(name))
	if err == nil {
		return localBranch{name: name, commit: ref.Hash()}, nil
	}
	if !errors.Is(err, plumbing.ErrReferenceNotFound) {
		return localBranch{}, invalidLocal(r.name, err)
	}
	remotes, names, err := r.remoteBranches(name)
	if err != nil {
		return localBranch{}, invalidLocal(r.name, err)
	}
	if len(remotes) == 0 {
		return localBranch{}, giterror.NoBranch(r.name, name, names)
	}
	if i := slices.Index(remotes, "origin"); i > 0 {
		remotes[0], remotes[i] = remotes[i], remotes[0]
	}
	ref, err = storer.ResolveReference(r.refs, plumbing.NewRemoteReferenceName(remotes[0], name))
	if err != nil {
		return localBranch{}, invalidLocal(r.name, err)
	}
	return localBranch{name: name, commit: ref.Hash(), remote: remotes[0], others: remotes[1:]}, nil
}

// remoteBranches returns the remotes that have a branch, and the names of all branches, both sorted.
func (r *localRepo) remoteBranches(name string) (remotes, names []string, err error) {
	refs, err := r.refs.IterReferences()
	if err != nil {
		return nil, nil, err
	}
	defer refs.Close()
	err = refs.ForEach(func(ref *plumbing.Reference) error {
		short, isRemote := strings.CutPrefix(ref.Name().String(), "refs/remotes/")
		switch {
		case ref.Name().IsBranch():
			names = append(names, ref.Name().Short())
		case isRemote:
			remote, found := strings.CutSuffix(short, "/"+name)
			if found && remote != "" {
				remotes = append(remotes, remote)
			}
			if _, branch, ok := strings.Cut(short, "/"); ok && branch != "HEAD" {
				names = append(names, branch)
			}
		}
		return nil
	})
	slices.Sort(names)
	slices.Sort(remotes)
	return slices.Compact(remotes), slices.Compact(names), err
}

// commit returns the commit with an id.
func (r *localRepo) commit(id plumbing.Hash) (gitobject.CommitObject, error) {
	data, err := r.object(plumbing.CommitObject, id)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return gitobject.CommitObject{}, giterror.New(giterror.RuleCommitNotFound, "%s has no commit %s", r.name, id).WithHint(r.shallowHint())
	}
	if err != nil {
		return gitobject.CommitObject{}, invalidLocal(r.name, err)
	}
	commit, err := gitobject.ParseCommit(data)
	if err != nil {
		return gitobject.CommitObject{}, invalidLocal(r.name, err)
	}
	return commit, nil
}

func (r *localRepo) shallowHint() string {
	if shallow, err := r.refs.Shallow(); err != nil || len(shallow) == 0 {
		return ""
	}
	return "the clone is shallow; `git fetch --unshallow` gets the rest of its history"
}

// object reads an object whole. The error is plumbing.ErrObjectNotFound if it is not there, and a
// TooLargeError if it is beyond the limit.
func (r *localRepo) object(kind plumbing.ObjectType, id plumbing.Hash) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, store := range r.stores {
		size, err := store.Size(id)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if size > r.limit {
			return nil, &gitobject.TooLargeError{Size: size, Limit: r.limit}
		}
		if kind == plumbing.TreeObject && size > gitobject.MaxTreeBytes {
			return nil, gitobject.TooManyInFolder(size)
		}
		object, err := store.EncodedObject(kind, id)
		if err != nil {
			return nil, err
		}
		reader, err := object.Reader()
		if err != nil {
			return nil, err
		}
		defer reader.Close()
		data := make([]byte, size)
		_, err = io.ReadFull(reader, data)
		return data, err
	}
	return nil, plumbing.ErrObjectNotFound
}

// Tree implements objects.
func (r *localRepo) Tree(id plumbing.Hash) ([]byte, error) {
	return r.present(plumbing.TreeObject, id)
}

// Blob implements objects.
func (r *localRepo) Blob(_ context.Context, id plumbing.Hash) ([]byte, error) {
	return r.present(plumbing.BlobObject, id)
}

func (r *localRepo) present(kind plumbing.ObjectType, id plumbing.Hash) ([]byte, error) {
	data, err := r.object(kind, id)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, fmt.Errorf("the %s %s is missing: the clone is partial or damaged", kind, id)
	}
	return data, err
}

// Size implements objects.
func (r *localRepo) Size(id plumbing.Hash) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, store := range r.stores {
		if size, err := store.Size(id); err == nil {
			return size
		}
	}
	return -1
}

// Load implements objects: everything is here already.
func (r *localRepo) Load(context.Context, []plumbing.Hash) error { return nil }
