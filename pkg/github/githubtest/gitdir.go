package githubtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
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

func (g gitDir) git(args ...string) (string, error) {
	out, err := gitopstest.Git(g.dir, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// tips reads the branches as git stores them: packed in a file, unless there is a file for one. Every request asks
// for them, and a process for each of these would be most of the time of many tests.
func (g gitDir) tips() (map[string]string, error) {
	tips := map[string]string{}
	packed, err := os.ReadFile(filepath.Join(g.dir, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(packed)) {
		commit, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			tips[branch] = commit
		}
	}
	heads := os.DirFS(filepath.Join(g.dir, "refs", "heads"))
	err = fs.WalkDir(heads, ".", func(branch string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && (entry.IsDir() || strings.HasSuffix(branch, ".lock")) {
			return nil
		} else if err != nil {
			return err
		}
		commit, err := fs.ReadFile(heads, branch)
		switch {
		case err == nil:
			tips[branch] = strings.TrimSpace(string(commit))
		case !errors.Is(err, fs.ErrNotExist): // else it was deleted just now
			return err
		}
		return nil
	})
	return tips, err
}

func (g gitDir) ahead(commit, of string) (bool, error) {
	out, err := g.git("rev-list", "--max-count=1", of+".."+commit)
	return out != "", err
}

func (g gitDir) between(of, commit string) ([]string, error) {
	out, err := g.git("rev-list", "--reverse", of+".."+commit)
	return strings.Fields(out), err
}

func (g gitDir) mergeBase(a, b string) (string, error) {
	base, err := g.git("merge-base", a, b)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return "", nil
	}
	return base, err
}

func (g gitDir) file(commit, path string) (text string, found bool, err error) {
	if listed, err := g.git("ls-tree", commit, "--", path); err != nil || listed == "" {
		return "", false, err
	}
	text, err = g.git("cat-file", "blob", commit+":"+path)
	return text, err == nil, err
}

func (g gitDir) has(commit string) (bool, error) {
	if !commitPattern.MatchString(commit) {
		return false, nil
	}
	_, err := g.git("cat-file", "-e", commit+"^{commit}")
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return false, nil
	}
	return err == nil, err
}

func (g gitDir) conflicts(base, head string) (bool, error) {
	pair := [2]string{base, head}
	if known, ok := g.merged.Load(pair); ok {
		return known == true, nil
	}
	_, err := g.mergeTree(base, head)
	conflict := errors.Is(err, errConflict)
	if conflict || err == nil {
		g.merged.Store(pair, conflict)
		return conflict, nil
	}
	return false, err
}

// mergeTree is the tree that a merge of two commits has.
func (g gitDir) mergeTree(ours, theirs string) (string, error) {
	tree, err := g.git("merge-tree", "--write-tree", "--no-messages", "--allow-unrelated-histories", ours, theirs)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return "", errConflict
	}
	return tree, err
}

func (g gitDir) set(branch, commit string) error {
	args := []string{"update-ref", "refs/heads/" + branch, commit}
	if commit == "" {
		args = []string{"update-ref", "-d", "refs/heads/" + branch}
	}
	_, err := g.git(args...)
	return err
}

func (g gitDir) merge(how merge) (string, error) {
	methods := map[string]func(merge) (string, error){
		"merge": g.mergeCommit, "squash": g.squash, "rebase": g.rebase,
	}
	commit, err := methods[how.method](how)
	if err != nil {
		return "", err
	}
	if _, err := g.git("update-ref", "refs/heads/"+how.branch, commit, how.base); err != nil {
		return "", fmt.Errorf("%w: %w", errMoved, err)
	}
	return commit, nil
}

func (g gitDir) mergeCommit(how merge) (string, error) {
	tree, err := g.mergeTree(how.base, how.head)
	if err != nil {
		return "", err
	}
	return g.commit(commit{tree: tree, parents: []string{how.base, how.head}, author: how.person(), how: how})
}

func (g gitDir) squash(how merge) (string, error) {
	tree, err := g.mergeTree(how.base, how.head)
	if err != nil {
		return "", err
	}
	return g.commit(commit{tree: tree, parents: []string{how.base}, author: how.person(), how: how})
}

// rebase puts the commits of the head on the base, one after the other, without merges. Their ids change
// even where they could stay, as on GitHub.
func (g gitDir) rebase(how merge) (string, error) {
	list, err := g.git("rev-list", "--reverse", "--no-merges", how.base+".."+how.head)
	if err != nil {
		return "", err
	}
	onto := how.base
	for _, id := range strings.Fields(list) {
		if onto, err = g.pick(id, onto, how); err != nil {
			return "", err
		}
	}
	return onto, nil
}

// pick puts the change of a commit on another one.
func (g gitDir) pick(id, onto string, how merge) (string, error) {
	tree, err := g.git("rev-parse", onto+"^{tree}")
	if err != nil {
		return "", err
	}
	// A commit that has the tree of onto and the parent of id makes git take that parent for the merge base.
	parent, err := g.git("rev-parse", id+"^")
	if err != nil {
		return "", err
	}
	stand, err := g.commit(commit{tree: tree, parents: []string{parent}, author: how.person(), how: how})
	if err != nil {
		return "", err
	}
	if tree, err = g.mergeTree(stand, id); err != nil {
		return "", err
	}
	author, err := g.git("show", "--no-patch", "--format=%an <%ae> %ad", "--date=raw", id)
	if err != nil {
		return "", err
	}
	message, err := g.git("show", "--no-patch", "--format=%B", id)
	if err != nil {
		return "", err
	}
	how.title, how.message = strings.TrimRight(message, "\n"), ""
	return g.commit(commit{tree: tree, parents: []string{onto}, author: author, how: how})
}

// commit is a commit to be made.
type commit struct {
	tree    string
	parents []string
	author  string // with its date
	how     merge
}

// person is the author of a merge.
func (m merge) person() string {
	return fmt.Sprintf("%s <%s@users.noreply.github.com> %d +0000", m.author, m.author, m.unix)
}

// text is the commit as git stores it.
func (c commit) text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "tree %s\n", c.tree)
	for _, parent := range c.parents {
		fmt.Fprintf(&text, "parent %s\n", parent)
	}
	fmt.Fprintf(&text, "author %s\ncommitter GitHub <noreply@github.com> %d +0000\n\n%s\n", c.author, c.how.unix, c.how.title)
	if c.how.message != "" {
		fmt.Fprintf(&text, "\n%s\n", c.how.message)
	}
	return text.String()
}

// commit stores a commit.
func (g gitDir) commit(c commit) (string, error) {
	file, err := os.CreateTemp("", "commit")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // a temporary file
	if _, err := file.WriteString(c.text()); err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	return g.git("hash-object", "-t", "commit", "-w", file.Name())
}
