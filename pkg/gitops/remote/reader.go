package remote

import (
	"context"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Reader reads repositories. It reads each repository and ref once: later changes of a branch are ignored. It is safe for
// concurrent use.
type Reader struct {
	*connections
	worktree, publishes bool
	progress            func(done, total int)
	onRead              func(source *model.Source, from string, took time.Duration)
	snapshot            snapshot
	clones              localStates
	// listing is that of ListRemote; nil without one.
	listing *listing
}

// NewReader returns a Reader. The error lists all invalid values of opts.Replace.
func NewReader(opts Options) (*Reader, error) {
	names, err := giturl.NewResolver(opts.Replace)
	if err != nil {
		return nil, err
	}
	env := opts.Env
	if env == nil {
		env = func(string) string { return "" }
	}
	return &Reader{
		connections: &connections{
			Resolver: names,
			env:      env,
			keys:     credentials.NewKeyring(env, opts.Helper, opts.Tokens),
			net:      wire.NewNetwork(opts.Transport, opts.Sleep, opts.Waiting, opts.Limits),
			forms:    map[string]giturl.Address{},
			budgets:  map[string]*wire.Budget{},
		},
		worktree:  opts.Worktree,
		publishes: opts.Publishes,
		progress:  opts.Progress,
		onRead:    opts.Read,
		snapshot:  snapshot{branches: map[branchKey]gitobject.Branch{}},
		clones:    localStates{states: map[string]map[string]string{}, changed: map[[2]string]bool{}, pulls: map[string]bool{}},
	}, nil
}

// Continue takes over the budgets of application repositories from an earlier Reader of the same run. It must be called
// before anything is read.
func (r *Reader) Continue(earlier *Reader) {
	earlier.mu.Lock()
	defer earlier.mu.Unlock()
	for name, b := range earlier.budgets {
		b.Packs.Kept.Store(0) // the objects are freed with the earlier connections
		r.budgets[name] = b
	}
}

// Read reads all refs in parallel. The i-th source is that of refs[i], or nil if it could not be read; then the list has
// an error at refs[i].At that begins with refs[i].Subject.
//
// A ref whose place is zero was given on the command line and may be a path of this machine; a ref of a YAML object may
// not, unless a replacement makes it one.
func (r *Reader) Read(ctx context.Context, refs []model.Ref) ([]*model.Source, diag.List) {
	r.Prepare(refs)
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
				giterror.AddTo(&lists[i], ref, r.Clean(err))
				return
			}
			sources[i] = source
		})
	}
	wait.Wait()
	for i, ref := range refs {
		if err := r.exhausted(ref); sources[i] != nil && err != nil {
			giterror.AddTo(&lists[i], ref, r.Clean(err))
			sources[i] = nil
		}
	}
	return sources, slices.Concat(lists...)
}

// ReadOne reads one ref. Notices go to the list; the error is an *Error.
func (r *Reader) ReadOne(ctx context.Context, ref model.Ref, list *diag.List) (*model.Source, error) {
	r.Prepare([]model.Ref{ref})
	source, err := r.read(ctx, ref, list)
	return source, r.Clean(err)
}

func (r *Reader) read(ctx context.Context, ref model.Ref, list *diag.List) (*model.Source, error) {
	at, err := r.Locate(ref)
	if err != nil {
		return nil, err
	}
	ref.Path = giturl.CleanPath(ref.Path)
	began := time.Now()
	err = r.useRevision(ctx, at, &ref)
	source := &model.Source{Ref: ref, Repo: at.Name}
	switch {
	case err != nil:
	case ctx.Err() != nil:
		err = giterror.Interrupted(ctx)
	case at.Address.Local():
		err = r.readLocal(ctx, at, source, list)
	case ref.WorkTree:
		err = noWorkTree(at.String())
	default:
		if err = giturl.CheckCommit(ref.Commit); err == nil {
			err = r.readServer(ctx, at, source)
		}
	}
	if err != nil {
		return nil, at.Explain(err)
	}
	if r.onRead != nil {
		r.onRead(source, at.String(), time.Since(began))
	}
	return source, nil
}

func (r *Reader) readServer(ctx context.Context, at giturl.Location, source *model.Source) error {
	ref := &source.Ref
	repo, err := r.server(ctx, at, ref.Role, false)
	if err != nil {
		return err
	}
	id := plumbing.NewHash(ref.Commit)
	if ref.Commit == "" {
		branch, err := r.snapshot.resolve(ctx, repo, ref.Branch)
		if err != nil {
			return err
		}
		id, ref.Branch = branch.Commit, branch.Name
	}
	commit, err := repo.CommitAt(ctx, id, ref.Branch)
	if err != nil {
		return err
	}
	tree := gitobject.NewTreeFS(ctx, repo.TreesAt(id), commit)
	tree.Parsed = &repo.Parsed
	source.Commit, source.Committed, source.FS = id.String(), commit.When, tree
	files, err := checkTree(source, at.String())
	if err != nil {
		return err
	}
	return gitobject.Prefetch(ctx, tree, files)
}

// checkPath returns an error for a path that does not exist. In the GitOps repository it may be new.
func checkPath(source *model.Source, name string) error {
	if source.Ref.Role == model.Output && fs.ValidPath(source.Ref.Path) {
		return nil
	}
	if wrong := gitobject.DescribePath(source.FS, name, source.Ref.Path); wrong != nil {
		return wrong // never a typed nil
	}
	return nil
}

// checkTree checks the path of a source and the trees below it, and returns the files that are needed to read it; none of
// the GitOps repository.
func checkTree(source *model.Source, name string) ([]string, error) {
	if err := checkPath(source, name); err != nil || source.Ref.Role == model.Output {
		return nil, err
	}
	files, err := gitobject.NeededFiles(source.FS, source.Ref.Path)
	if err != nil {
		return nil, giterror.New(giterror.RuleInvalidRepository, "%s is refused: %s", name, giterror.OneLine(giterror.Cause(err).Error()))
	}
	return files, nil
}
