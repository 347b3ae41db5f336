package giturl

import (
	"regexp"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

// MinAbbreviation is the minimum number of digits of an abbreviated id.
const MinAbbreviation = 7

// idDigits is the number of digits of a full id.
const idDigits = 2 * len(plumbing.Hash{})

// IsCommit reports whether a text can be the id of a commit, or the beginning of one.
func IsCommit(text string) bool {
	return len(text) >= MinAbbreviation && len(text) <= idDigits && strings.Trim(strings.ToLower(text), "0123456789abcdef") == ""
}

// IsFullCommit reports whether a text is the whole id of a commit, in letters of either case.
func IsFullCommit(text string) bool { return len(text) == idDigits && IsCommit(text) }

// FullID reads the full id of a commit.
func FullID(commit string) (plumbing.Hash, error) {
	if !IsFullCommit(commit) {
		return plumbing.ZeroHash, giterror.New(giterror.RuleCommitNotFound, "%q is not a full commit SHA of 40 hexadecimal digits", giterror.OneLine(commit))
	}
	return plumbing.NewHash(commit), nil
}

// CheckCommit refuses what cannot be the id of a commit; an empty text is none.
func CheckCommit(commit string) error {
	if commit == "" {
		return nil
	}
	_, err := FullID(commit)
	return err
}

// CommitForm matches the full id of a commit.
var CommitForm = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// ShortCommit shortens the id of a commit to the seven digits that people use; anything else stays as it is.
func ShortCommit(commit string) string { return FirstDigits(commit, 7) }

// FirstDigits shortens the id of a commit to n digits; anything else stays as it is.
func FirstDigits(commit string, n int) string {
	if CommitForm.MatchString(commit) {
		return commit[:n]
	}
	return commit
}
