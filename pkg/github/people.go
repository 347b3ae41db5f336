package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v53/github"
)

// RequestReviews asks people ("name") and teams ("owner/team") for a review.
func (r *Repository) RequestReviews(ctx context.Context, number int, reviewers []string) error {
	op := operation{act: fmt.Sprintf("request reviews of #%d from %s", number, strings.Join(reviewers, ", ")), need: writePulls}
	var request gh.ReviewersRequest
	for _, reviewer := range reviewers {
		owner, team, isTeam := strings.Cut(strings.TrimPrefix(reviewer, "@"), "/")
		switch {
		case !isTeam:
			request.Reviewers = append(request.Reviewers, owner)
		case !strings.EqualFold(owner, r.owner):
			return r.explain(op, &Error{
				Kind: Invalid, Message: fmt.Sprintf("the team %q is not of the organization %s, which owns the repository", reviewer, r.owner),
			})
		default:
			request.TeamReviewers = append(request.TeamReviewers, team)
		}
	}
	_, _, err := r.client.api.PullRequests.RequestReviewers(mayRepeat(ctx), r.owner, r.name, number, request)
	if len(request.TeamReviewers) == 0 || status(err) == 0 {
		return r.explain(op, err)
	}
	return r.explainTeams(op, err)
}

// explainTeams explains why teams cannot be asked. What a token sees of teams depends on a permission that
// GitHub does not speak of in this answer.
func (r *Repository) explainTeams(op operation, err error) error {
	const both = "pull requests: write and members: read"
	explained := r.explain(operation{act: op.act, need: both}, err)
	var e *Error
	if !errors.As(explained, &e) {
		return explained
	}
	switch e.Status {
	case http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity:
		e.Permission = both
		e.Hint = "a team must have access to the repository, and to ask it the token needs the permissions " +
			`"pull requests: write" and, of the organization, "members: read", which GITHUB_TOKEN cannot have`
	}
	return e
}

// Assign adds assignees. GitHub leaves out silently whom it cannot assign: that is an error here.
func (r *Repository) Assign(ctx context.Context, number int, people []string) error {
	op := operation{act: fmt.Sprintf("assign #%d to %s", number, strings.Join(people, ", ")), need: writePulls}
	issue, _, err := r.client.api.Issues.AddAssignees(mayRepeat(ctx), r.owner, r.name, number, people)
	if err != nil {
		return r.explain(op, err)
	}
	missing := slices.DeleteFunc(slices.Clone(people), func(person string) bool {
		return slices.ContainsFunc(issue.Assignees, func(u *gh.User) bool {
			return strings.EqualFold(u.GetLogin(), strings.TrimPrefix(person, "@"))
		})
	})
	if len(missing) > 0 {
		return r.explain(op, &Error{
			Kind: Invalid, Message: "GitHub does not assign " + strings.Join(missing, ", "),
			Hint: "only people with access to the repository can be assigned, ten at most; and the token needs " + fmt.Sprintf("%q", writePulls),
		})
	}
	return nil
}
