package gitops

import (
	"regexp"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// minAbbreviation is the minimum number of digits of an abbreviated id.
const minAbbreviation = 7

// idDigits is the number of digits of a full id.
const idDigits = 2 * len(plumbing.Hash{})

// IsCommit tells whether a text can be the id of a commit, or the beginning of one.
func IsCommit(text string) bool {
	return len(text) >= minAbbreviation && len(text) <= idDigits && strings.Trim(strings.ToLower(text), "0123456789abcdef") == ""
}

// IsFullCommit tells whether a text is the whole id of a commit, in letters of either case.
func IsFullCommit(text string) bool { return len(text) == idDigits && IsCommit(text) }

// fullID reads the full id of a commit.
func fullID(commit string) (plumbing.Hash, error) {
	if !IsFullCommit(commit) {
		return plumbing.ZeroHash, problem(RuleCommitNotFound, "%q is not a full commit id of 40 hexadecimal digits", oneLine(commit))
	}
	return plumbing.NewHash(commit), nil
}

// checkCommit refuses what cannot be the id of a commit; an empty text is none.
func checkCommit(commit string) error {
	if commit == "" {
		return nil
	}
	_, err := fullID(commit)
	return err
}

var commitForm = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// shortCommit shortens the id of a commit to the seven digits that people use; anything else stays as it is.
func shortCommit(commit string) string { return firstDigits(commit, 7) }

// firstDigits shortens the id of a commit to n digits; anything else stays as it is.
func firstDigits(commit string, n int) string {
	if commitForm.MatchString(commit) {
		return commit[:n]
	}
	return commit
}
