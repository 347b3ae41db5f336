package remote

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
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
	return r.readFolder(opened.folder, at.String(), source, list)
}

// readFolder reads a plain folder.
func (r *Reader) readFolder(f *os.Root, name string, source *model.Source, list *diag.List) error {
	root, err := gitobject.BranchFolder(f, source.Ref.Branch)
	if err != nil {
		return giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %v", name, giterror.Cause(err))
	}
	if root != f {
		r.keepOpen(root)
	} else if info, err := f.Stat("main"); err == nil && info.IsDir() {
		list.Notice(giterror.RuleWholeFolder, giterror.Culprit(source.Ref, giterror.RuleBranchNotFound), giterror.Subject(source.Ref, fmt.Sprintf(
			"%s has a folder \"main\" but none for branch %q, so all of it was read", name, source.Ref.Branch)),
			diag.Hint("make a folder for the branch, or mend its name"))
	}
	source.FS = &gitobject.FolderFS{Root: root}
	if commit := source.Ref.Commit; commit != "" {
		source.Commit = commit
		list.Notice(giterror.RuleUncheckedCommit, source.Ref.At, giterror.Subject(source.Ref, fmt.Sprintf(
			"the commit %s is taken at its word: %s is a plain folder and has no commits", commit, name)))
	}
	return checkPath(source, name)
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
	noticeWorkTree(repo, *ref, r.worktree, list)
	if ref.WorkTree || checkedOut && r.worktree && ref.Role != model.Output {
		return r.readWorkTree(repo, source)
	}
	commit, err := repo.commit(id)
	if err != nil {
		return err
	}
	tree := gitobject.NewTreeFS(ctx, repo, commit)
	tree.Parsed = &repo.parsed
	source.Commit, source.Committed, source.FS = id.String(), commit.When, tree
	if _, err := checkTree(source, repo.name); err != nil {
		return err
	}
	noticeRemoteBranch(repo, branch, *ref, list)
	if checkedOut && ref.Role != model.Output {
		r.noticeUncommitted(ctx, repo, source, list)
	}
	return nil
}

// noticeWorkTree says what is in a work tree that is read, or why it is not.
func noticeWorkTree(repo *localRepo, ref model.Ref, wanted bool, list *diag.List) {
	has := repo.checkedOut()
	switch {
	case repo.workTree == "" || ref.Role == model.Output:
	case ref.WorkTree && has != ref.Branch && has != "":
		list.Notice(giterror.RuleOtherBranch, ref.At, giterror.Subject(ref, fmt.Sprintf("%s has branch %q checked out, not %q: that is what is read", repo.name, has, ref.Branch)))
	case wanted && !ref.WorkTree && has == "":
		list.Notice(giterror.RuleOtherBranch, ref.At, giterror.Subject(ref, fmt.Sprintf("%s has no branch checked out, so its work tree is not read", repo.name)))
	}
}

func noWorkTree(name string) *giterror.Error {
	return giterror.New(giterror.RuleRefusedURL, "%s has no work tree: it is not a clone on this machine", name).
		WithHint("give a clone with --control-plane or --replace")
}

// readWorkTree reads the files of a clone as they are. They are no commit.
func (r *Reader) readWorkTree(repo *localRepo, source *model.Source) error {
	root, err := os.OpenRoot(repo.workTree)
	if err != nil {
		return giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %v", repo.name, giterror.Cause(err))
	}
	r.keepOpen(root)
	source.FS = &gitobject.FolderFS{Root: root}
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
	list.Notice(giterror.RuleRemoteBranch, ref.At, giterror.Subject(ref, text))
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
	list.Notice(giterror.RuleUncommittedChanges, source.Ref.At,
		giterror.Subject(source.Ref, fmt.Sprintf("uncommitted changes in %s are not read: %s", repo.name, SomeFiles(changed))),
		diag.Hint("--worktree reads them"))
}
