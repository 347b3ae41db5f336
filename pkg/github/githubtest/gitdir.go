package githubtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// gitDir are the branches of a bare git repository. Merges are made in the object store, without a work
// tree.
type gitDir struct {
	dir string
	// merged remembers for pairs of commits whether they conflict.
	merged *sync.Map
}

func (g gitDir) try(args ...string) (string, error) {
	out, err := gitopstest.Git(g.dir, args...)
	return strings.TrimSuffix(out, "\n"), err
}

func (g gitDir) git(args ...string) string { return must(g.try(args...)) }

// failed reports whether git said no, by its exit code, rather than that something is wrong.
func failed(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 1
}

// tips reads the branches as git stores them: packed in a file, unless there is a file for one. Every request asks
// for them, and a process for each of these would be most of the time of many tests.
func (g gitDir) tips() map[string]string {
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

func (g gitDir) between(of, commit string) []string {
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
	if commitPattern.MatchString(of) && commitPattern.MatchString(commit) {
		spans.Store(span, ids)
	}
	return ids
}

// spans are the commits between two, by their ids: the same in every repository.
var spans sync.Map // of string → []string

// line are the commits from one, without it, to another, if there is no merge between them.
func (g gitDir) line(from, to string) (ids []string, straight bool) {
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

func (g gitDir) mergeBase(a, b string) string {
	base, err := g.try("merge-base", a, b)
	if failed(err) {
		return ""
	}
	return must(base, err)
}

func (g gitDir) file(commit, path string) (text string, found bool) {
	if g.git("ls-tree", commit, "--", path) == "" {
		return "", false
	}
	return g.git("cat-file", "blob", commit+":"+path), true
}

func (g gitDir) has(commit string) bool {
	if !commitPattern.MatchString(commit) {
		return false
	}
	_, err := gitopstest.Look(g.dir, commit)
	return err == nil
}

func (g gitDir) conflicts(base, head string) bool {
	pair := [2]string{base, head}
	conflict, known := g.merged.Load(pair)
	if !known {
		_, err := g.mergeTree(base, head)
		conflict = err != nil
		g.merged.Store(pair, conflict)
	}
	return conflict == true
}

// mergeTree is the tree that a merge of two commits has, or errConflict.
func (g gitDir) mergeTree(ours, theirs string) (string, error) {
	if _, straight := g.line(ours, theirs); straight {
		tip, err := gitopstest.Look(g.dir, theirs)
		return must(tip.Tree, err), nil
	}
	tree, err := g.try("merge-tree", "--write-tree", "--no-messages", "--allow-unrelated-histories", ours, theirs)
	if failed(err) {
		return "", errConflict
	}
	return must(tree, err), nil
}

func (g gitDir) set(branch, commit string) {
	check(gitopstest.Move(g.dir, branch, g.tips()[branch], commit))
}

func (g gitDir) merge(how merge) (string, error) {
	commit, err := g.mergeCommit(how)
	if err != nil {
		return "", err
	}
	if err := gitopstest.Move(g.dir, how.branch, how.base, commit); err != nil {
		return "", fmt.Errorf("%w: %w", errMoved, err)
	}
	return commit, nil
}

// mergeCommit makes the commit that a merge ends in.
func (g gitDir) mergeCommit(how merge) (string, error) {
	if how.method == "rebase" {
		return g.rebase(how)
	}
	tree, err := g.mergeTree(how.base, how.head)
	if err != nil {
		return "", err
	}
	parents := []string{how.base}
	if how.method == "merge" {
		parents = append(parents, how.head)
	}
	return g.commit(tree, parents, how.person(), how), nil
}

// rebase puts the commits of the head on the base, one after the other, without merges. Their ids change
// even where they could stay, as on GitHub.
func (g gitDir) rebase(how merge) (onto string, err error) {
	onto = how.base
	for _, id := range strings.Fields(g.git("rev-list", "--reverse", "--no-merges", how.base+".."+how.head)) {
		if onto, err = g.pick(id, onto, how); err != nil {
			return "", err
		}
	}
	return onto, nil
}

// pick puts the change of a commit on another one.
func (g gitDir) pick(id, onto string, how merge) (string, error) {
	// A commit that has the tree of onto and the parent of id makes git take that parent for the merge base.
	between := g.commit(g.git("rev-parse", onto+"^{tree}"), []string{g.git("rev-parse", id+"^")}, how.person(), how)
	tree, err := g.mergeTree(between, id)
	if err != nil {
		return "", err
	}
	author := g.git("show", "--no-patch", "--format=%an <%ae> %ad", "--date=raw", id)
	how.title = strings.TrimRight(g.git("show", "--no-patch", "--format=%B", id), "\n")
	return g.commit(tree, []string{onto}, author, how), nil
}

// person is the author of a merge.
func (m merge) person() string {
	return fmt.Sprintf("%s <%s@users.noreply.github.com> %d +0000", m.author, m.author, m.unix)
}

// commit stores a commit. The author is with its date.
func (g gitDir) commit(tree string, parents []string, author string, how merge) string {
	var text strings.Builder
	fmt.Fprintf(&text, "tree %s\n", tree)
	for _, parent := range parents {
		fmt.Fprintf(&text, "parent %s\n", parent)
	}
	fmt.Fprintf(&text, "author %s\ncommitter GitHub <noreply@github.com> %d +0000\n\n%s\n", author, how.unix, how.title)
	return must(gitopstest.StoreCommit(g.dir, text.String()))
}
