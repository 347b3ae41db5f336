// Package pullrequest opens, updates and closes pull requests and issues of a GitOps repository; package github
// implements its interfaces.
package pullrequest

import "context"

// State is the state of a pull request.
type State string

// The states of pull requests.
const (
	Open   State = "open"
	Closed State = "closed"
	Merged State = "merged"
)

// Request is a pull request of a GitOps repository.
type Request struct {
	Number int
	// URL is its page.
	URL   string
	State State
	Draft bool
	Title string
	// Body is Markdown, with a hidden marker if it is managed by kalypso.
	Body string
	// Head and Base are branches of the same repository.
	Head, Base string
	// HeadCommit is the tip of Head, or its tip when the pull request was closed.
	HeadCommit string
	Labels     []string
	// AutoMerging is true if auto-merge is on.
	AutoMerging bool
}

// Forge is the interface to the forge of a GitOps repository. Package github implements it. A method that changes
// something is a single write request, repeated only if that is safe, or if a read shows that it is necessary.
type Forge interface {
	// Open lists all open pull requests into a branch whose head is a branch of the same repository.
	Open(ctx context.Context, base string) ([]Request, error)
	// Last returns the newest pull request from head into base that is not open, or nil.
	Last(ctx context.Context, head, base string) (*Request, error)
	// Create opens a pull request. If there is an open one already, it returns that one unchanged, with existed.
	Create(ctx context.Context, request NewRequest) (created Request, existed bool, err error)
	// Tip returns the current commit of a branch; a pull request may have an older one for some time. The error is
	// giterror.ErrConflict if there is no such branch.
	Tip(ctx context.Context, branch string) (commit string, err error)
	// Edit sets the title and the body. The error is giterror.ErrConflict if it is not open.
	Edit(ctx context.Context, number int, title, body string) error
	// Close closes it and sets its body, in one request. The error is giterror.ErrConflict if it is merged.
	Close(ctx context.Context, number int, body string) error
	// Comment adds a comment.
	Comment(ctx context.Context, number int, body string) error
	// AddLabels adds labels, and creates those that the repository does not have.
	AddLabels(ctx context.Context, number int, labels []string) error
	// RemoveLabel removes a label; a missing label is not an error.
	RemoveLabel(ctx context.Context, number int, label string) error
	// RequestReviews requests reviews of people ("name") and teams ("owner/team").
	RequestReviews(ctx context.Context, number int, reviewers []string) error
	// Assign adds assignees.
	Assign(ctx context.Context, number int, people []string) error
	// AutoMerge turns auto-merge on, or merges at once if the requirements are met. The error is giterror.ErrConflict if
	// headCommit is not the head any more. The note is for people, for example that the merge will start no workflow; it
	// may be empty.
	AutoMerge(ctx context.Context, number int, headCommit string) (merged bool, note string, err error)
	// KeepOpen turns auto-merge off; it is not an error if it is off.
	KeepOpen(ctx context.Context, number int) error
}

// NewRequest is a pull request to open.
type NewRequest struct {
	Head, Base  string
	Title, Body string
	Draft       bool
}

// AutoMerge selects the pull requests with auto-merge.
type AutoMerge string

// The values of --auto-merge.
const (
	AutoMergeNever AutoMerge = ""
	// AutoMergeAlways is for all pull requests.
	AutoMergeAlways AutoMerge = "always"
	// AutoMergeNoChange is only for those without a change on any cluster.
	AutoMergeNoChange AutoMerge = "no-change"
)

// Options are the options of pull requests.
type Options struct {
	Labels, Reviewers, Assignees []string
	Draft                        bool
	AutoMerge                    AutoMerge
	// Reopen opens a pull request even if a person closed it for the same tree.
	Reopen bool
}

// Submission is the desired state of the pull request of an environment. Its commit is already on the branch.
type Submission struct {
	// Environment is in the hidden marker, which identifies pull requests of kalypso.
	Environment string
	// Path is the directory of the output in the GitOps repository; empty or "." for the root. Two directories of one
	// branch have a pull request each.
	Path       string
	Head, Base string
	// HeadCommit is the tip of Head, and Tree the id of its tree. A pull request that a person closed is not opened again
	// for the same tree.
	HeadCommit, Tree string
	Title            string
	// Body is Markdown without the marker, at most MaxBody characters.
	Body string
	// Promoted is true if the promoted commit changes. The pull request has the label "promoted" if and only if it is
	// true.
	Promoted bool
	// Idle is true if nothing changes on clusters except the promoted commit.
	Idle bool
	Options
}

// Action is the action for a submission.
type Action string

// The actions for a submission.
const (
	Created   Action = "created"
	Updated   Action = "updated"
	Unchanged Action = "unchanged"
	// Declined means that a person closed the pull request before, for the same tree.
	Declined Action = "declined"
)

// Result is the result of a submission.
type Result struct {
	Action      Action
	PullRequest Request
	// Closed are older pull requests of kalypso that were closed in favour of this one.
	Closed []Request
	// Notes are sentences for people.
	Notes []string
}
