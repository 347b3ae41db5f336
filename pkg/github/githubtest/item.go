package githubtest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Issue is an issue, or what a pull request shares with issues.
type Issue struct {
	Number      int
	Title, Body string
	Open        bool
	// StateReason is "completed" or empty.
	StateReason       string
	Author            string
	Labels, Assignees []string
	Comments          []Comment
	Created           time.Time
}

// Comment is a comment on an issue or a pull request.
type Comment struct {
	ID           int
	Author, Body string
	Created      time.Time
}

// Pull is a pull request.
type Pull struct {
	Issue
	// Head and Base are branches.
	Head, Base string
	// HeadCommit is the tip of Head, or was when the pull request was closed; BaseCommit likewise.
	HeadCommit, BaseCommit string
	Draft, Merged          bool
	MergedAt               time.Time
	// MergeCommit is what Base came to be when it was merged.
	MergeCommit string
	// Reviewers are people, Teams the slugs of teams.
	Reviewers, Teams []string
	// AutoMerge is the method by which it will be merged on its own, or empty.
	AutoMerge string
}

// String is a line for people.
func (p Pull) String() string {
	return fmt.Sprintf("#%d %s -> %s: %s%s", p.Number, p.Head, p.Base, p.Title, labels(p.Labels))
}

// String is a line for people.
func (i Issue) String() string { return fmt.Sprintf("#%d %s%s", i.Number, i.Title, labels(i.Labels)) }

func labels(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " [" + strings.Join(slices.Sorted(slices.Values(names)), ", ") + "]"
}

// item is what the numbers of a repository count: issues and pull requests.
type item struct {
	Pull
	pull           bool
	mergeableState string // overrides what is computed
}

// add gives an item the next number.
func (r *Repo) add(i *item) *item {
	i.Number, i.Open, i.Created = len(r.items)+1, true, r.server.now()
	r.items = append(r.items, i)
	return i
}

// find returns an item by number, or nil.
func (r *Repo) find(number int) *item {
	if number < 1 || number > len(r.items) {
		return nil
	}
	return r.items[number-1]
}

func (r *Repo) close(i *item) { i.Open, i.AutoMerge = false, "" }

// clone is a copy that shares nothing.
func (i *item) clone() Pull {
	p := i.Pull
	p.Issue = i.cloneIssue()
	p.Reviewers, p.Teams = slices.Clone(p.Reviewers), slices.Clone(p.Teams)
	return p
}

func (i *item) cloneIssue() Issue {
	copied := i.Issue
	copied.Labels, copied.Assignees = slices.Clone(i.Labels), slices.Clone(i.Assignees)
	copied.Comments = slices.Clone(i.Comments)
	return copied
}

func state(open bool) string {
	if open {
		return "open"
	}
	return "closed"
}

// orNull is a time as JSON has it, or null if it is zero.
func orNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Format(time.RFC3339)
}

// issueJSON is an item as the endpoints of issues show it.
func (r *Repo) issueJSON(i *item) object {
	o := r.sharedJSON(i, "issues")
	if i.StateReason != "" {
		o["state_reason"] = i.StateReason
	}
	if i.pull {
		o["html_url"] = fmt.Sprintf("%s/pull/%d", r.web(), i.Number)
		o["pull_request"] = object{"url": fmt.Sprintf("%s/pulls/%d", r.url(), i.Number)}
	}
	return o
}

func (i *item) nodeID(r *Repo) string { return fmt.Sprintf("PR_%d_%d", r.id, i.Number) }

// sharedJSON are the fields of issues and pull requests. On the web, a kind is a part of the address.
func (r *Repo) sharedJSON(i *item, kind string) object {
	o := object{
		"number": i.Number, "html_url": fmt.Sprintf("%s/%s/%d", r.web(), kind, i.Number), "title": i.Title, "body": nil,
		"state": state(i.Open), "user": r.user(i.Author), "labels": r.labelsJSON(i.Labels), "assignees": r.users(i.Assignees),
		"created_at": orNull(i.Created),
	}
	if i.Body != "" {
		o["body"] = i.Body
	}
	return o
}
