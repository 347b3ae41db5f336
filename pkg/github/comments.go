package github

import (
	"context"
	"fmt"
	"slices"

	gh "github.com/google/go-github/v53/github"
)

// Comment adds a comment.
func (r *Repository) Comment(ctx context.Context, number int, body string) error {
	op := operation{act: fmt.Sprintf("comment on #%d", number), need: writePulls}
	return r.create(ctx, op, func() error {
		_, _, err := r.client.api.Issues.CreateComment(ctx, r.owner, r.name, number, &gh.IssueComment{Body: ptr(body)})
		return err
	}, func() (bool, error) { return r.commented(ctx, number, body) })
}

// commented tells whether the last comments have one like this.
func (r *Repository) commented(ctx context.Context, number int, body string) (bool, error) {
	comments, err := r.comments(ctx, number)
	return slices.ContainsFunc(comments, func(c *gh.IssueComment) bool { return sameText(c.GetBody(), body) }), err
}

// comments lists those of an issue or a pull request, the oldest first.
func (r *Repository) comments(ctx context.Context, number int) ([]*gh.IssueComment, error) {
	comments, err := all(ctx, func(ctx context.Context, page gh.ListOptions) ([]*gh.IssueComment, *gh.Response, error) {
		return r.client.api.Issues.ListComments(ctx, r.owner, r.name, number, &gh.IssueListCommentsOptions{ListOptions: page})
	})
	op := operation{act: fmt.Sprintf("list the comments of #%d", number), need: "pull requests: read"}
	return comments, r.explain(op, err)
}
