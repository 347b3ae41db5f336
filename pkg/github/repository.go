package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	gh "github.com/google/go-github/v53/github"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// Repository is a repository on GitHub. It may be used by several goroutines at once.
type Repository struct {
	client      *Client
	owner, name string

	mu      sync.Mutex
	details *gh.Repository
	login   string
}

var (
	_ gitops.PullRequests  = (*Repository)(nil)
	_ gitops.Issues        = (*Repository)(nil)
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
	details, _, err := r.client.api.Repositories.Get(ctx, r.owner, r.name)
	if err != nil {
		return nil, r.explain(operation{act: "read the repository", need: "metadata: read"}, err)
	}
	r.details = details
	return details, nil
}

// all reads every page of a list.
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
// older one for a while after a push. A branch that is not there is remote.ErrMoved.
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
