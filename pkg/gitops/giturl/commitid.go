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

// IsCommit reports whether a text can be a full or abbreviated commit id.
func IsCommit(text string) bool {
	return len(text) >= MinAbbreviation && len(text) <= idDigits && strings.Trim(strings.ToLower(text), "0123456789abcdef") == ""
}

// IsFullCommit reports whether a text is a full commit id, in upper or lower case.
func IsFullCommit(text string) bool { return len(text) == idDigits && IsCommit(text) }

// FullID parses a full commit id.
func FullID(commit string) (plumbing.Hash, error) {
	if !IsFullCommit(commit) {
		return plumbing.ZeroHash, giterror.New(giterror.RuleCommitNotFound, "%q is not a full commit SHA of 40 hexadecimal digits", giterror.OneLine(commit))
	}
	return plumbing.NewHash(commit), nil
}

// CheckCommit returns an error for a text that is not a full commit id, and not empty.
func CheckCommit(commit string) error {
	if commit == "" {
		return nil
	}
	_, err := FullID(commit)
	return err
}

// CommitForm matches a full commit id.
var CommitForm = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// ShortCommit abbreviates a commit id to seven digits; other texts are unchanged.
func ShortCommit(commit string) string { return FirstDigits(commit, 7) }

// FirstDigits abbreviates a commit id to n digits; other texts are unchanged.
func FirstDigits(commit string, n int) string {
	if CommitForm.MatchString(commit) {
		return commit[:n]
	}
	return commit
}
