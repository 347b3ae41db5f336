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

// KeepComment makes the first comment that is ours say what body says, or adds it if there is none. isOurs tells by the
// text; of others no comment is taken, as its author could change it afterwards.
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

// ownAuthors are who of the authors of comments can be ourselves: who the token belongs to, and the GITHUB_TOKEN of
// workflows, as one preview may come from an App and the next one from a workflow without it. That somebody is a member or
// a collaborator does not say that he may write: the association says nothing about access.
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
