package promote

import (
	"context"
	"time"
)

// Statuses are those of the commits of the control plane.
type Statuses interface {
	// Statuses returns the newest status of each context and creator of a commit, the newest first.
	Statuses(ctx context.Context, commit string) ([]Status, error)
	// SetStatus adds a status to a commit. Setting it twice is harmless.
	SetStatus(ctx context.Context, commit string, status Status) error
}

// Status says on a commit how far it has come.
type Status struct {
	// Context tells what it is about: "stage environment".
	Context string
	State   StatusState
	// Description is a line of at most MaxDescription characters.
	Description string
	// TargetURL is a page with more, such as the run; it may be empty.
	TargetURL string
	// Created is the time when it was set, and Creator the login of the author; empty if the account was deleted. They
	// are ignored when a status is written.
	Created time.Time
	Creator string
	// Untrusted says that the status does not count; see TrustStatuses.
	Untrusted bool
}

// Reporting says how the progress of a commit is reported on it.
type Reporting struct {
	// Statuses are those of the control plane's commits; nil if there are none, and NoStatuses says why.
	Statuses   Statuses
	NoStatuses string
	// TargetURL is the page that statuses link to; it may be empty.
	TargetURL string
	// Seed says no more in a status than the seeds' workflows do, and says it in their way.
	Seed bool
}

// StatusState is one of the four that GitHub knows.
type StatusState string

// The states of a status.
const (
	StatusPending StatusState = "pending"
	StatusSuccess StatusState = "success"
	StatusFailure StatusState = "failure"
	StatusError   StatusState = "error"
)

// MaxDescription is how many characters GitHub takes.
const MaxDescription = 140

// Workflows can be started in the control plane.
type Workflows interface {
	// Dispatch starts the workflow in a file of .github/workflows as it is on a branch.
	Dispatch(ctx context.Context, workflow, branch string, inputs map[string]string) error
}
