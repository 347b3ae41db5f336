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
	tips() map[string]string
	// between are the commits that a commit has and another has not, the oldest first.
	between(of, commit string) []string
	// mergeBase is the best common ancestor of two commits; it is empty if they have none.
	mergeBase(a, b string) string
	// file is the text of a file of a commit, and whether it has that file.
	file(commit, path string) (text string, found bool)
	// has reports whether a commit is there.
	has(commit string) bool
	// conflicts reports whether two commits cannot be merged.
	conflicts(base, head string) bool
	// merge moves a branch to what a merge makes of it, and returns the new tip. The error is errConflict, or errMoved
	// if the branch is not where the merge says.
	merge(merge) (string, error)
	// set moves a branch, or makes it; an empty commit removes it.
	set(branch, commit string)
}

// merge is a merge that was asked for.
type merge struct {
	method     string // "merge", "squash" or "rebase"
	branch     string // to merge into
	base, head string // commits
	title      string // the message
	author     string // login
	unix       int64
}

var (
	// errConflict is a merge that people must settle.
	errConflict = errors.New("merge conflict")
	// errMoved is a merge into a branch that was pushed meanwhile.
	errMoved = errors.New("the branch has moved")
)

// memory are branches without content or history: a merge always works, and commits have diverged.
type memory map[string]string

func (m memory) tips() map[string]string            { return maps.Clone(m) }
func (m memory) mergeBase(a, _ string) string       { return a }
func (m memory) file(string, string) (string, bool) { return "", false }
func (m memory) has(commit string) bool             { return commitPattern.MatchString(commit) }
func (m memory) conflicts(string, string) bool      { return false }

func (m memory) between(of, commit string) []string {
	if of == commit {
		return nil
	}
	return []string{commit}
}

func (m memory) merge(how merge) (string, error) {
	m[how.branch] = CommitID(how.base + how.method + how.head)
	return m[how.branch], nil
}

func (m memory) set(branch, commit string) {
	m[branch] = commit
	if commit == "" {
		delete(m, branch)
	}
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
func (r *Repo) sync() {
	tips := r.branches.tips()
	for _, i := range r.items {
		if i.pull && i.Open {
			r.follow(i, tips[i.Head], tips[i.Base])
		}
	}
}

// follow moves a pull request to new tips of its branches.
func (r *Repo) follow(i *item, head, base string) {
	if head == i.HeadCommit && base == i.BaseCommit {
		return
	}
	pushed := head != i.HeadCommit
	if head == "" || base == "" {
		r.close(i)
		return
	}
	i.HeadCommit, i.BaseCommit = head, base
	if r.ahead(head, base) {
		return
	}
	if !pushed { // somebody pushed it into the base: that is a merge
		i.Merged, i.MergedAt, i.MergeCommit = true, r.server.now(), base
	}
	r.close(i)
}

// ahead reports whether a commit has commits that another has not.
func (r *Repo) ahead(commit, of string) bool { return len(r.branches.between(of, commit)) > 0 }
