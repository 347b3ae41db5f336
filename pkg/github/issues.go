package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	gh "github.com/google/go-github/v53/github"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
)

const writeIssues = "issues: write"

// OpenIssues lists the open issues with a label, without pull requests.
func (r *Repository) OpenIssues(ctx context.Context, label string) ([]pullrequest.Issue, error) {
	issues, err := all(ctx, func(ctx context.Context, page gh.ListOptions) ([]*gh.Issue, *gh.Response, error) {
		return r.client.api.Issues.ListByRepo(ctx, r.owner, r.name, &gh.IssueListByRepoOptions{
			State: "open", Labels: []string{label}, Sort: "created", Direction: "asc", ListOptions: page,
		})
	})
	if err != nil {
		return nil, r.explain(operation{act: "list the issues", need: "issues: read"}, err)
	}
	var found []pullrequest.Issue
	for _, issue := range issues {
		if !issue.IsPullRequest() {
			found = append(found, issueFromGitHub(issue))
		}
	}
	return found, nil
}

func issueFromGitHub(i *gh.Issue) pullrequest.Issue {
	return pullrequest.Issue{Number: i.GetNumber(), URL: i.GetHTMLURL(), Title: i.GetTitle(), Body: i.GetBody()}
}

// CreateIssue opens an issue with a label, which is created if it is missing.
func (r *Repository) CreateIssue(ctx context.Context, title, body, label string) (pullrequest.Issue, error) {
	if err := r.ensureLabel(ctx, label); err != nil {
		return pullrequest.Issue{}, fmt.Errorf("open an issue: %w", err)
	}
	var created pullrequest.Issue
	err := r.create(ctx, operation{act: "open an issue", need: writeIssues}, func() error {
		issue, _, err := r.client.api.Issues.Create(ctx, r.owner, r.name, &gh.IssueRequest{
			Title: ptr(title), Body: ptr(body), Labels: &[]string{label},
		})
		if err == nil {
			created = issueFromGitHub(issue)
		}
		return err
	}, func() (bool, error) {
		open, err := r.OpenIssues(ctx, label)
		at := slices.IndexFunc(open, func(i pullrequest.Issue) bool { return i.Title == title && i.Body == body })
		if at >= 0 {
			created = open[at]
		}
		return at >= 0, err
	})
	return created, err
}

// EditIssue sets the title and the body of an issue.
func (r *Repository) EditIssue(ctx context.Context, number int, title, body string) error {
	_, _, err := r.client.api.Issues.Edit(ctx, r.owner, r.name, number, &gh.IssueRequest{Title: ptr(title), Body: ptr(body)})
	return r.explain(operation{act: fmt.Sprintf("update issue #%d", number), need: writeIssues}, err)
}

// CloseIssue closes an issue, and then adds a comment: a missing comment does less harm than one in each run.
func (r *Repository) CloseIssue(ctx context.Context, number int, comment string) error {
	_, _, err := r.client.api.Issues.Edit(ctx, r.owner, r.name, number, &gh.IssueRequest{
		State: ptr("closed"), StateReason: ptr("completed"),
	})
	if err != nil {
		return r.explain(operation{act: fmt.Sprintf("close issue #%d", number), need: writeIssues}, err)
	}
	return r.Comment(ctx, number, comment)
}

// styleOf returns the color, in hexadecimal, and the description of a label.
func styleOf(label string) (color, description string) {
	switch label {
	case "promoted":
		return "1d76db", "A commit was promoted to this environment"
	case "kalypso":
		return "d93f0b", "An environment that kalypso could not publish"
	}
	return "ededed", ""
}

// AddLabels adds labels, and creates those that the repository does not have.
func (r *Repository) AddLabels(ctx context.Context, number int, labels []string) error {
	for _, label := range labels {
		if err := r.ensureLabel(ctx, label); err != nil {
			return err
		}
	}
	op := operation{act: fmt.Sprintf("label #%d with %s", number, strings.Join(labels, ", ")), need: writePulls}
	_, _, err := r.client.api.Issues.AddLabelsToIssue(mayRepeat(ctx), r.owner, r.name, number, labels)
	return r.explain(op, err)
}

func (r *Repository) ensureLabel(ctx context.Context, label string) error {
	there, err := r.hasLabel(ctx, label)
	if there || err != nil {
		return err
	}
	op := operation{act: fmt.Sprintf("create the label %q", label), need: "issues: write or pull requests: write"}
	color, description := styleOf(label)
	return r.create(ctx, op, func() error {
		_, _, err := r.client.api.Issues.CreateLabel(ctx, r.owner, r.name, &gh.Label{
			Name: ptr(label), Color: ptr(color), Description: ptr(description),
		})
		if complains(err, "name", "already_exists") {
			return nil // a concurrent run was faster
		}
		return err
	}, func() (bool, error) { return r.hasLabel(ctx, label) })
}

func (r *Repository) hasLabel(ctx context.Context, label string) (bool, error) {
	_, _, err := r.client.api.Issues.GetLabel(ctx, r.owner, r.name, url.PathEscape(label)) // go-github does not escape it
	if status(err) == http.StatusNotFound {
		return false, nil
	}
	return err == nil, r.explain(operation{act: fmt.Sprintf("read the label %q", label), need: "issues: read or pull requests: read"}, err)
}

// RemoveLabel removes a label; a missing label is not an error.
func (r *Repository) RemoveLabel(ctx context.Context, number int, label string) error {
	_, err := r.client.api.Issues.RemoveLabelForIssue(ctx, r.owner, r.name, number, url.PathEscape(label))
	if status(err) == http.StatusNotFound && says(err, "label does not exist") {
		return nil
	}
	return r.explain(operation{act: fmt.Sprintf("remove the label %q from #%d", label, number), need: writePulls}, err)
}

// Comment adds a comment.
func (r *Repository) Comment(ctx context.Context, number int, body string) error {
	op := operation{act: fmt.Sprintf("comment on #%d", number), need: writePulls}
	return r.create(ctx, op, func() error {
		_, _, err := r.client.api.Issues.CreateComment(ctx, r.owner, r.name, number, &gh.IssueComment{Body: ptr(body)})
		return err
	}, func() (bool, error) {
		comments, err := r.comments(ctx, number)
		return slices.ContainsFunc(comments, func(c *gh.IssueComment) bool { return pullrequest.SameMarkdown(c.GetBody(), body) }), err
	})
}

// comments lists the comments of an issue or pull request, the oldest first.
func (r *Repository) comments(ctx context.Context, number int) ([]*gh.IssueComment, error) {
	comments, err := all(ctx, func(ctx context.Context, page gh.ListOptions) ([]*gh.IssueComment, *gh.Response, error) {
		return r.client.api.Issues.ListComments(ctx, r.owner, r.name, number, &gh.IssueListCommentsOptions{ListOptions: page})
	})
	op := operation{act: fmt.Sprintf("list the comments of #%d", number), need: "pull requests: read"}
	return comments, r.explain(op, err)
}

// Sticky is the result of KeepComment.
type Sticky struct {
	// Action is "created", "updated" or "unchanged".
	Action string
	// URL is empty for a new comment.
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
	if pullrequest.SameMarkdown(kept.GetBody(), body) {
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
