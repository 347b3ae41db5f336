package gitops

import "context"

// Issue is an issue of a GitOps repository.
type Issue struct {
	Number      int
	URL         string
	Title, Body string
}

// Issues is what reporting failures needs of the forge that holds a GitOps repository.
type Issues interface {
	// OpenIssues lists the open issues that bear a label and are no pull requests.
	OpenIssues(ctx context.Context, label string) ([]Issue, error)
	// CreateIssue opens one with a label, which is made if it is missing.
	CreateIssue(ctx context.Context, title, body, label string) (Issue, error)
	EditIssue(ctx context.Context, number int, title, body string) error
	// CloseIssue closes it, with a comment that says why.
	CloseIssue(ctx context.Context, number int, comment string) error
}
