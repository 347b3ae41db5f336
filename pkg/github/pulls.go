package github

import (
	"context"
	"fmt"
	"slices"

	gh "github.com/google/go-github/v53/github"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

const writePulls = "pull requests: write"

// Open lists all open pull requests into a branch whose head is a branch of the same repository.
func (r *Repository) Open(ctx context.Context, base string) ([]gitops.PullRequest, error) {
	return r.pulls(ctx, gh.PullRequestListOptions{State: "open", Base: base, Sort: "created", Direction: "asc"})
}

// Last returns the newest pull request from head into base that is not open, or nil.
func (r *Repository) Last(ctx context.Context, head, base string) (*gitops.PullRequest, error) {
	about, err := r.about(ctx) // of a repository that moved, the filter knows the new owner only
	if err != nil {
		return nil, err
	}
	found, err := r.pulls(ctx, gh.PullRequestListOptions{
		State: "closed", Base: base, Head: about.GetOwner().GetLogin() + ":" + head, Sort: "created", Direction: "desc",
	})
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(p gitops.PullRequest) bool {
		return p.Head != head || p.State == gitops.PullRequestOpen
	})
	if len(found) == 0 {
		return nil, nil
	}
	newest := slices.MaxFunc(found, func(a, b gitops.PullRequest) int { return a.Number - b.Number })
	return &newest, nil
}

// pulls lists pull requests within the repository. GitHub ignores filters that it does not understand, so
// the base is compared here, too.
func (r *Repository) pulls(ctx context.Context, o gh.PullRequestListOptions) ([]gitops.PullRequest, error) {
	pages, err := all(ctx, func(ctx context.Context, page gh.ListOptions) ([]*gh.PullRequest, *gh.Response, error) {
		o.ListOptions = page
		return r.client.api.PullRequests.List(ctx, r.owner, r.name, &o)
	})
	op := operation{act: "list the pull requests", need: "pull requests: read"}
	if err != nil {
		return nil, r.explain(op, err)
	}
	var found []gitops.PullRequest
	for _, page := range pages {
		if page.GetNumber() == 0 || page.GetBase().GetRef() == "" || page.GetHead().GetRef() == "" {
			return nil, r.explain(op, incomplete())
		}
		twice := slices.ContainsFunc(found, func(p gitops.PullRequest) bool { return p.Number == page.GetNumber() })
		if page.GetBase().GetRef() == o.Base && within(page) && !twice {
			found = append(found, fromGitHub(page))
		}
	}
	return found, nil
}

// within reports whether the head of a pull request is a branch of the repository it goes to. Names do not
// show that: those of a repository that was renamed differ.
func within(p *gh.PullRequest) bool {
	head, base := p.GetHead().GetRepo(), p.GetBase().GetRepo()
	return head.GetID() != 0 && head.GetID() == base.GetID()
}

func fromGitHub(p *gh.PullRequest) gitops.PullRequest {
	found := gitops.PullRequest{
		Number: p.GetNumber(), URL: p.GetHTMLURL(), State: stateOf(p), Draft: p.GetDraft(),
		Title: p.GetTitle(), Body: p.GetBody(), Head: p.GetHead().GetRef(), Base: p.GetBase().GetRef(),
		HeadCommit: p.GetHead().GetSHA(), AutoMerging: p.AutoMerge != nil,
	}
	for _, label := range p.Labels {
		found.Labels = append(found.Labels, label.GetName())
	}
	return found
}

func stateOf(p *gh.PullRequest) gitops.PullRequestState {
	switch {
	case p.GetMerged(), p.MergedAt != nil: // lists have the time only
		return gitops.PullRequestMerged
	case p.GetState() == "closed":
		return gitops.PullRequestClosed
	}
	return gitops.PullRequestOpen
}

// Create opens a pull request. If there is an open one already it returns that one as it is, with existed.
func (r *Repository) Create(ctx context.Context, n gitops.NewPullRequest) (gitops.PullRequest, bool, error) {
	var (
		op      = operation{act: fmt.Sprintf("open a pull request from %q into %q", n.Head, n.Base), need: writePulls}
		created gitops.PullRequest
		existed bool
	)
	find := func() (bool, error) {
		found, err := r.find(ctx, n.Head, n.Base)
		if found == nil || err != nil {
			return false, err
		}
		created, existed = *found, !(found.Title == n.Title && found.Body == n.Body)
		return true, nil
	}
	err := r.create(ctx, op, func() error {
		p, _, err := r.client.api.PullRequests.Create(ctx, r.owner, r.name, &gh.NewPullRequest{
			Title: ptr(n.Title), Body: ptr(n.Body), Head: ptr(n.Head), Base: ptr(n.Base), Draft: ptr(n.Draft),
		})
		switch {
		case err == nil:
			created = fromGitHub(p)
		case says(err, "a pull request already exists"):
			// It may be too new for the list: then this is tried again, like a creation of unknown outcome.
			return &Error{Kind: Invalid, Status: status(err), Message: "GitHub says that there is one, but lists none", maybeDone: true, moved: true}
		case says(err, "no commits between"), complains(err, "head", "invalid"), complains(err, "base", "invalid"):
			return withMoved(r.explain(op, err), true)
		}
		return err
	}, find)
	return created, existed, err
}

// find returns the open pull request from head into base, or nil.
func (r *Repository) find(ctx context.Context, head, base string) (*gitops.PullRequest, error) {
	open, err := r.Open(ctx, base)
	if err != nil {
		return nil, err
	}
	for _, p := range open {
		if p.Head == head {
			return &p, nil
		}
	}
	return nil, nil
}

// Edit sets the title and the body of an open pull request. One that is not open is remote.ErrMoved.
func (r *Repository) Edit(ctx context.Context, number int, title, body string) error {
	return r.edit(ctx, fmt.Sprintf("update pull request #%d", number), number,
		&gh.PullRequest{Title: ptr(title), Body: ptr(body)}, gitops.PullRequestOpen)
}

// Close closes a pull request and sets its body. One that was merged meanwhile is remote.ErrMoved.
func (r *Repository) Close(ctx context.Context, number int, body string) error {
	return r.edit(ctx, fmt.Sprintf("close pull request #%d", number), number,
		&gh.PullRequest{State: ptr("closed"), Body: ptr(body)}, gitops.PullRequestClosed)
}

func (r *Repository) edit(ctx context.Context, act string, number int, change *gh.PullRequest, want gitops.PullRequestState) error {
	op := operation{act: act, need: writePulls}
	changed, _, err := r.client.api.PullRequests.Edit(ctx, r.owner, r.name, number, change)
	if err != nil {
		return r.explain(op, err)
	}
	if state := stateOf(changed); state != want {
		return r.explain(op, &Error{Kind: Invalid, Message: fmt.Sprintf("it is %s", state), moved: true})
	}
	return nil
}
