package githubtest

import (
	"crypto/sha1" // ids as git has them
	"fmt"
	"maps"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest/branchtest"
)

// branches are the branches of a repository: a branchtest.Dir, which says what the methods do, or memory.
type branches interface {
	Tips() map[string]string
	Between(of, commit string) []string
	MergeBase(a, b string) string
	File(commit, path string) (text string, found bool)
	Has(commit string) bool
	Conflicts(base, head string) bool
	Merge(how branchtest.Merge) (string, error)
	Set(branch, commit string)
}

// memory are branches without content or history: a merge always works, and commits have diverged.
type memory map[string]string

func (m memory) Tips() map[string]string            { return maps.Clone(m) }
func (m memory) MergeBase(a, _ string) string       { return a }
func (m memory) File(string, string) (string, bool) { return "", false }
func (m memory) Has(commit string) bool             { return branchtest.IsCommit(commit) }
func (m memory) Conflicts(string, string) bool      { return false }

func (m memory) Between(of, commit string) []string {
	if of == commit {
		return nil
	}
	return []string{commit}
}

func (m memory) Merge(how branchtest.Merge) (string, error) {
	m[how.Branch] = CommitID(how.Base + how.Method + how.Head)
	return m[how.Branch], nil
}

func (m memory) Set(branch, commit string) {
	m[branch] = commit
	if commit == "" {
		delete(m, branch)
	}
}

// CommitID makes up the id of a commit, the same for the same name.
func CommitID(name string) string {
	return fmt.Sprintf("%x", sha1.Sum([]byte(name)))
}
