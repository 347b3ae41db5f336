package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v53/github"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
)

// IsAncestor reports whether a commit is in the history of another, or is the same. Commits that the repository does not
// have, and two without a common history, are errors: the answer is never guessed.
func (r *Repository) IsAncestor(ctx context.Context, ancestor, descendant string) (bool, error) {
	op := operation{act: fmt.Sprintf("compare %s with %s", short(ancestor), short(descendant)), need: "contents: read"}
	for _, commit := range []string{ancestor, descendant} {
		if err := checkCommit(commit); err != nil {
			return false, r.explain(op, err)
		}
	}
	// Only what is said of the whole is of interest: one commit to a page is the least that can be asked for.
	compared, _, err := r.client.api.Repositories.CompareCommits(ctx, r.owner, r.name, ancestor, descendant, &gh.ListOptions{PerPage: 1})
	if err != nil {
		return false, r.explain(op, r.explainAncestry(op, err))
	}
	switch compared.GetStatus() {
	case "ahead", "identical":
		return true, nil
	case "behind", "diverged":
		return false, nil
	}
	return false, r.explain(op, incomplete())
}

// explainAncestry makes an Error of what GitHub says of histories. Of a commit that is not there it says no more than
// "Not Found".
func (r *Repository) explainAncestry(op operation, err error) error {
	switch {
	case says(err, "no common ancestor"):
		return &Error{
			Kind: Invalid, Status: status(err), Message: "the two commits have no history in common",
			Hint: "they are of different repositories, or a force-push has replaced the whole history",
		}
	case says(err, unknownCommit):
		return noCommit(err)
	}
	e := r.client.wire.classify(op, err)
	if e.Status == http.StatusNotFound {
		e.Message = "GitHub does not find both commits (404)"
		e.Hint = "either one of them was not pushed there, or the token must not see it: " + strings.TrimPrefix(e.Hint, hidden)
	}
	return e
}

// checkCommit refuses what is not the full id of a commit: to GitHub it may be a branch, or a part of a path.
func checkCommit(id string) error {
	if giturl.CommitForm.MatchString(id) {
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
