package github

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	gh "github.com/google/go-github/v53/github"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// Repository is a repository on GitHub. It is safe for concurrent use.
type Repository struct {
	client      *Client
	owner, name string

	mu      sync.Mutex
	details *gh.Repository
	// tokenExpires is when the token expires; zero if GitHub does not report it.
	tokenExpires time.Time
	login        string
}

var (
	_ pullrequest.Forge    = (*Repository)(nil)
	_ pullrequest.Issues   = (*Repository)(nil)
	_ promote.StatusSource = (*Repository)(nil)
)

// String returns "owner/name".
func (r *Repository) String() string { return r.owner + "/" + r.name }

const (
	perPage = 100
	// maxPages is the maximum number of pages of a list, for a server that always returns a next page.
	maxPages = 1000
	// maxCreations is the maximum number of attempts of a creation with an unknown outcome.
	maxCreations = 3
)

// about reads the repository, once.
func (r *Repository) about(ctx context.Context) (*gh.Repository, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.details != nil {
		return r.details, nil
	}
	details, answer, err := r.client.api.Repositories.Get(ctx, r.owner, r.name)
	if err != nil {
		return nil, r.explain(operation{act: "read the repository", need: "metadata: read"}, err)
	}
	r.details, r.tokenExpires = details, answer.TokenExpiration.Time
	return details, nil
}

func all[T any](ctx context.Context, list func(context.Context, gh.ListOptions) ([]T, *gh.Response, error)) ([]T, error) {
	var found []T
	for page, read := 1, 0; ; read++ {
		if read >= maxPages {
			return nil, &Error{Kind: Invalid, Message: fmt.Sprintf("the list has more than %d pages", maxPages)}
		}
		items, answer, err := list(ctx, gh.ListOptions{Page: page, PerPage: perPage})
		if err != nil {
			return nil, err
		}
		found = append(found, items...)
		if answer.NextPage == 0 {
			return found, nil
		}
		page = answer.NextPage
	}
}

// create creates something once: after an unknown outcome, it retries only if a read shows that it does not exist.
func (r *Repository) create(ctx context.Context, op operation, create func() error, exists func() (bool, error)) error {
	for try := 1; ; try++ {
		err := r.explain(op, create())
		var e *Error
		if !errors.As(err, &e) || !e.maybeDone || ctx.Err() != nil {
			return err
		}
		there, readErr := exists()
		if readErr != nil || there {
			return readErr
		}
		if try == maxCreations {
			return err
		}
		t := r.client.wire
		delay := retryafter.Backoff(firstDelay, try)
		t.Notice(fmt.Sprintf("%s: trying again in %s", e.Message, round(delay)))
		if err := t.Sleep(ctx, delay); err != nil {
			return err
		}
	}
}

// Tip returns the current commit of a branch; a pull request may have an older one for some seconds after a push. The
// error is giterror.ErrConflict if there is no such branch.
func (r *Repository) Tip(ctx context.Context, branch string) (string, error) {
	ref, _, err := r.client.api.Git.GetRef(ctx, r.owner, r.name, "refs/heads/"+branch)
	if err != nil {
		gone := status(err) == http.StatusNotFound
		err = r.explain(operation{act: fmt.Sprintf("read the branch %q", branch), need: "contents: read"}, err)
		return "", withMoved(err, gone)
	}
	return ref.GetObject().GetSHA(), nil
}

// withMoved marks an error as giterror.ErrConflict if moved is true.
func withMoved(err error, moved bool) error {
	var e *Error
	if moved && errors.As(err, &e) {
		e.moved = true
	}
	return err
}

// ptr returns a pointer to a copy of value, for optional fields of go-github.
func ptr[T any](value T) *T { return &value }

// retryDelays are the waits between reads of something that GitHub is computing.
func retryDelays() []time.Duration {
	return []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}
}

// Dispatch starts the workflow in a file of .github/workflows on a branch. After an unknown outcome it starts the workflow
// again, possibly twice: GitHub does not distinguish a run from one of somebody else with the same inputs, and workflows
// must tolerate it, while a lost run would never be repeated.
func (r *Repository) Dispatch(ctx context.Context, workflow, branch string, inputs map[string]string) error {
	op := operation{act: fmt.Sprintf("start the workflow %q on %q", workflow, branch), need: "actions: write"}
	file := strings.TrimPrefix(workflow, workflows)
	if strings.ContainsAny(file, `/\`) || !strings.HasSuffix(file, ".yaml") && !strings.HasSuffix(file, ".yml") {
		return r.explain(op, &Error{
			Kind: Invalid, Message: "that is not the name of a workflow file",
			Hint: "name a .yml or .yaml file in " + workflows + ", without the directory",
		})
	}
	given := make(map[string]any, len(inputs))
	for name, value := range inputs {
		given[name] = value
	}
	_, err := r.client.api.Actions.CreateWorkflowDispatchEventByFileName(mayRepeat(ctx), r.owner, r.name, url.PathEscape(file), // go-github does not escape it
		gh.CreateWorkflowDispatchEventRequest{Ref: branch, Inputs: given})
	if err == nil {
		return nil
	}
	e := r.client.wire.classify(op, err)
	if hint := hintDispatch(e, file, branch, inputs); hint != "" {
		e.Hint = hint
	}
	return r.explain(op, e)
}

// workflows is GitHub's directory of workflows.
const workflows = ".github/workflows/"

// hintDispatch returns the hint for a workflow that GitHub does not start; empty for the usual hint.
func hintDispatch(e *Error, file, branch string, inputs map[string]string) string {
	file = workflows + file
	said := strings.ToLower(e.Message)
	switch {
	case e.Status == http.StatusNotFound:
		return fmt.Sprintf("%s not found on the default branch, or the token may not start it: %s",
			file, strings.TrimPrefix(e.Hint, hidden))
	case e.Status != http.StatusUnprocessableEntity && e.Status != http.StatusForbidden:
		return ""
	case strings.Contains(said, "disabled workflow"):
		return fmt.Sprintf("enable %s on the page “Actions” of the repository", file)
	case e.Status != http.StatusUnprocessableEntity:
		return ""
	case strings.Contains(said, "no ref found"):
		return fmt.Sprintf("branch %q not found", branch)
	case strings.Contains(said, "trigger"):
		return fmt.Sprintf("write “workflow_dispatch” into “on” of %s on %s", file, branch)
	case strings.Contains(said, "input"):
		return fmt.Sprintf("the inputs of workflow_dispatch in %s on %s must be: %s", file, branch,
			strings.Join(slices.Sorted(maps.Keys(inputs)), ", "))
	}
	return ""
}

// IsAncestor reports whether ancestor is in the history of descendant, or the same. Missing commits, and two without a
// common history, are errors.
func (r *Repository) IsAncestor(ctx context.Context, ancestor, descendant string) (bool, error) {
	op := operation{act: fmt.Sprintf("compare %.12s with %.12s", ancestor, descendant), need: "contents: read"}
	for _, commit := range []string{ancestor, descendant} {
		if err := checkCommit(commit); err != nil {
			return false, r.explain(op, err)
		}
	}
	// Only the status is needed; one commit per page is the minimum.
	compared, _, err := r.client.api.Repositories.CompareCommits(ctx, r.owner, r.name, ancestor, descendant, &gh.ListOptions{PerPage: 1})
	if err != nil {
		return false, r.explain(op, r.explainAncestry(op, err))
	}
	switch compared.GetStatus() {
	case "ahead", "identical":
		return true, nil
	case "behind", "diverged":
		return false, nil
	}
	return false, r.explain(op, incomplete())
}

// explainAncestry explains the errors of a comparison. For a missing commit, GitHub returns only "Not Found".
func (r *Repository) explainAncestry(op operation, err error) error {
	switch {
	case says(err, "no common ancestor"):
		return &Error{
			Kind: Invalid, Status: status(err), Message: "the two commits have no history in common",
			Hint: "they belong to different repositories, or a force-push replaced the whole history",
		}
	case says(err, unknownCommit):
		return noCommit(err)
	}
	e := r.client.wire.classify(op, err)
	if e.Status == http.StatusNotFound {
		e.Message = "GitHub does not find both commits (404)"
		e.Hint = "one of them was not pushed, or is not visible to the token: " + strings.TrimPrefix(e.Hint, hidden)
	}
	return e
}

// checkCommit returns an error for other texts than full commit SHAs, which GitHub could treat as branches or paths.
func checkCommit(id string) error {
	if giturl.CommitForm.MatchString(id) {
		return nil
	}
	return &Error{Kind: Invalid, Message: fmt.Sprintf("%q is not a full commit SHA", id)}
}

// unknownCommit is GitHub's message, in lower case, for a commit that the repository does not have.
const unknownCommit = "no commit found"

func noCommit(err error) error {
	return &Error{
		Kind: NotFound, Status: status(err), Message: "commit not found",
		Hint: "it was not pushed, or a force-push removed it",
	}
}

func incomplete() error {
	return &Error{Kind: Unavailable, Message: "GitHub's answer is incomplete", Hint: hintLater(Unavailable)}
}
