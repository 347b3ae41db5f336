// Package branchtest is what GitHub does to the branches of a bare repository: it compares, merges and protects them.
package branchtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// Dir are the branches of a bare git repository. Merges are made in the object store, without a work tree. Its methods
// panic with an error if git fails.
type Dir struct {
	dir string
	// merged remembers for pairs of commits whether they conflict.
	merged sync.Map
}

// Open returns the branches of a folder.
func Open(dir string) *Dir { return &Dir{dir: dir} }

// Merge is a merge that was asked for.
type Merge struct {
	// Method is "merge", "squash" or "rebase".
	Method string
	// Branch is merged into, and must be at Base. Head is the other commit.
	Branch, Base, Head string
	// Title is the message.
	Title string
	// Author is a login.
	Author string
	Unix   int64
}

var (
	// ErrConflict is a merge that people must settle.
	ErrConflict = errors.New("merge conflict")
	// ErrBaseModified is a merge into a branch that was pushed in the meantime.
	ErrBaseModified = errors.New("the branch has moved")
)

// IsCommit reports whether a text is the id of a commit.
func IsCommit(text string) bool { return commitPattern.MatchString(text) }

var commitPattern = regexp.MustCompile(`^[0-9a-f]{40}$`)

// must ends the work at an error.
func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func (g *Dir) try(args ...string) (string, error) {
	out, err := gitopstest.Git(g.dir, args...)
	return strings.TrimSuffix(out, "\n"), err
}

func (g *Dir) git(args ...string) string { return must(g.try(args...)) }

// failed reports whether git said no, by its exit code, rather than that something is wrong.
func failed(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 1
}

// Tips are the commits of all branches, read as git stores them: packed in a file, unless there is a file for one. Every
// request asks for them, and a process for each of these would be most of the time of many tests.
func (g *Dir) Tips() map[string]string {
	tips := map[string]string{}
	packed, err := os.ReadFile(filepath.Join(g.dir, "packed-refs"))
	if !errors.Is(err, fs.ErrNotExist) {
		check(err)
	}
	for line := range strings.Lines(string(packed)) {
		commit, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			tips[branch] = commit
		}
	}
	heads := os.DirFS(filepath.Join(g.dir, "refs", "heads"))
	check(fs.WalkDir(heads, ".", func(branch string, entry fs.DirEntry, err error) error {
		var commit []byte
		if err == nil && !entry.IsDir() && !strings.HasSuffix(branch, ".lock") {
			commit, err = fs.ReadFile(heads, branch)
		}
		if len(commit) > 0 {
			tips[branch] = strings.TrimSpace(string(commit))
		}
		if errors.Is(err, fs.ErrNotExist) { // it was deleted just now
			return nil
		}
		return err
	}))
	return tips
}

// Between are the commits that a commit has and another has not, the oldest first.
func (g *Dir) Between(of, commit string) []string {
	if of == commit {
		return nil
	}
	span := of + ".." + commit
	if ids, ok := spans.Load(span); ok {
		return ids.([]string) //nolint:forcetypeassert // nothing else is stored
	}
	ids, straight := g.line(of, commit)
	if !straight {
		ids = strings.Fields(g.git("rev-list", "--reverse", span))
	}
	if IsCommit(of) && IsCommit(commit) {
		spans.Store(span, ids)
	}
	return ids
}

// spans are the commits between two, by their ids: the same in every repository.
var spans sync.Map // of string → []string

// line are the commits from one, without it, to another, if there is no merge between them.
func (g *Dir) line(from, to string) (ids []string, straight bool) {
	history, err := gitopstest.FirstParents(g.dir, to)
	for _, c := range history {
		switch {
		case err != nil || c.ID != from && len(c.Parents) > 1:
			return nil, false
		case c.ID == from:
			slices.Reverse(ids)
			return ids, true
		}
		ids = append(ids, c.ID)
	}
	return nil, false
}

// MergeBase is the best common ancestor of two commits; it is empty if they have none.
func (g *Dir) MergeBase(a, b string) string {
	base, err := g.try("merge-base", a, b)
	if failed(err) {
		return ""
	}
	return must(base, err)
}

// File is the text of a file of a commit, and whether it has that file.
func (g *Dir) File(commit, path string) (text string, found bool) {
	if g.git("ls-tree", commit, "--", path) == "" {
		return "", false
	}
	return g.git("cat-file", "blob", commit+":"+path), true
}

// Has reports whether a commit is there.
func (g *Dir) Has(commit string) bool {
	if !IsCommit(commit) {
		return false
	}
	_, err := gitopstest.FindCommit(g.dir, commit)
	return err == nil
}

// Conflicts reports whether two commits cannot be merged.
func (g *Dir) Conflicts(base, head string) bool {
	pair := [2]string{base, head}
	conflict, known := g.merged.Load(pair)
	if !known {
		_, err := g.mergeTree(base, head)
		conflict = err != nil
		g.merged.Store(pair, conflict)
	}
	return conflict == true
}

// mergeTree is the tree that a merge of two commits has, or ErrConflict.
func (g *Dir) mergeTree(ours, theirs string) (string, error) {
	if _, straight := g.line(ours, theirs); straight {
		tip, err := gitopstest.FindCommit(g.dir, theirs)
		return must(tip.Tree, err), nil
	}
	tree, err := g.try("merge-tree", "--write-tree", "--no-messages", "--allow-unrelated-histories", ours, theirs)
	if failed(err) {
		return "", ErrConflict
	}
	return must(tree, err), nil
}

// Set moves a branch, or makes it; an empty commit removes it.
func (g *Dir) Set(branch, commit string) {
	check(gitopstest.Move(g.dir, branch, g.Tips()[branch], commit))
}

// Merge moves a branch to what a merge makes of it, and returns the new tip. The error is ErrConflict, or ErrBaseModified if the
// branch is not where the merge says.
func (g *Dir) Merge(how Merge) (string, error) {
	commit, err := g.mergeCommit(how)
	if err != nil {
		return "", err
	}
	if err := gitopstest.Move(g.dir, how.Branch, how.Base, commit); err != nil {
		return "", fmt.Errorf("%w: %w", ErrBaseModified, err)
	}
	return commit, nil
}

// mergeCommit makes the commit that a merge ends in.
func (g *Dir) mergeCommit(how Merge) (string, error) {
	if how.Method == "rebase" {
		return g.rebase(how)
	}
	tree, err := g.mergeTree(how.Base, how.Head)
	if err != nil {
		return "", err
	}
	parents := []string{how.Base}
	if how.Method == "merge" {
		parents = append(parents, how.Head)
	}
	return g.commit(tree, parents, how.person(), how), nil
}

// rebase puts the commits of the head on the base, one after the other, without merges. Their ids change
// even where they could stay, as on GitHub.
func (g *Dir) rebase(how Merge) (onto string, err error) {
	onto = how.Base
	for _, id := range strings.Fields(g.git("rev-list", "--reverse", "--no-merges", how.Base+".."+how.Head)) {
		if onto, err = g.pick(id, onto, how); err != nil {
			return "", err
		}
	}
	return onto, nil
}

// pick puts the change of a commit on another one.
func (g *Dir) pick(id, onto string, how Merge) (string, error) {
	picked, err := gitopstest.FindCommit(g.dir, id)
	check(err)
	base, err := gitopstest.FindCommit(g.dir, onto)
	check(err)
	// A commit that has the tree of onto and the parent of id makes git take that parent for the merge base.
	between := g.commit(base.Tree, picked.Parents[:1], how.person(), how)
	tree, err := g.mergeTree(between, id)
	if err != nil {
		return "", err
	}
	_, author, _ := strings.Cut(picked.Text, "\nauthor ")
	author, _, _ = strings.Cut(author, "\n")
	how.Title = strings.TrimRight(picked.Message(), "\n")
	return g.commit(tree, []string{onto}, author, how), nil
}

// person is the author of a merge.
func (m Merge) person() string {
	return fmt.Sprintf("%s <%s@users.noreply.github.com> %d +0000", m.Author, m.Author, m.Unix)
}

// commit stores a commit. The author is with its date.
func (g *Dir) commit(tree string, parents []string, author string, how Merge) string {
	var text strings.Builder
	fmt.Fprintf(&text, "tree %s\n", tree)
	for _, parent := range parents {
		fmt.Fprintf(&text, "parent %s\n", parent)
	}
	fmt.Fprintf(&text, "author %s\ncommitter GitHub <noreply@github.com> %d +0000\n\n%s\n", author, how.Unix, how.Title)
	return must(gitopstest.StoreCommit(g.dir, text.String()))
}

// hook is run by git for every branch that is pushed. What it says is what GitHub says.
const hook = `#!/bin/sh
grep -qxF -e "$1" hooks/protected || exit 0
echo "error: GH013: Repository rule violations found for $1." >&2
echo >&2
echo "- Changes must be made through a pull request." >&2
exit 1
`

// Protect makes a rule that a branch is changed by pull requests only: pushes to it are refused, by whomever.
func (g *Dir) Protect(branch string) {
	hooks := filepath.Join(g.dir, "hooks")
	check(os.MkdirAll(hooks, 0o755))
	refs := must(os.OpenFile(filepath.Join(hooks, "protected"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644))
	_, err := fmt.Fprintln(refs, "refs/heads/"+branch)
	check(errors.Join(err, refs.Close()))
	check(os.WriteFile(filepath.Join(hooks, "update"), []byte(hook), 0o755))
}
