// Package pullrequest opens, updates and closes pull requests and issues of a GitOps repository; package github implements
// what it needs of a forge.
package pullrequest

import "context"

// State says what became of a pull request.
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
	// URL is where people look at it.
	URL   string
	State State
	Draft bool
	Title string
	// Body is Markdown. Ours holds a hidden marker.
	Body string
	// Head and Base are branches; both are of the repository itself.
	Head, Base string
	// HeadCommit is the tip of Head, or what it was when the pull request was closed.
	HeadCommit string
	Labels     []string
	// AutoMerging says that it merges itself once its requirements are met.
	AutoMerging bool
}

// Forge is what publishing needs of the forge that holds a GitOps repository. Package github
// implements it. A method that changes something is a single writing request, repeated only where that
// is harmless or after it was read that it is needed.
type Forge interface {
	// Open lists all open pull requests into a branch whose head is a branch of the same repository.
	Open(ctx context.Context, base string) ([]Request, error)
	// Last returns the newest pull request from head into base that is not open, or nil.
	Last(ctx context.Context, head, base string) (*Request, error)
	// Create opens one. If there is an open one already it returns that one as it is, with existed.
	Create(ctx context.Context, request NewRequest) (created Request, existed bool, err error)
	// Tip returns the commit that a branch has now, as pushes left it: a pull request may show an older one
	// for a while. A branch that is not there is giterror.ErrConflict.
	Tip(ctx context.Context, branch string) (commit string, err error)
	// Edit sets the title and the body. If it turns out not to be open, that is giterror.ErrConflict.
	Edit(ctx context.Context, number int, title, body string) error
	// Close closes it and sets its body, in one. If it turns out to be merged, that is giterror.ErrConflict.
	Close(ctx context.Context, number int, body string) error
	// Comment adds a comment.
	Comment(ctx context.Context, number int, body string) error
	// AddLabels adds labels, and makes those that the repository does not have.
	AddLabels(ctx context.Context, number int, labels []string) error
	// RemoveLabel takes a label off; it is fine if it is not on.
	RemoveLabel(ctx context.Context, number int, label string) error
	// RequestReviews asks people ("name") and teams ("owner/team") for a review.
	RequestReviews(ctx context.Context, number int, reviewers []string) error
	// Assign adds assignees.
	Assign(ctx context.Context, number int, people []string) error
	// AutoMerge merges it as soon as its requirements are met; at once if they are met, and only if its
	// head is still the commit given, else that is giterror.ErrConflict. The note is for people, for example that the
	// merge will start no workflow; it may be empty.
	AutoMerge(ctx context.Context, number int, headCommit string) (merged bool, note string, err error)
	// KeepOpen takes AutoMerge back; it is fine if it was not asked for.
	KeepOpen(ctx context.Context, number int) error
}

// NewRequest is a pull request that is to be opened.
type NewRequest struct {
	Head, Base  string
	Title, Body string
	Draft       bool
}

// AutoMerge says which pull requests merge themselves.
type AutoMerge string

// The values of --auto-merge.
const (
	AutoMergeNever AutoMerge = ""
	// AutoMergeAlways is every one.
	AutoMergeAlways AutoMerge = "always"
	// AutoMergeNoChange is only one that changes nothing on any cluster.
	AutoMergeNoChange AutoMerge = "no-change"
)

// Options are what a person decides about pull requests.
type Options struct {
	Labels, Reviewers, Assignees []string
	Draft                        bool
	AutoMerge                    AutoMerge
	// Reopen opens one again although a person closed it for the same tree.
	Reopen bool
}

// Submission is what the pull request of an environment should be. The commit is on the branch already.
type Submission struct {
	// Environment goes into the hidden marker, by which our pull requests are known.
	Environment string
	// Path is the folder of the GitOps repository that is published to; empty or "." is its root. Two
	// folders of one branch have a pull request each.
	Path       string
	Head, Base string
	// HeadCommit is the tip of Head, and Tree the id of its tree: a pull request that a person closed is
	// not opened again for the same tree.
	HeadCommit, Tree string
	Title            string
	// Body is Markdown without the marker, at most MaxBody characters.
	Body string
	// Promoted says that the promoted commit changes: then, and only then, the label "promoted" is on.
	Promoted bool
	// Idle says that no cluster changes, but for the promoted commit.
	Idle bool
	Options
}

// Action says what became of a submission.
type Action string

// What can become of a submission.
const (
	Created   Action = "created"
	Updated   Action = "updated"
	Unchanged Action = "unchanged"
	// Declined is one that a person closed before, for the same tree.
	Declined Action = "declined"
)

// Result is what became of a submission.
type Result struct {
	Action      Action
	PullRequest Request
	// Closed are older pull requests of ours that were closed in favour of this one.
	Closed []Request
	// Notes are for people.
	Notes []string
}
