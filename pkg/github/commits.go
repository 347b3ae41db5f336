package github

import (
	"fmt"
	"regexp"
)

// commitForm is the full id of a commit. Anything else may be a branch to GitHub, or a part of a path.
var commitForm = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

func checkCommit(id string) error {
	if commitForm.MatchString(id) {
		return nil
	}
	return &Error{Kind: Invalid, Message: fmt.Sprintf("%q is not the full id of a commit", id)}
}

// short returns the part of a commit's id that is enough for people.
func short(commit string) string { return commit[:min(12, len(commit))] }

// unknownCommit is what GitHub says, in lower case, of a commit that the repository does not have.
const unknownCommit = "no commit found"

// noCommit is the error for it.
func noCommit(err error) error {
	return &Error{
		Kind: NotFound, Status: status(err), Message: "the repository has no such commit",
		Hint: "it was not pushed there, or a force-push has removed it",
	}
}

// incomplete is the error for an answer without what it must have.
func incomplete() error {
	return &Error{Kind: Unavailable, Message: "GitHub's answer is incomplete", Hint: hintLater(Unavailable)}
}
