package githubtest

import (
	"slices"
	"time"
)

// Status is a status of a commit.
type Status struct {
	Commit, Context string
	// State is "error", "failure", "pending" or "success".
	State, Description, TargetURL string
	Author                        string
	Created                       time.Time
}

// latest are the newest statuses of a commit, one for each context, the newest first.
func (r *Repo) latest(commit string) []Status {
	var found []Status
	for _, status := range slices.Backward(r.statuses) {
		if status.Commit == commit && !slices.ContainsFunc(found, func(s Status) bool { return s.Context == status.Context }) {
			found = append(found, status)
		}
	}
	return found
}
