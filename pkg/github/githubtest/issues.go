package githubtest

import (
	"cmp"
	"net/http"
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

func (c *call) showLabel() answer {
	at := c.repo.labels.find(c.values["name"])
	if at < 0 {
		panic(notFound())
	}
	return ok(c.repo.labels[at].json())
}

func (c *call) createLabel() answer {
	l := decode[Label](c)
	l.Color = cmp.Or(l.Color, "ededed")
	if c.repo.labels.find(l.Name) >= 0 {
		panic(invalid(fieldError{Resource: "Label", Code: "already_exists", Field: "name"}))
	}
	c.repo.labels = append(c.repo.labels, l)
	return created(l.json())
}

func (c *call) addIssueLabels() answer {
	i := c.issue()
	c.repo.labels.put(i, decode[[]string](c)...)
	return ok(c.repo.labels.json(i.Labels))
}

func (c *call) removeIssueLabel() answer {
	i := c.issue()
	if !i.labelled(c.values["name"]) {
		panic(refuse(http.StatusNotFound, "Label does not exist"))
	}
	i.Labels = slices.DeleteFunc(i.Labels, func(has string) bool { return strings.EqualFold(has, c.values["name"]) })
	return ok(c.repo.labels.json(i.Labels))
}
