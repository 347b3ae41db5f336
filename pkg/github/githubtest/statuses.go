package githubtest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
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

func (c *call) createStatus() (answer, error) {
	asked, err := decode[struct {
		State       string
		Context     string
		Description string
		TargetURL   string `json:"target_url"`
	}](c)
	if err != nil {
		return answer{}, err
	}
	status := Status{
		Commit: c.values["sha"], Context: cmp.Or(asked.Context, "default"), State: asked.State,
		Description: asked.Description, TargetURL: asked.TargetURL, Author: c.login(), Created: c.server.now(),
	}
	if err := c.repo.checkStatus(status); err != nil {
		return answer{}, err
	}
	c.repo.statuses = append(c.repo.statuses, status)
	if err := c.repo.mergeWaiting(); err != nil {
		return answer{}, err
	}
	return created(c.repo.statusJSON(len(c.repo.statuses) - 1))
}

// checkStatus refuses a status that GitHub refuses.
func (r *Repo) checkStatus(status Status) error {
	has, err := r.branches.has(status.Commit)
	if err != nil {
		return err
	}
	count := 0
	for _, other := range r.statuses {
		if other.Commit == status.Commit && strings.EqualFold(other.Context, status.Context) {
			count++
		}
	}
	statusError := func(field, message string) error {
		return invalid(fieldError{Resource: "Status", Code: "custom", Field: field, Message: message})
	}
	web := strings.HasPrefix(status.TargetURL, "https://") || strings.HasPrefix(status.TargetURL, "http://")
	switch {
	case !commitPattern.MatchString(status.Commit):
		return statusError("sha", "sha must be a 40 character SHA1")
	case !has:
		return refuse(http.StatusUnprocessableEntity, "No commit found for SHA: "+status.Commit)
	case utf8.RuneCountInString(status.Description) > descriptionLimit:
		return statusError("description", "description is too long (maximum is 140 characters)")
	case strings.ContainsFunc(status.Description, func(c rune) bool { return c > 0xFFFF }):
		return statusError("description", "description doesn't accept 4-byte Unicode")
	case status.TargetURL != "" && !web:
		return statusError("target_url", "target_url must use http(s) scheme")
	case count >= statusLimit:
		return statusError("base", "This SHA and context has reached the maximum number of statuses.")
	}
	return nil
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

// commitOf is the commit that the path names.
func (c *call) commitOf() (string, error) {
	commit, err := c.repo.resolve(c.values["ref"])
	if err == nil && commit == "" {
		err = refuse(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.values["ref"])
	}
	return commit, err
}

// resolve is the commit that a branch or an id names; it is empty if there is none.
func (r *Repo) resolve(ref string) (string, error) {
	tips, err := r.branches.tips()
	if err != nil {
		return "", err
	}
	if commit := tips[strings.TrimPrefix(ref, "heads/")]; commit != "" {
		return commit, nil
	}
	has, err := r.branches.has(ref)
	if err != nil || !has {
		return "", err
	}
	return ref, nil
}

func (c *call) listStatuses() (answer, error) {
	commit, err := c.commitOf()
	if err != nil {
		return answer{}, err
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
		"id": at + 1, "node_id": fmt.Sprintf("SC_%d_%d", r.id, at+1), "url": r.url() + "/statuses/" + status.Commit,
		"avatar_url": nil, "state": status.State, "context": status.Context, "description": status.Description,
		"target_url": status.TargetURL, "creator": r.user(status.Author),
		"created_at": orNull(status.Created), "updated_at": orNull(status.Created),
	}
}
