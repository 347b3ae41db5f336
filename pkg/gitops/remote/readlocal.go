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
func (r *Reader) readClone(ctx context.Context, repo *local.Repository, source *model.Source, list *diag.List) error {
	ref := &source.Ref
	var branch gitobject.Branch
	id := plumbing.NewHash(ref.Commit)
	if ref.Commit == "" && !ref.WorkTree {
		var err error
		if branch, err = r.snapshot.resolve(repo, ref.Branch); err != nil {
			return err
		}
		ref.Branch, id = branch.Name, branch.Commit
	}
	checkedOut := branch.Name != "" && branch.Remote == "" && repo.WorkTree != "" && repo.CheckedOut() == ref.Branch
	if ref.WorkTree && repo.WorkTree == "" {
		return noWorkTree(repo.String())
	}
	noticeWorkTree(repo, *ref, r.worktree, list)
	if ref.WorkTree || checkedOut && r.worktree && ref.Role != model.Output {
		return r.readWorkTree(repo, source)
	}
	commit, err := repo.CommitAt(ctx, id, "")
	if err != nil {
		return err
	}
	tree := gitobject.NewTreeFS(ctx, repo, commit)
	tree.Parsed = &repo.Parsed
	source.Commit, source.Committed, source.FS = id.String(), commit.When, tree
	if _, err := checkTree(source, repo.String()); err != nil {
		return err
	}
	noticeRemoteBranch(repo, branch, *ref, list)
	if checkedOut && ref.Role != model.Output {
		noticeUncommitted(repo, source, list)
	}
	return nil
}

// noticeWorkTree says what is in a work tree that is read, or why it is not.
func noticeWorkTree(repo *local.Repository, ref model.Ref, wanted bool, list *diag.List) {
	has := repo.CheckedOut()
	switch {
	case repo.WorkTree == "" || ref.Role == model.Output:
	case ref.WorkTree && has != ref.Branch && has != "":
		list.Notice(giterror.RuleOtherBranch, ref.At, giterror.Subject(ref, fmt.Sprintf("%s has branch %q checked out, not %q: that is what is read", repo, has, ref.Branch)))
	case wanted && !ref.WorkTree && has == "":
		list.Notice(giterror.RuleOtherBranch, ref.At, giterror.Subject(ref, fmt.Sprintf("%s has no branch checked out, so its work tree is not read", repo)))
	}
}

func noWorkTree(name string) *giterror.Error {
	return giterror.New(giterror.RuleRefusedURL, "%s has no work tree: it is not a clone on this machine", name).
		WithHint("give a clone with --control-plane or --replace")
}

// readWorkTree reads the files of a clone as they are. They are no commit.
func (r *Reader) readWorkTree(repo *local.Repository, source *model.Source) error {
	root, err := os.OpenRoot(repo.WorkTree)
	if err != nil {
		return giterror.New(giterror.RuleInvalidRepository, "%s cannot be read: %v", repo, giterror.Cause(err))
	}
	r.keepOpen(root)
	source.FS = &gitobject.FolderFS{Root: root}
	return checkPath(source, repo.String())
}

func noticeRemoteBranch(repo *local.Repository, branch gitobject.Branch, ref model.Ref, list *diag.List) {
	if branch.Remote == "" {
		return
	}
	text := fmt.Sprintf("%s has no local branch %q: refs/remotes/%s/%s is read", repo, branch.Name, branch.Remote, branch.Name)
	if len(branch.OtherRemotes) > 0 {
		text += " (also in " + strings.Join(branch.OtherRemotes, ", ") + ")"
	}
	list.Notice(giterror.RuleRemoteBranch, ref.At, giterror.Subject(ref, text))
}

// noticeUncommitted says which files were not read as they are on the disk. A work tree that cannot
// be compared is no reason to fail: it is not what is read.
func noticeUncommitted(repo *local.Repository, source *model.Source, list *diag.List) {
	changed, err := repo.Uncommitted(source.FS, source.Ref.Path)
	if err != nil || len(changed) == 0 {
		return
	}
	list.Notice(giterror.RuleUncommittedChanges, source.Ref.At,
		giterror.Subject(source.Ref, fmt.Sprintf("uncommitted changes in %s are not read: %s", repo, SomeFiles(changed))),
		diag.Hint("--worktree reads them"))
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
