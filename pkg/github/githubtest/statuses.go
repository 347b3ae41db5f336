package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest/branchtest"
)

// Status is a status of a commit.
type Status struct {
	Commit, Context string
	// State is "error", "failure", "pending" or "success".
	State, Description, TargetURL string
	Author                        string
	Created                       time.Time
}

// String is a line for people.
func (s Status) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s %s", s.Context, s.State, s.Description))
}

const (
	descriptionLimit = 140  // characters of at most three bytes
	statusLimit      = 1000 // for a commit and a context
)

// statuses are those of all commits, the oldest first.
type statuses []Status

// check refuses a new status that GitHub refuses. Its commit may be there or not.
func (all statuses) check(status Status, there bool) {
	count := 0
	for _, other := range all {
		if other.Commit == status.Commit && strings.EqualFold(other.Context, status.Context) {
			count++
		}
	}
	web := strings.HasPrefix(status.TargetURL, "https://") || strings.HasPrefix(status.TargetURL, "http://")
	problem := fieldError{Resource: "Status", Code: "custom", Field: "description"}
	switch {
	case !branchtest.IsCommit(status.Commit):
		problem.Field, problem.Message = "sha", "sha must be a 40 character SHA1"
	case !there:
		panic(noCommit(status.Commit))
	case utf8.RuneCountInString(status.Description) > descriptionLimit:
		problem.Message = "description is too long (maximum is 140 characters)"
	case strings.ContainsFunc(status.Description, func(c rune) bool { return c > 0xFFFF }):
		problem.Message = "description doesn't accept 4-byte Unicode"
	case status.TargetURL != "" && !web:
		problem.Field, problem.Message = "target_url", "target_url must use http(s) scheme"
	case count >= statusLimit:
		problem.Field, problem.Message = "base", "This SHA and context has reached the maximum number of statuses."
	default:
		return
	}
	panic(invalid(problem))
}

func noCommit(ref string) *refusal {
	return refuse(http.StatusUnprocessableEntity, "No commit found for SHA: "+ref)
}

// latest are places of the newest statuses of a commit, one for each context in any case, the newest first.
func (all statuses) latest(commit string) []int {
	var found []int
	for at, status := range slices.Backward(all) {
		if status.Commit == commit && !slices.ContainsFunc(found, func(other int) bool {
			return strings.EqualFold(all[other].Context, status.Context)
		}) {
			found = append(found, at)
		}
	}
	return found
}
