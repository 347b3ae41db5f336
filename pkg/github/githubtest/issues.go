package githubtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// listIssues lists pull requests too, as GitHub does.
func (c *call) listIssues() answer {
	var wanted []string
	if labels := c.query.Get("labels"); labels != "" {
		wanted = strings.Split(labels, ",")
	}
	found := []*item{}
	for _, i := range c.repo.items {
		has := !slices.ContainsFunc(wanted, func(label string) bool { return !i.labelled(label) })
		by := c.query.Get("creator")
		if has && c.inState(i) && (by == "" || strings.EqualFold(by, i.Author)) {
			found = append(found, i)
		}
	}
	c.sort(found)
	return page(c, found, c.repo.issueJSON)
}

// issueChange are the fields of a request that makes or changes an issue.
type issueChange struct {
	Title, Body, State *string
	StateReason        *string `json:"state_reason"`
	Labels             *[]labelName
	Assignees          *[]string
}

// labelName is a label as requests name it: by its name, or an object that has one.
type labelName string

// UnmarshalJSON reads either form.
func (n *labelName) UnmarshalJSON(data []byte) error {
	var named struct{ Name string }
	if err := json.Unmarshal(data, &named); err == nil {
		*n = labelName(named.Name)
		return nil
	}
	var name string
	err := json.Unmarshal(data, &name)
	*n = labelName(name)
	return err
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

// change changes an issue, or nothing of it.
func (r *Repo) change(i *item, asked issueChange) {
	title, body := i.Title, i.Body
	assign(&title, asked.Title)
	assign(&body, asked.Body)
	checkText(title, body)
	if asked.Assignees != nil {
		for _, login := range *asked.Assignees {
			if !r.assignable(login) {
				panic(invalid(fieldError{Resource: "Issue", Code: "invalid", Field: "assignees", Value: login}))
			}
		}
	}
	if asked.State != nil {
		r.setState(i, *asked.State, asked.StateReason)
	}
	i.Title, i.Body = title, body
	if asked.Assignees != nil {
		i.Assignees = slices.Clone(*asked.Assignees)
	}
	if asked.Labels != nil {
		i.Labels = nil
		r.label(i, *asked.Labels)
	}
	r.touch(i)
}

func (r *Repo) setState(i *item, wanted string, reason *string) {
	switch {
	case i.pull:
		r.setPullState(i, wanted)
		return
	case wanted == state(i.Open):
		return
	case wanted == "closed":
		r.close(i)
		i.StateReason = "completed"
	default:
		r.reopen(i)
		i.StateReason = "reopened"
	}
	assign(&i.StateReason, reason)
}

// assignable tells whether somebody may be assigned: who has access.
func (r *Repo) assignable(login string) bool { return r.options.Collaborators[login] != "" }

func (c *call) addAssignees() answer {
	i := c.issue()
	for _, login := range decode[struct{ Assignees []string }](c).Assignees {
		// Those that may not be assigned are passed over without a word.
		if c.repo.assignable(login) && !slices.Contains(i.Assignees, login) {
			i.Assignees = append(i.Assignees, login)
		}
	}
	c.repo.touch(i)
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
	r.touch(i)
	return comment
}

// association returns the author_association of a login. It does not tell which permissions a collaborator has.
func (r *Repo) association(login string) string {
	if r.options.Collaborators[login] != "" {
		return "COLLABORATOR"
	}
	return "CONTRIBUTOR"
}

func (r *Repo) commentJSON(i *item, comment Comment) object {
	kind := "issues"
	if i.pull {
		kind = "pull"
	}
	url := fmt.Sprintf("%s/issues/comments/%d", r.url(), comment.ID)
	return object{
		"id": comment.ID, "node_id": fmt.Sprintf("IC_%d_%d", r.id, comment.ID), "url": url,
		"html_url":  fmt.Sprintf("%s/%s/%d#issuecomment-%d", r.web(), kind, i.Number, comment.ID),
		"issue_url": fmt.Sprintf("%s/issues/%d", r.url(), i.Number),
		"body":      comment.Body, "user": r.user(comment.Author), "author_association": r.association(comment.Author),
		"created_at": orNull(comment.Created), "updated_at": orNull(comment.Created),
	}
}
