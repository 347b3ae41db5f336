package githubtest

import (
	"crypto/sha1" // ids as git has them
	"errors"
	"fmt"
	"maps"
	"regexp"
)

// branches are the branches of a repository, with what GitHub does to them.
type branches interface {
	// tips are the commits of all branches.
	tips() (map[string]string, error)
	// ahead tells whether a commit has commits that another has not.
	ahead(commit, of string) (bool, error)
	// between are the commits that a commit has and another has not, the oldest first.
	between(of, commit string) ([]string, error)
	// mergeBase is the best common ancestor of two commits; it is empty if they have none.
	mergeBase(a, b string) (string, error)
	// file is the text of a file of a commit, and whether it has that file.
	file(commit, path string) (text string, found bool, err error)
	// has tells whether a commit is there.
	has(commit string) (bool, error)
	// conflicts tells whether two commits cannot be merged.
	conflicts(base, head string) (bool, error)
	// merge moves a branch to what a merge makes of it, if it is still where the merge says. It returns the
	// new tip.
	merge(merge) (string, error)
	// set moves a branch, or makes it; an empty commit removes it.
	set(branch, commit string) error
}

// merge is a merge that was asked for.
type merge struct {
	method         string // "merge", "squash" or "rebase"
	branch         string // to merge into
	base, head     string // commits
	title, message string
	author         string // login
	unix           int64
}

var (
	// errConflict is a merge that people must settle.
	errConflict = errors.New("merge conflict")
	// errMoved is a merge into a branch that was pushed meanwhile.
	errMoved = errors.New("the branch has moved")
)

// memory are branches without content or history: a merge always works, and commits have diverged.
type memory map[string]string

func (m memory) tips() (map[string]string, error)          { return maps.Clone(m), nil }
func (m memory) ahead(commit, of string) (bool, error)     { return commit != of, nil }
func (m memory) mergeBase(a, _ string) (string, error)     { return a, nil }
func (m memory) file(string, string) (string, bool, error) { return "", false, nil }
func (m memory) has(commit string) (bool, error)           { return commitPattern.MatchString(commit), nil }
func (m memory) conflicts(string, string) (bool, error)    { return false, nil }

func (m memory) between(of, commit string) ([]string, error) {
	if of == commit {
		return nil, nil
	}
	return []string{commit}, nil
}

func (m memory) merge(how merge) (string, error) {
	m[how.branch] = CommitID(how.base + how.method + how.head)
	return m[how.branch], nil
}

func (m memory) set(branch, commit string) error {
	if commit == "" {
		delete(m, branch)
		return nil
	}
	m[branch] = commit
	return nil
}

// commitPattern is the id of a commit.
var commitPattern = regexp.MustCompile(`^[0-9a-f]{40}$`)

// CommitID makes up the id of a commit, the same for the same name.
func CommitID(name string) string {
	return fmt.Sprintf("%x", sha1.Sum([]byte(name)))
}

// sync looks where the branches are now and does what GitHub does when they are pushed: the head of a pull
// request follows its branch, and pull requests close whose branch is gone or that have nothing to merge any
// more.
func (r *Repo) sync() error {
	tips, err := r.branches.tips()
	if err != nil {
		return err
	}
	for _, i := range r.items {
		if !i.pull || !i.Open {
			continue
		}
		if err := r.follow(i, tips[i.Head], tips[i.Base]); err != nil {
			return fmt.Errorf("pull request %d: %w", i.Number, err)
		}
	}
	return nil
}

// follow brings a pull request to new tips of its branches.
func (r *Repo) follow(i *item, head, base string) error {
	if head == i.HeadCommit && base == i.BaseCommit {
		return nil
	}
	pushed := head != i.HeadCommit
	r.touch(i)
	if head == "" || base == "" {
		r.close(i)
		return nil
	}
	i.HeadCommit, i.BaseCommit = head, base
	ahead, err := r.branches.ahead(head, base)
	if err != nil || ahead {
		return err
	}
	if !pushed { // somebody pushed it into the base: that is a merge
		i.Merged, i.MergedAt, i.MergeCommit = true, r.server.now(), base
	}
	r.close(i)
	return nil
}
