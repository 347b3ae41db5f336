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

// Repository is a repository on GitHub. It may be used by several goroutines at once.
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
	// maxPages bounds a list: a server that always names a next page must not keep us for ever.
	maxPages = 1000
	// maxCreations is how often a creation is tried of which it is unknown whether it succeeded.
	maxCreations = 3
)

// about returns what GitHub says of the repository itself, asking once.
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

// create makes something once. If it is unknown whether that worked, it reads whether the thing is there,
// and only if it is not tries again.
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

// Tip returns the commit that a branch has now. It is read from the branch itself: a pull request may show an
// older one for a while after a push. A branch that is not there is giterror.ErrConflict.
func (r *Repository) Tip(ctx context.Context, branch string) (string, error) {
	ref, _, err := r.client.api.Git.GetRef(ctx, r.owner, r.name, "refs/heads/"+branch)
	if err != nil {
		gone := status(err) == http.StatusNotFound
		err = r.explain(operation{act: fmt.Sprintf("read the branch %q", branch), need: "contents: read"}, err)
		return "", withMoved(err, gone)
	}
	return ref.GetObject().GetSHA(), nil
}

// withMoved marks an error as one to start over after.
func withMoved(err error, moved bool) error {
	var e *Error
	if moved && errors.As(err, &e) {
		e.moved = true
	}
	return err
}

// ptr returns where a copy of value is: go-github takes what is optional as pointers.
func ptr[T any](value T) *T { return &value }

// retryDelays are the waits between looks at something that GitHub is still computing.
func retryDelays() []time.Duration {
	return []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}
}

// Dispatch starts the workflow in a file of .github/workflows as it is on a branch. If it is unknown whether it was
// started it is started again, and thus perhaps twice: nothing on GitHub distinguishes a run from one that somebody else
// started with the same inputs, what is started must be fit to run twice anyhow, and one that was lost would never be
// made up for.
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

// workflows is the directory that GitHub looks for workflows in.
const workflows = ".github/workflows/"

// hintDispatch says what to do about a workflow that GitHub does not start. It is empty if that is as for any request.
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

// IsAncestor reports whether a commit is in the history of another, or is the same. Commits that the repository does not
// have, and two without a common history, are errors: the answer is never guessed.
func (r *Repository) IsAncestor(ctx context.Context, ancestor, descendant string) (bool, error) {
	op := operation{act: fmt.Sprintf("compare %.12s with %.12s", ancestor, descendant), need: "contents: read"}
	for _, commit := range []string{ancestor, descendant} {
		if err := checkCommit(commit); err != nil {
			return false, r.explain(op, err)
		}
	}
	// Only what is said of the whole is of interest: one commit to a page is the least that can be asked for.
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

// explainAncestry makes an Error of what GitHub says of histories. Of a commit that is not there it says no more than
// "Not Found".
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

// checkCommit refuses what is not a full commit SHA: to GitHub it may be a branch, or a part of a path.
func checkCommit(id string) error {
	if giturl.CommitForm.MatchString(id) {
		return nil
	}
	return &Error{Kind: Invalid, Message: fmt.Sprintf("%q is not a full commit SHA", id)}
}

// unknownCommit is what GitHub says, in lower case, of a commit that the repository does not have.
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
