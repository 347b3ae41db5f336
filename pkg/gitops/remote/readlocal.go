package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/local"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

func (r *Reader) readLocal(ctx context.Context, at giturl.Location, source *model.Source, list *diag.List) error {
	opened, err := r.openAt(ctx, at)
	if err != nil {
		return err
	}
	if opened.repo != nil {
		if err := giturl.CheckCommit(source.Ref.Commit); err != nil {
			return err
		}
		return r.readClone(ctx, opened.repo, source, list)
	}
	return r.readDirectory(opened.directory, at.String(), source, list)
}

func (r *Reader) readDirectory(f *os.Root, name string, source *model.Source, list *diag.List) error {
	root, err := gitobject.BranchDirectory(f, source.Ref.Branch)
	if err != nil {
		return giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %v", name, giterror.Cause(err))
	}
	if root != f {
		r.keepOpen(root)
	} else if info, err := f.Stat("main"); err == nil && info.IsDir() {
		list.Notice(giterror.RuleWholeDirectory, giterror.Culprit(source.Ref, giterror.RuleBranchNotFound), giterror.Subject(source.Ref, fmt.Sprintf(
			"%s has a directory \"main\" but none for branch %q, so all of it was read", name, source.Ref.Branch)),
			diag.Hint("create a directory for the branch, or fix the name"))
	}
	source.FS = &gitobject.DirectoryFS{Root: root}
	if commit := source.Ref.Commit; commit != "" {
		source.Commit = commit
		list.Notice(giterror.RuleUncheckedCommit, source.Ref.At, giterror.Subject(source.Ref, fmt.Sprintf(
			"the commit %s is not verified: %s is a plain directory and has no commits", commit, name)))
	}
	return checkPath(source, name)
}

func (r *Reader) readClone(ctx context.Context, repo *local.Repository, source *model.Source, list *diag.List) error {
	ref := &source.Ref
	if ref.WorkTree {
		return r.readWorkTree(ctx, repo, source, list)
	}
	var branch gitobject.Branch
	id := plumbing.NewHash(ref.Commit)
	if ref.Commit == "" {
		var err error
		if branch, err = r.snapshot.resolve(ctx, repo, ref.Branch); err != nil {
			return err
		}
		ref.Branch, id = branch.Name, branch.Commit
	}
	commit, err := repo.CommitAt(ctx, id, "")
	if err != nil {
		return err
	}
	tree := gitobject.NewTreeFS(ctx, repo, commit)
	tree.Parsed = &repo.Parsed
	source.Commit, source.Committed, source.FS = id.String(), commit.When, tree
	if branch.Name != "" && ref.Role != model.Output && repo.WorkTree != "" {
		if err := r.readLocalState(repo, branch, source, list); err != nil {
			return err
		}
	}
	if source.Commit == "" {
		return checkPath(source, repo.String())
	}
	files, err := checkTree(source, repo.String())
	if err != nil {
		return err
	}
	return gitobject.Prefetch(ctx, tree, files)
}

// readLocalState reads the work tree of a clone instead of a commit, if it has the branch checked out and uncommitted
// changes, and records the differences from the remote.
func (r *Reader) readLocalState(repo *local.Repository, branch gitobject.Branch, source *model.Source, list *diag.List) error {
	var work fs.FS
	var changed []string
	if repo.CheckedOut() == branch.Name {
		var err error
		work, changed, err = r.workTree(repo, source.FS, source.Ref.Path)
		if err != nil && (r.worktree || !errors.Is(err, local.ErrSparse)) {
			return err
		}
	}
	reads := r.worktree && len(changed) > 0
	refuses := r.publishes && repo.IsClone()
	state := describeLocal(repo, branch, reads || refuses && len(changed) > 0)
	if refuses && state == "" && branch.Upstream == "" && branch.Remote == "" {
		state = branch.Name + " (not on a remote)"
	}
	if refuses && state != "" {
		return giterror.New(giterror.RuleLocalState, "the local state of the clone %s cannot be published: %s", repo, state).
			WithHint("commit, push and pull in the clone, or read its remote instead")
	}
	r.clones.noteBranch(repo, branch, reads)
	if reads {
		r.clones.uses(repo.String(), branch.Name, source.Ref.Role)
	}
	if r.worktree && repo.CheckedOut() == "" {
		r.clones.note(repo.String(), "", "not the working tree, because no branch is checked out")
	}
	switch {
	case reads:
		source.Commit, source.Committed, source.FS = "", time.Time{}, work
	case len(changed) > 0:
		list.Notice(giterror.RuleUncommittedChanges, source.Ref.At,
			giterror.Subject(source.Ref, fmt.Sprintf("uncommitted changes in %s are not read: %s", repo, SomeFiles(changed))))
	}
	return nil
}

// LocalState returns a notice for each clone with a branch that was read and differs from the remote. It
// waits for ListRemote. worktreeBase is true with --base worktree, so that no hint suggests it.
func (r *Reader) LocalState(worktreeBase bool) diag.List {
	if r.listing == nil {
		return r.clones.list("", "", nil, worktreeBase)
	}
	<-r.listing.done
	r.snapshot.mu.Lock()
	behind := slices.DeleteFunc(slices.Clone(r.listing.behind), func(branch string) bool {
		_, read := r.snapshot.branches[branchKey{r.listing.clone.ID(), branch}]
		return !read
	})
	r.snapshot.mu.Unlock()
	return r.clones.list(r.listing.clone.String(), r.listing.remote, behind, worktreeBase)
}

// Unpublished describes the commits and uncommitted changes of branches of a clone on this machine that its remote does
// not have, and how to publish them. Branches that cannot be read are left out.
func (r *Reader) Unpublished(ctx context.Context, clone string, branches []string) (texts []string, hint string) {
	repo := r.Local(ctx, clone)
	if repo == nil {
		return nil, ""
	}
	uncommitted, behind := false, false
	for _, name := range branches {
		branch, err := repo.FindBranch(name)
		if err == nil {
			branch, err = repo.Newest(ctx, branch)
		}
		if err != nil {
			continue
		}
		changed := r.hasChanges(ctx, repo, branch)
		if !changed && branch.Ahead == 0 {
			continue
		}
		texts = append(texts, describeLocal(repo, branch, changed))
		uncommitted, behind = uncommitted || changed, behind || branch.Behind > 0
	}
	switch {
	case uncommitted && behind:
		return texts, "commit, git pull --rebase, then push"
	case behind:
		return texts, "git pull --rebase, then push"
	case uncommitted:
		return texts, "commit and push them"
	default:
		return texts, "push them"
	}
}

// hasChanges reports whether a branch of a clone is checked out and has uncommitted changes.
func (r *Reader) hasChanges(ctx context.Context, repo *local.Repository, branch gitobject.Branch) bool {
	if repo.CheckedOut() != branch.Name {
		return false
	}
	commit, err := repo.CommitAt(ctx, branch.Commit, "")
	if err != nil {
		return false
	}
	_, changed, err := r.workTree(repo, gitobject.NewTreeFS(ctx, repo, commit), ".")
	return err == nil && len(changed) > 0
}

// ListRemote starts to list the remote of a clone on this machine, so that LocalState can name the branches that are
// behind it. Nothing waits longer than maxListing, and a remote that cannot be listed is left out.
func (r *Reader) ListRemote(ctx context.Context, repo, branch string) {
	clone := r.Local(ctx, repo)
	if clone == nil {
		return
	}
	name, url, err := clone.Upstream(branch)
	if err != nil || url == "" {
		return
	}
	r.listing = newListing(ctx, clone, name, func(ctx context.Context) (map[string]plumbing.Hash, error) {
		return r.tipsAt(ctx, clone, url)
	})
}

// Close ends ListRemote and closes the files of local repositories. Sources that were read from them cannot be used
// afterwards.
func (r *Reader) Close() error {
	if r.listing != nil {
		r.listing.stop()
		<-r.listing.done
	}
	return r.connections.Close()
}

func noWorkTree(name string) *giterror.Error {
	return giterror.New(giterror.RuleRefusedURL, "%s is not a local clone", name).
		WithHint("use a clone with --control-plane or --replace")
}

// readWorkTree reads the work tree of a clone, which has no commit.
func (r *Reader) readWorkTree(ctx context.Context, repo *local.Repository, source *model.Source, list *diag.List) error {
	if repo.WorkTree == "" {
		return noWorkTree(repo.String())
	}
	if has := repo.CheckedOut(); has != source.Ref.Branch && has != "" {
		list.Notice(giterror.RuleOtherBranch, source.Ref.At,
			giterror.Subject(source.Ref, fmt.Sprintf("%s has branch %q checked out, not %q: reading its working tree", repo, has, source.Ref.Branch)))
	}
	var committed fs.FS
	if id, found := repo.Reference("HEAD"); found {
		if commit, err := repo.CommitAt(ctx, id, ""); err == nil {
			committed = gitobject.NewTreeFS(ctx, repo, commit)
		}
	}
	work, changed, err := r.workTree(repo, committed, source.Ref.Path)
	if err != nil {
		return err
	}
	if has := repo.CheckedOut(); has != "" {
		if branch, err := r.snapshot.resolve(ctx, repo, has); err == nil && branch.Behind > 0 {
			r.clones.noteBranch(repo, branch, len(changed) > 0)
		}
	}
	source.FS = work
	r.clones.uses(repo.String(), repo.CheckedOut(), source.Ref.Role)
	return checkPath(source, repo.String())
}

// workTree returns the files of a work tree that git does not ignore, and the names of those that differ from a commit.
func (r *Reader) workTree(repo *local.Repository, commit fs.FS, below string) (fs.FS, []string, error) {
	root, err := os.OpenRoot(repo.WorkTree)
	if err != nil {
		return nil, nil, giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %v", repo, giterror.Cause(err))
	}
	r.keepOpen(root)
	work, changed, err := repo.Uncommitted(root, commit, below)
	if err != nil {
		return nil, nil, giterror.New(giterror.RuleInvalidRepository, "the working tree of %s cannot be read: %s", repo, giterror.OneLine(giterror.Cause(err).Error())).
			WithCause(err).WithHint("--committed reads the branch without it")
	}
	return work, changed, nil
}

// SomeFiles names the first of some files and how many more there are.
func SomeFiles(files []string) string {
	switch len(files) {
	case 1:
		return files[0]
	case 2:
		return files[0] + " and " + files[1]
	default:
		return fmt.Sprintf("%s and %d more", files[0], len(files)-1)
	}
}
