package githubtest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// listIssues lists pull requests too, as GitHub does.
func (c *call) listIssues() answer {
	found := []*item{}
	for _, i := range c.repo.items {
		label := c.query.Get("labels")
		if c.inState(i) && (label == "" || i.labelled(label)) {
			found = append(found, i)
		}
	}
	c.sort(found)
	return page(c, found, c.repo.issueJSON)
}

// issueChange are the fields of a request that makes or changes an issue.
type issueChange struct {
	Title, Body, State *string
	StateReason        string `json:"state_reason"`
	Labels             []string
}

func (c *call) createIssue() answer {
	i := &item{Pull: Pull{Issue: Issue{Author: c.login()}}}
	c.repo.change(i, decode[issueChange](c))
	return created(c.repo.issueJSON(c.repo.add(i)))
}

// issue is the issue or pull request that the path names.
func (c *call) issue() *item {
	i := c.repo.find(c.number("issue_number"))
	if i == nil {
		panic(notFound())
	}
	return i
}

func (c *call) updateIssue() answer {
	i := c.issue()
	c.repo.change(i, decode[issueChange](c))
	return ok(c.repo.issueJSON(i))
}

// change changes an issue, or nothing of it. Pull requests have their own endpoint for that.
func (r *Repo) change(i *item, asked issueChange) {
	if i.pull {
		check(fmt.Errorf("%d is a pull request", i.Number))
	}
	title, body := i.Title, i.Body
	assign(&title, asked.Title)
	assign(&body, asked.Body)
	checkText(title, body)
	i.Title, i.Body = title, body
	switch {
	case asked.State == nil || *asked.State == state(i.Open):
	case *asked.State == "closed":
		r.close(i)
	default:
		i.Open = true
	}
	i.StateReason = asked.StateReason
	r.label(i, asked.Labels...)
}

// assignable reports whether somebody may be assigned: who has access.
func (r *Repo) assignable(login string) bool { return r.options.Collaborators[login] != "" }

func (c *call) addAssignees() answer {
	i := c.issue()
	for _, login := range decode[struct{ Assignees []string }](c).Assignees {
		// Those that may not be assigned are passed over without a word.
		if c.repo.assignable(login) && !slices.Contains(i.Assignees, login) {
			i.Assignees = append(i.Assignees, login)
		}
	}
	return created(c.repo.issueJSON(i))
}

func (c *call) listComments() answer {
	i := c.issue()
	return page(c, i.Comments, func(comment Comment) object { return c.repo.commentJSON(i, comment) })
}

func (c *call) createComment() answer {
	i := c.issue()
	return created(c.repo.commentJSON(i, c.repo.comment(i, c.login(), c.commentBody())))
}

// commentBody is the text of a comment, if GitHub would take it.
func (c *call) commentBody() string {
	body := decode[struct{ Body string }](c).Body
	why := ""
	switch {
	case strings.TrimSpace(body) == "":
		why = "Body cannot be blank"
	case utf8.RuneCountInString(body) > bodyLimit:
		why = "Body is too long (maximum is 65536 characters)"
	}
	if why != "" {
		panic(invalid(fieldError{Resource: "IssueComment", Code: "unprocessable", Field: "data", Message: why}))
	}
	return body
}

func (c *call) updateComment() answer {
	body := c.commentBody()
	for _, i := range c.repo.items {
		for n := range i.Comments {
			if i.Comments[n].ID == c.number("comment_id") {
				i.Comments[n].Body = body
				return ok(c.repo.commentJSON(i, i.Comments[n]))
			}
		}
	}
	panic(notFound())
}

func (r *Repo) comment(i *item, author, body string) Comment {
	r.comments++
	comment := Comment{ID: r.comments, Author: author, Body: body, Created: r.server.now()}
	i.Comments = append(i.Comments, comment)
	return comment
}

func (r *Repo) commentJSON(i *item, comment Comment) object {
	kind := "issues"
	if i.pull {
		kind = "pull"
	}
	return object{
		"id": comment.ID, "body": comment.Body, "user": r.user(comment.Author),
		"html_url":   fmt.Sprintf("%s/%s/%d#issuecomment-%d", r.web(), kind, i.Number, comment.ID),
		"created_at": orNull(comment.Created),
	}
}
