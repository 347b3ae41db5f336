package remote

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// cloned makes a repository with the branches main and dev and clones it.
func cloned(t *testing.T) (clone, origin string, ids []string) {
	t.Helper()
	origin, ids = gitopstest.NewBare(t,
		gitopstest.Commit{Files: gitopstest.Files{"a.yaml": "main\n", "notes.txt": "n\n", ".gitignore": "out/\n*.tmp.yaml\n"}},
		gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"a.yaml": "dev\n"}})
	clone = filepath.Join(t.TempDir(), "clone")
	require.NoError(t, gitopstest.Clone(origin, clone))
	return clone, origin, ids
}

func readWith(t *testing.T, opts Options, ref model.Ref) (*model.Source, diag.List) {
	t.Helper()
	sources, list := newReader(t, opts).Read(t.Context(), []model.Ref{ref})
	require.NotNil(t, sources[0], "%+v", list)
	return sources[0], list
}

// readState reads a ref of a clone, and returns the notice of what is read without the name of the clone.
func readState(t *testing.T, opts Options, ref model.Ref) (*model.Source, string) {
	t.Helper()
	r := newReader(t, opts)
	sources, list := r.Read(t.Context(), []model.Ref{ref})
	require.NotNil(t, sources[0], "%+v", list)
	list = r.LocalState(false)
	if len(list) == 0 {
		return sources[0], ""
	}
	require.Len(t, list, 1)
	assert.Equal(t, diag.Notice, list[0].Severity)
	text, found := strings.CutPrefix(list[0].Message, "reading "+filepath.ToSlash(ref.Repo)+": ")
	assert.True(t, found, list[0].Message)
	return sources[0], text
}

// commit adds a commit to the branch that is checked out.
func commit(t *testing.T, clone string, files gitopstest.Files) {
	t.Helper()
	gitopstest.Write(t, clone, files)
	gitopstest.RunGit(t, clone, "add", ".")
	gitopstest.RunGit(t, clone, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "change")
}

// TestCloneBranches: of a branch that is not checked out the newer of the local and the remote-tracking one is read.
func TestCloneBranches(t *testing.T) {
	t.Parallel()
	clone, origin, ids := cloned(t)
	dev := model.Ref{Repo: clone, Branch: "dev"}
	check := func(wantFile, wantState string) {
		t.Helper()
		source, state := readState(t, Options{Worktree: true}, dev)
		assert.Equal(t, wantFile, gitopstest.Content(t, source.FS, "a.yaml"))
		assert.Equal(t, wantState, state)
		assert.Equal(t, "dev", source.Ref.Branch)
		assert.NotEmpty(t, source.Commit)
	}
	check("dev\n", "")
	gitopstest.RunGit(t, clone, "branch", "dev", "origin/dev")
	check("dev\n", "")

	_, err := gitopstest.Add(origin, gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"a.yaml": "newer\n"}})
	require.NoError(t, err)
	gitopstest.RunGit(t, clone, "fetch", "-q")
	check("newer\n", "dev from origin/dev (1 commit ahead of dev)")

	gitopstest.RunGit(t, clone, "checkout", "-q", "dev")
	check("dev\n", "dev (1 commit behind origin/dev)")
	commit(t, clone, gitopstest.Files{"a.yaml": "mine\n"})
	gitopstest.RunGit(t, clone, "checkout", "-q", "main")
	check("mine\n", "dev (1 commit ahead of origin/dev, 1 behind)")
	gitopstest.RunGit(t, clone, "branch", "-q", "-f", "dev", "origin/dev")
	gitopstest.RunGit(t, clone, "checkout", "-q", "dev")
	commit(t, clone, gitopstest.Files{"a.yaml": "mine\n"})
	commit(t, clone, gitopstest.Files{"a.yaml": "mine too\n"})
	gitopstest.RunGit(t, clone, "checkout", "-q", "main")
	check("mine too\n", "dev (2 commits ahead of origin/dev)")

	gitopstest.RunGit(t, clone, "branch", "new", "main")
	_, state := readState(t, Options{Worktree: true}, model.Ref{Repo: clone, Branch: "new"})
	assert.Equal(t, "new (not on a remote)", state)
	gitopstest.RunGit(t, clone, "checkout", "-q", "--detach")
	source, state := readState(t, Options{Worktree: true}, model.Ref{Repo: clone, Branch: "main"})
	assert.Equal(t, "not the working tree, because no branch is checked out", state)
	assert.Equal(t, ids[0], source.Commit)
	gitopstest.RunGit(t, clone, "checkout", "-q", "main")
	source, _ = readWith(t, Options{}, model.Ref{Repo: clone})
	assert.Equal(t, "main", source.Ref.Branch, "without a branch it is the one checked out")
}

// TestListRemote: branches that were read are compared with the remote, also if the clone stands for its URL. A commit that the
// clone has is not one that it is behind.
func TestListRemote(t *testing.T) {
	t.Parallel()
	clone, origin, ids := cloned(t)
	behind := func(branch string) string {
		t.Helper()
		r := newReader(t, Options{Worktree: true})
		r.StandFor(filepath.ToSlash(origin), clone)
		_, list := r.Read(t.Context(), []model.Ref{{Repo: clone, Branch: branch}})
		require.Empty(t, list)
		r.ListRemote(t.Context(), clone, "main")
		list = r.LocalState(false)
		if len(list) == 0 {
			return ""
		}
		require.Len(t, list, 1)
		assert.Equal(t, "run git fetch", list[0].Hint)
		return strings.TrimPrefix(list[0].Message, "reading "+filepath.ToSlash(clone)+": ")
	}
	assert.Empty(t, behind("dev"))
	_, err := gitopstest.Add(origin, gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"a.yaml": "newer\n"}})
	require.NoError(t, err)
	assert.Equal(t, "dev is behind origin", behind("dev"))
	assert.Empty(t, behind("main"))
	gitopstest.RunGit(t, clone, "fetch", "-q")
	assert.Empty(t, behind("dev"))
	gitopstest.RunGit(t, origin, "update-ref", "refs/heads/dev", ids[1])
	assert.Empty(t, behind("dev"), "the remote was reset")
	gitopstest.RunGit(t, clone, "remote", "set-url", "origin", filepath.Join(t.TempDir(), "gone"))
	assert.Empty(t, behind("dev"))
}

func TestClonePrefersOrigin(t *testing.T) {
	t.Parallel()
	clone, origin, ids := cloned(t)
	gitopstest.RunGit(t, clone, "remote", "add", "another", origin)
	gitopstest.RunGit(t, clone, "update-ref", "refs/remotes/another/dev", ids[0])
	gitopstest.RunGit(t, clone, "update-ref", "refs/remotes/another/only", ids[0])
	source, state := readState(t, Options{}, model.Ref{Repo: clone, Branch: "dev"})
	assert.Equal(t, ids[1], source.Commit)
	assert.Equal(t, "dev from origin/dev (also in another)", state)
	source, state = readState(t, Options{}, model.Ref{Repo: clone, Branch: "only"})
	assert.Equal(t, ids[0], source.Commit)
	assert.Empty(t, state)
}

// TestCloneIsNotPublished: only what the remote of a clone has is published.
func TestCloneIsNotPublished(t *testing.T) {
	t.Parallel()
	clone, origin, ids := cloned(t)
	publishes := Options{Publishes: true}
	refused := func(branch, want string) {
		t.Helper()
		d := readError(t, newReader(t, publishes), model.Ref{Repo: clone, Branch: branch, Subject: "--replace"})
		assert.Equal(t, giterror.RuleLocalState, d.Rule)
		assert.Equal(t, "--replace: the local state of the clone "+filepath.ToSlash(clone)+" cannot be published: "+want, d.Message)
	}
	source, state := readState(t, publishes, model.Ref{Repo: clone, Branch: "dev"})
	assert.Equal(t, ids[1], source.Commit)
	assert.Empty(t, state)
	readState(t, publishes, model.Ref{Repo: clone, Branch: "main"})
	gitopstest.Write(t, clone, gitopstest.Files{"a.yaml": "changed\n"})
	refused("main", "main with uncommitted changes")
	readState(t, publishes, model.Ref{Repo: clone, Branch: "main", Commit: ids[0]})
	readState(t, publishes, model.Ref{Repo: clone, Branch: "main", Role: model.Output})
	commit(t, clone, gitopstest.Files{"a.yaml": "changed\n"})
	refused("main", "main (1 commit ahead of origin/main)")
	_, err := gitopstest.Add(origin, gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"a.yaml": "newer\n"}})
	require.NoError(t, err)
	gitopstest.RunGit(t, clone, "branch", "dev", "origin/dev")
	gitopstest.RunGit(t, clone, "fetch", "-q")
	refused("dev", "dev from origin/dev (1 commit ahead of dev)")

	gitopstest.RunGit(t, clone, "remote", "remove", "origin")
	gitopstest.Write(t, clone, gitopstest.Files{"a.yaml": "again\n"})
	source, list := readWith(t, publishes, model.Ref{Repo: clone, Branch: "main"})
	assert.Equal(t, "changed\n", gitopstest.Content(t, source.FS, "a.yaml"), "without a remote it is no copy")
	require.Len(t, list, 1)
	assert.Equal(t, giterror.RuleUncommittedChanges, list[0].Rule)
}

func TestUncommittedChanges(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change gitopstest.Files
		remove string
		path   string
		want   string
	}{
		"changed":              {change: gitopstest.Files{"a.yaml": "changed\n"}, want: "a.yaml"},
		"new":                  {change: gitopstest.Files{"new/b.yaml": "b\n"}, want: "new/b.yaml"},
		"removed":              {remove: "a.yaml", want: "a.yaml"},
		"several":              {change: gitopstest.Files{"a.yaml": "x\n", "b.yaml": "x\n", "c.yaml": "x\n"}, want: "a.yaml and 2 more"},
		"not read":             {change: gitopstest.Files{"notes.txt": "changed\n", ".github/x.yaml": "x\n"}},
		"ignored":              {change: gitopstest.Files{"out/b.yaml": "b\n", "c.tmp.yaml": "c\n"}},
		"only line ends":       {change: gitopstest.Files{"a.yaml": "main\r\n"}},
		"outside of the path":  {change: gitopstest.Files{"x.yaml": "x\n"}, path: "a.yaml"},
		"the file of the path": {change: gitopstest.Files{"a.yaml": "x\n"}, path: "a.yaml", want: "a.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clone, _, _ := cloned(t)
			gitopstest.Write(t, clone, tc.change)
			if tc.remove != "" {
				require.NoError(t, os.Remove(filepath.Join(clone, tc.remove)))
			}
			source, list := readWith(t, Options{}, model.Ref{Repo: clone, Branch: "main", Path: tc.path})
			assert.Equal(t, "main\n", gitopstest.Content(t, source.FS, "a.yaml"))
			if tc.want == "" {
				assert.Empty(t, list)
				return
			}
			require.Len(t, list, 1)
			assert.Equal(t, giterror.RuleUncommittedChanges, list[0].Rule)
			assert.Equal(t, diag.Notice, list[0].Severity)
			assert.Equal(t, "uncommitted changes in "+filepath.ToSlash(clone)+" are not read: "+tc.want, list[0].Message)
			source, state := readState(t, Options{Worktree: true}, model.Ref{Repo: clone, Branch: "main", Path: tc.path})
			assert.Equal(t, "main with uncommitted changes", state)
			assert.Empty(t, source.Commit, "files that are not committed are no commit")
		})
	}
}

func TestWorktree(t *testing.T) {
	t.Parallel()
	clone, _, ids := cloned(t)
	gitopstest.Write(t, clone, gitopstest.Files{"a.yaml": "changed\n"})
	gitopstest.Write(t, clone, gitopstest.Files{"out/b.yaml": "ignored\n"})
	source, list := readWith(t, Options{Worktree: true}, model.Ref{Repo: clone, Branch: "main"})
	assert.Empty(t, list)
	entries, err := fs.ReadDir(source.FS, "out")
	require.NoError(t, err)
	assert.Empty(t, entries, "files that git ignores are not read")
	assert.Equal(t, "changed\n", gitopstest.Content(t, source.FS, "a.yaml"))
	assert.Empty(t, source.Commit, "files that are not committed are no commit")
	_, err = fs.Stat(source.FS, ".git/HEAD")
	require.ErrorIs(t, err, fs.ErrNotExist)

	source, _ = readWith(t, Options{Worktree: true}, model.Ref{Repo: clone, Branch: "dev"})
	assert.Equal(t, "dev\n", gitopstest.Content(t, source.FS, "a.yaml"), "a branch that is not checked out is read as it is")
	source, _ = readWith(t, Options{Worktree: true}, model.Ref{Repo: clone, Branch: "main", Commit: ids[0]})
	assert.Equal(t, "main\n", gitopstest.Content(t, source.FS, "a.yaml"), "and so is an exact commit")

	source, _ = readWith(t, Options{Worktree: true}, model.Ref{Repo: clone, Branch: "main", Role: model.Output})
	assert.Equal(t, "main\n", gitopstest.Content(t, source.FS, "a.yaml"), "and what is published")

	source, _ = readWith(t, Options{}, model.Ref{Repo: clone, Branch: "dev", WorkTree: true})
	assert.Equal(t, "changed\n", gitopstest.Content(t, source.FS, "a.yaml"), "unless the ref asks for the work tree")
}

func TestWorkTreeWithoutOne(t *testing.T) {
	t.Parallel()
	_, origin, _ := cloned(t)
	d := readError(t, newReader(t, Options{}), model.Ref{Repo: origin, Branch: "main", WorkTree: true})
	assert.Contains(t, d.Message, "is not a local clone")
	d = readError(t, newReader(t, Options{}), model.Ref{Repo: "https://example.com/x", Branch: "main", WorkTree: true})
	assert.Contains(t, d.Message, "is not a local clone")
}

func TestLocalLayouts(t *testing.T) {
	t.Parallel()
	clone, origin, ids := cloned(t)
	base := t.TempDir()
	read := func(name, repo, branch, want string) {
		t.Helper()
		source, _ := readWith(t, Options{}, model.Ref{Repo: repo, Branch: branch})
		assert.Equal(t, want, gitopstest.Content(t, source.FS, "a.yaml"), name)
	}
	linked := filepath.Join(base, "linked")
	gitopstest.RunGit(t, clone, "worktree", "add", "--quiet", "-b", "feature/x", linked, ids[1])
	read("git worktree", linked, "feature/x", "dev\n")
	read("git worktree, other branch", linked, "main", "main\n")

	shared := filepath.Join(base, "shared")
	gitopstest.RunGit(t, "", "clone", "--quiet", "--shared", origin, shared)
	d := readError(t, newReader(t, Options{}), model.Ref{Repo: shared, Branch: "main"})
	assert.Contains(t, d.Message, "it shares the objects of another repository")

	gitopstest.RunGit(t, origin, "gc", "--quiet")
	gitopstest.RunGit(t, origin, "pack-refs", "--all")
	read("packed", origin, "dev", "dev\n")
	read("packed", "file://"+origin, "dev", "dev\n")
	read(".git itself", filepath.Join(clone, ".git"), "main", "main\n")

	shallow := filepath.Join(base, "shallow")
	gitopstest.RunGit(t, "", "clone", "--quiet", "--depth=1", "file://"+origin, shallow)
	read("shallow", shallow, "main", "main\n")
	d = readError(t, newReader(t, Options{}), model.Ref{Repo: shallow, Branch: "main", Commit: ids[1]})
	assert.Equal(t, giterror.RuleCommitNotFound, d.Rule)
	assert.Contains(t, d.Hint, "shallow")

	partial := filepath.Join(base, "partial")
	gitopstest.RunGit(t, "", "clone", "--quiet", "--bare", "--filter=blob:none", "file://"+origin, partial)
	d = readError(t, newReader(t, Options{}), model.Ref{Repo: partial, Branch: "main"})
	assert.Contains(t, d.Message, "the clone is partial or damaged")
	assert.Contains(t, d.Hint, "--refetch")
}

func TestLocalFormatsThatAreNotSupported(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sha256")
	gitopstest.RunGit(t, "", "init", "--quiet", "--object-format=sha256", dir)
	d := readError(t, newReader(t, Options{}), model.Ref{Repo: dir, Branch: "main"})
	assert.Equal(t, giterror.RuleInvalidRepository, d.Rule)
	assert.Contains(t, d.Message, "its object format sha256 is not supported")

	dir = t.TempDir()
	gitopstest.Write(t, dir, gitopstest.Files{".git": "not a pointer\n"})
	d = readError(t, newReader(t, Options{}), model.Ref{Repo: dir, Branch: "main"})
	assert.Contains(t, d.Message, "the file .git does not contain the path of the repository")
}

func TestPlainFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gitopstest.Write(t, dir, gitopstest.Files{"dev/a.yaml": "dev\n", "feature/x/a.yaml": "x\n", "a.yaml": "all\n"})
	for branch, want := range map[string]string{"dev": "dev\n", "feature/x": "x\n", "main": "all\n", "..": "all\n", "a.yaml": "all\n"} {
		source, list := readWith(t, Options{}, model.Ref{Repo: dir, Branch: branch})
		assert.Empty(t, list)
		assert.Equal(t, want, gitopstest.Content(t, source.FS, "a.yaml"), branch)
		assert.Empty(t, source.Commit)
	}
	commit := strings.Repeat("ab", 20)
	source, list := readWith(t, Options{}, model.Ref{Repo: dir, Branch: "dev", Commit: commit, Subject: `BaseRepo "main"`})
	assert.Equal(t, commit, source.Commit)
	require.Len(t, list, 1)
	assert.Equal(t, diag.Notice, list[0].Severity)
	assert.Contains(t, list[0].Message, `BaseRepo "main": the commit `+commit+" is not verified")

	tip, err := newReader(t, Options{}).Tip(t.Context(), model.Ref{Repo: dir, Branch: "dev"})
	require.NoError(t, err)
	assert.Empty(t, tip)
}

func TestLocalErrors(t *testing.T) {
	t.Parallel()
	clone, _, _ := cloned(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	empty := filepath.Join(t.TempDir(), "empty")
	gitopstest.RunGit(t, "", "init", "--quiet", empty)
	for _, tc := range []struct {
		name, rule, message, hint string
		ref                       model.Ref
	}{
		{"no directory", giterror.RuleInvalidRepository, "not found", "", model.Ref{Repo: file + "x", Branch: "main"}},
		{"file", giterror.RuleInvalidRepository, "is a file", "", model.Ref{Repo: file, Branch: "main"}},
		{"branch", giterror.RuleBranchNotFound, `branch "mian" not found in `, `did you mean "main"?`, model.Ref{Repo: clone, Branch: "mian"}},
		{"commit", giterror.RuleCommitNotFound, "commit 1111", "", model.Ref{Repo: clone, Branch: "main", Commit: strings.Repeat("1", 40)}},
		{"short commit", giterror.RuleCommitNotFound, `"abc1234" is not a full commit SHA`, "", model.Ref{Repo: clone, Branch: "main", Commit: "abc1234"}},
		{"path", giterror.RulePathNotFound, `has no path "a.yml"`, `did you mean "a.yaml"?`, model.Ref{Repo: clone, Branch: "main", Path: "a.yml"}},
		{"empty", giterror.RuleBranchNotFound, `branch "main" not found in `, "push a first commit to it", model.Ref{Repo: empty, Branch: "main"}},
	} {
		tc.ref.Subject = "flag --control-plane"
		d := readError(t, newReader(t, Options{}), tc.ref)
		assert.Equal(t, tc.rule, d.Rule, tc.name)
		assert.Contains(t, d.Message, "flag --control-plane: ", tc.name)
		assert.Contains(t, d.Message, tc.message, tc.name)
		assert.Equal(t, tc.hint, d.Hint, tc.name)
		assert.False(t, giterror.IsRemote(d.Rule), tc.name)
	}
}

func TestTipOfClone(t *testing.T) {
	t.Parallel()
	clone, _, ids := cloned(t)
	r := newReader(t, Options{})
	tip, err := r.Tip(t.Context(), model.Ref{Repo: clone, Branch: "dev"})
	require.NoError(t, err)
	assert.Equal(t, ids[1], tip)
	_, err = r.Tip(t.Context(), model.Ref{Repo: clone, Branch: "nope"})
	var e *giterror.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, giterror.RuleBranchNotFound, e.Rule)
}

// TestR19LocalBranchesStay: a branch that moves during a run is read at its first commit.
func TestR19LocalBranchesStay(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "shop.git")
	before, err := gitopstest.Bare(dir, gitopstest.Commit{Files: gitopstest.Files{"a.yaml": "before\n"}})
	require.NoError(t, err)
	r := newReader(t, Options{})
	readOne(t, r, model.Ref{Repo: dir, Branch: "main"})
	after, err := gitopstest.Add(dir, gitopstest.Commit{Files: gitopstest.Files{"a.yaml": "after\n"}})
	require.NoError(t, err)

	again := readOne(t, r, model.Ref{Repo: dir, Branch: "main"})
	assert.Equal(t, before[0], again.Commit)
	assert.Equal(t, "before\n", gitopstest.Content(t, again.FS, "a.yaml"))
	tip, err := r.Tip(t.Context(), model.Ref{Repo: dir, Branch: "main"})
	require.NoError(t, err)
	assert.Equal(t, before[0], tip)
	next := readOne(t, newReader(t, Options{}), model.Ref{Repo: dir, Branch: "main"})
	assert.Equal(t, after[0], next.Commit)
}

// TestR1BranchFolderThatCannotBeRead: what stands for a branch in a plain folder cannot be looked at,
// so it is not known whether the whole folder does.
func TestR1BranchFolderThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("a"), 0o644))
	require.NoError(t, os.Symlink("dev", filepath.Join(dir, "dev")))
	d := readError(t, newReader(t, Options{}), model.Ref{Repo: dir, Branch: "dev"})
	assert.Equal(t, giterror.RuleInvalidRepository, d.Rule)
	assert.Contains(t, d.Message, dir)
	readOne(t, newReader(t, Options{}), model.Ref{Repo: dir, Branch: "stage"})
	readOne(t, newReader(t, Options{}), model.Ref{Repo: dir, Branch: "a.yaml/stage"})
}
