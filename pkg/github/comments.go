package github

import (
	"context"
	"fmt"
	"slices"
	"strings"

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

// commented reports whether the last comments have one like this.
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

// Sticky is what became of a comment that is kept up to date.
type Sticky struct {
	// Action is "created", "updated" or "unchanged".
	Action string
	// URL is empty for one that was created.
	URL string
}

// KeepComment updates the first comment of kalypso on a pull request to body, or adds a comment with body. isOurs
// reports whether a text is kalypso's. Comments of other authors are ignored, because these could change the text
// later.
func (r *Repository) KeepComment(ctx context.Context, number int, isOurs func(text string) bool, body string) (Sticky, error) {
	comments, err := r.comments(ctx, number)
	if err != nil {
		return Sticky{}, err
	}
	comments = slices.DeleteFunc(comments, func(c *gh.IssueComment) bool { return !isOurs(c.GetBody()) })
	authors, err := r.ownAuthors(ctx, comments)
	if err != nil {
		return Sticky{}, err
	}
	at := slices.IndexFunc(comments, func(c *gh.IssueComment) bool { return slices.Contains(authors, c.GetUser().GetLogin()) })
	if at < 0 {
		return Sticky{Action: "created"}, r.Comment(ctx, number, body)
	}
	kept := comments[at]
	if sameText(kept.GetBody(), body) {
		return Sticky{"unchanged", kept.GetHTMLURL()}, nil
	}
	op := operation{act: fmt.Sprintf("update the comment on #%d", number), need: writePulls}
	changed, _, err := r.client.api.Issues.EditComment(ctx, r.owner, r.name, kept.GetID(), &gh.IssueComment{Body: ptr(body)})
	if err != nil {
		return Sticky{}, r.explain(op, err)
	}
	return Sticky{"updated", changed.GetHTMLURL()}, nil
}

// ownAuthors returns the logins whose comments may be updated: that of the token, and that of the GITHUB_TOKEN of
// workflows, because one preview may come from an App and the next one from a workflow without it. The association of
// an author does not help: members and collaborators may have no write access.
func (r *Repository) ownAuthors(ctx context.Context, comments []*gh.IssueComment) ([]string, error) {
	workflows := ActionsBot().Name
	if !slices.ContainsFunc(comments, func(c *gh.IssueComment) bool { return c.GetUser().GetLogin() != workflows }) {
		return []string{workflows}, nil
	}
	login, err := r.Login(ctx)
	return []string{workflows, login}, err
}

// sameText compares texts as GitHub gives them back.
func sameText(a, b string) bool {
	normal := func(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }
	return normal(a) == normal(b)
}
