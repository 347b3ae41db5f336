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
	return fmt.Sprintf("#%d %s -> %s: %s%s", p.Number, p.Head, p.Base, p.Title, inBrackets(p.Labels))
}

// String is a line for people.
func (i Issue) String() string {
	return fmt.Sprintf("#%d %s%s", i.Number, i.Title, inBrackets(i.Labels))
}

func inBrackets(names []string) string {
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

func (i *item) labelled(name string) bool {
	return slices.ContainsFunc(i.Labels, func(has string) bool { return strings.EqualFold(has, name) })
}

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

// Label is a label of a repository. Names are the same in any case.
type Label struct{ Name, Color, Description string }

// labels are the labels that a repository has.
type labels []Label

func (l labels) find(name string) int {
	return slices.IndexFunc(l, func(one Label) bool { return strings.EqualFold(one.Name, name) })
}

// put puts labels on. Those that the repository does not have it gets, as from GitHub.
func (l *labels) put(i *item, names ...string) {
	for _, name := range names {
		at := l.find(name)
		if at < 0 {
			at = len(*l)
			*l = append(*l, Label{Name: name, Color: usualColor})
		}
		if !i.labelled(name) {
			i.Labels = append(i.Labels, (*l)[at].Name)
		}
	}
}

const usualColor = "ededed"

func (l Label) json() object {
	return object{"name": l.Name, "color": l.Color, "description": l.Description}
}

// json shows those labels that have the names.
func (l labels) json(names []string) []object {
	shown := make([]object, len(names))
	for i, name := range names {
		shown[i] = l[l.find(name)].json()
	}
	return shown
}
