package github

import (
	"context"
	"fmt"
	"slices"
	"strings"

	gh "github.com/google/go-github/v53/github"
)

// Sticky is what became of a comment that is kept up to date.
type Sticky struct {
	// Action is "created", "updated" or "unchanged".
	Action string
	// URL is empty for one that was created.
	URL string
}

// KeepComment makes the first comment that is ours say what body says, or adds it if there is none. ours tells by the
// text; of strangers no comment is taken, as its author could change it afterwards.
func (r *Repository) KeepComment(ctx context.Context, number int, ours func(text string) bool, body string) (Sticky, error) {
	comments, err := r.comments(ctx, number)
	if err != nil {
		return Sticky{}, err
	}
	at := slices.IndexFunc(comments, func(c *gh.IssueComment) bool { return ours(c.GetBody()) && trusted(c) })
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

// trusted tells whether a comment is of somebody who may write to the repository, or of an App.
func trusted(c *gh.IssueComment) bool {
	return c.GetUser().GetType() == "Bot" || slices.Contains([]string{"OWNER", "MEMBER", "COLLABORATOR"}, c.GetAuthorAssociation())
}

// sameText compares texts as GitHub gives them back.
func sameText(a, b string) bool {
	normal := func(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }
	return normal(a) == normal(b)
}
