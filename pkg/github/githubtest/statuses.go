package githubtest

import (
	"cmp"
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

func (c *call) createStatus() answer {
	asked := decode[struct {
		State       string
		Context     string
		Description string
		TargetURL   string `json:"target_url"`
	}](c)
	status := Status{
		Commit: c.values["sha"], Context: cmp.Or(asked.Context, "default"), State: asked.State,
		Description: asked.Description, TargetURL: asked.TargetURL, Author: c.login(), Created: c.server.now(),
	}
	c.repo.checkStatus(status)
	c.repo.statuses = append(c.repo.statuses, status)
	c.repo.mergeWaiting()
	return created(c.repo.statusJSON(len(c.repo.statuses) - 1))
}

// checkStatus refuses a status that GitHub refuses.
func (r *Repo) checkStatus(status Status) {
	count := 0
	for _, other := range r.statuses {
		if other.Commit == status.Commit && strings.EqualFold(other.Context, status.Context) {
			count++
		}
	}
	web := strings.HasPrefix(status.TargetURL, "https://") || strings.HasPrefix(status.TargetURL, "http://")
	problem := fieldError{Resource: "Status", Code: "custom", Field: "description"}
	switch {
	case !branchtest.IsCommit(status.Commit):
		problem.Field, problem.Message = "sha", "sha must be a 40 character SHA1"
	case !r.branches.Has(status.Commit):
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
func (r *Repo) latest(commit string) []int {
	var found []int
	for at, status := range slices.Backward(r.statuses) {
		if status.Commit == commit && !slices.ContainsFunc(found, func(other int) bool {
			return strings.EqualFold(r.statuses[other].Context, status.Context)
		}) {
			found = append(found, at)
		}
	}
	return found
}

// resolve is the commit that a branch or an id names; it is empty if there is none.
func (r *Repo) resolve(ref string) string {
	if commit := r.branches.Tips()[strings.TrimPrefix(ref, "heads/")]; commit != "" {
		return commit
	}
	if !r.branches.Has(ref) {
		return ""
	}
	return ref
}

func (c *call) listStatuses() answer {
	commit := c.repo.resolve(c.values["ref"])
	if commit == "" {
		panic(noCommit(c.values["ref"]))
	}
	var found []int
	for at, status := range slices.Backward(c.repo.statuses) {
		if status.Commit == commit {
			found = append(found, at)
		}
	}
	return page(c, found, c.repo.statusJSON)
}

func (r *Repo) statusJSON(at int) object {
	status := r.statuses[at]
	return object{
		"id": at + 1, "url": r.url() + "/statuses/" + status.Commit, "state": status.State, "context": status.Context,
		"description": status.Description, "target_url": status.TargetURL, "creator": r.user(status.Author),
		"created_at": orNull(status.Created), "updated_at": orNull(status.Created),
	}
}
