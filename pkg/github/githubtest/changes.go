package githubtest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	titleLimit = 256
	bodyLimit  = 65_536
)

// open opens a pull request, if GitHub would.
func (r *Repo) open(p Pull) *item {
	checkText(p.Title, p.Body)
	p.Head = strings.TrimPrefix(p.Head, r.owner()+":")
	p = r.atTips(p)
	r.checkBranches(p)
	return r.add(&item{Pull: p, pull: true})
}

// checkText refuses titles and bodies that GitHub refuses. Its limits count characters.
func checkText(title, body string) {
	problem := fieldError{Resource: "Issue", Code: "custom", Field: "title"}
	switch {
	case strings.TrimSpace(title) == "":
		problem.Code = "missing_field"
	case utf8.RuneCountInString(title) > titleLimit:
		problem.Message = "title is too long (maximum is 256 characters)"
	case utf8.RuneCountInString(body) > bodyLimit:
		problem.Field, problem.Message = "body", "body is too long (maximum is 65536 characters)"
	default:
		return
	}
	panic(invalid(problem))
}

// checkBranches refuses a pull request between branches that are not there, that differ in nothing, or that
// have one already.
func (r *Repo) checkBranches(p Pull) {
	problem := fieldError{Resource: "PullRequest", Code: "custom"}
	switch {
	case p.BaseCommit == "":
		problem.Code, problem.Field = "invalid", "base"
	case p.HeadCommit == "":
		problem.Code, problem.Field = "invalid", "head"
	case slices.ContainsFunc(r.items, func(other *item) bool {
		return other.pull && other.Open && other.Head == p.Head && other.Base == p.Base
	}):
		problem.Message = "A pull request already exists for " + r.owner() + ":" + p.Head + "."
	case !r.ahead(p.HeadCommit, p.BaseCommit):
		problem.Message = "No commits between " + p.Base + " and " + p.Head
	default:
		return
	}
	panic(invalid(problem))
}

// setPullState closes a pull request or opens it again, which not all can be.
func (r *Repo) setPullState(i *item, wanted string) {
	problem := fieldError{Resource: "PullRequest", Code: "custom", Field: "state"}
	switch {
	case wanted == state(i.Open):
		return
	case wanted == "closed":
		r.close(i)
		return
	case i.Merged:
		problem.Message = "state cannot be changed. The pull request cannot be reopened."
		panic(invalid(problem))
	}
	reopened := r.atTips(i.Pull)
	if catch(func() { r.checkBranches(reopened) }) != nil {
		problem.Message = "state cannot be changed. The " + i.Head + " branch was force-pushed or recreated."
		panic(invalid(problem))
	}
	i.Pull = reopened
	i.Open = true
}

// issueChange are the fields of a request that makes or changes an issue.
type issueChange struct {
	Title, Body, State *string
	StateReason        string `json:"state_reason"`
	Labels             []string
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
	r.labels.put(i, asked.Labels...)
}

func assign(to, from *string) {
	if from != nil {
		*to = *from
	}
}

func (r *Repo) comment(i *item, author, body string) Comment {
	r.comments++
	comment := Comment{ID: r.comments, Author: author, Body: body, Created: r.site.now()}
	i.Comments = append(i.Comments, comment)
	return comment
}
