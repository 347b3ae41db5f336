package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v53/github"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
)

const writePulls = "pull requests: write"

// Open lists all open pull requests into a branch whose head is a branch of the same repository.
func (r *Repository) Open(ctx context.Context, base string) ([]pullrequest.Request, error) {
	return r.pulls(ctx, gh.PullRequestListOptions{State: "open", Base: base, Sort: "created", Direction: "asc"})
}

// Last returns the newest pull request from head into base that is not open, or nil.
func (r *Repository) Last(ctx context.Context, head, base string) (*pullrequest.Request, error) {
	about, err := r.about(ctx) // after a transfer, the filter needs the new owner
	if err != nil {
		return nil, err
	}
	found, err := r.pulls(ctx, gh.PullRequestListOptions{
		State: "closed", Base: base, Head: about.GetOwner().GetLogin() + ":" + head, Sort: "created", Direction: "desc",
	})
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(p pullrequest.Request) bool {
		return p.Head != head || p.State == pullrequest.Open
	})
	if len(found) == 0 {
		return nil, nil
	}
	newest := slices.MaxFunc(found, func(a, b pullrequest.Request) int { return a.Number - b.Number })
	return &newest, nil
}

// pulls lists pull requests within the repository. GitHub ignores filters that it does not understand, so
// the base is compared here, too.
func (r *Repository) pulls(ctx context.Context, o gh.PullRequestListOptions) ([]pullrequest.Request, error) {
	pages, err := all(ctx, func(ctx context.Context, page gh.ListOptions) ([]*gh.PullRequest, *gh.Response, error) {
		o.ListOptions = page
		return r.client.api.PullRequests.List(ctx, r.owner, r.name, &o)
	})
	op := operation{act: "list the pull requests", need: "pull requests: read"}
	if err != nil {
		return nil, r.explain(op, err)
	}
	var found []pullrequest.Request
	for _, page := range pages {
		if page.GetNumber() == 0 || page.GetBase().GetRef() == "" || page.GetHead().GetRef() == "" {
			return nil, r.explain(op, incomplete())
		}
		twice := slices.ContainsFunc(found, func(p pullrequest.Request) bool { return p.Number == page.GetNumber() })
		if page.GetBase().GetRef() == o.Base && within(page) && !twice {
			found = append(found, fromGitHub(page))
		}
	}
	return found, nil
}

// within reports whether the head of a pull request is a branch of the same repository. Names can differ after a rename.
func within(p *gh.PullRequest) bool {
	head, base := p.GetHead().GetRepo(), p.GetBase().GetRepo()
	return head.GetID() != 0 && head.GetID() == base.GetID()
}

func fromGitHub(p *gh.PullRequest) pullrequest.Request {
	found := pullrequest.Request{
		Number: p.GetNumber(), URL: p.GetHTMLURL(), State: stateOf(p), Draft: p.GetDraft(),
		Title: p.GetTitle(), Body: p.GetBody(), Head: p.GetHead().GetRef(), Base: p.GetBase().GetRef(),
		HeadCommit: p.GetHead().GetSHA(), AutoMerging: p.AutoMerge != nil,
	}
	for _, label := range p.Labels {
		found.Labels = append(found.Labels, label.GetName())
	}
	return found
}

func stateOf(p *gh.PullRequest) pullrequest.State {
	switch {
	case p.GetMerged(), p.MergedAt != nil: // lists have the time only
		return pullrequest.Merged
	case p.GetState() == "closed":
		return pullrequest.Closed
	}
	return pullrequest.Open
}

// Create opens a pull request. If there is an open one already, it returns that one, with existed.
func (r *Repository) Create(ctx context.Context, n pullrequest.NewRequest) (pullrequest.Request, bool, error) {
	var (
		op      = operation{act: fmt.Sprintf("open a pull request from %q into %q", n.Head, n.Base), need: writePulls}
		created pullrequest.Request
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
			// It may be too new for the list, so this is retried like a creation of unknown outcome.
			return &Error{Kind: Invalid, Status: status(err), Message: "GitHub reports one, but lists none", maybeDone: true, moved: true}
		case says(err, "no commits between"), complains(err, "head", "invalid"), complains(err, "base", "invalid"):
			return withMoved(r.explain(op, err), true)
		}
		return err
	}, find)
	return created, existed, err
}

func (r *Repository) find(ctx context.Context, head, base string) (*pullrequest.Request, error) {
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

// Edit sets the title and the body of a pull request. The error is giterror.ErrConflict if it is not open.
func (r *Repository) Edit(ctx context.Context, number int, title, body string) error {
	return r.edit(ctx, fmt.Sprintf("update pull request #%d", number), number,
		&gh.PullRequest{Title: ptr(title), Body: ptr(body)}, pullrequest.Open)
}

// Close closes a pull request and sets its body. The error is giterror.ErrConflict if it is merged.
func (r *Repository) Close(ctx context.Context, number int, body string) error {
	return r.edit(ctx, fmt.Sprintf("close pull request #%d", number), number,
		&gh.PullRequest{State: ptr("closed"), Body: ptr(body)}, pullrequest.Closed)
}

func (r *Repository) edit(ctx context.Context, act string, number int, change *gh.PullRequest, want pullrequest.State) error {
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

const writeBoth = "contents: write and pull requests: write"

// AutoMerge merges a pull request when its requirements are met, possibly at once. The error is giterror.ErrConflict if its
// head is another commit. The note is for people; it may be empty.
func (r *Repository) AutoMerge(ctx context.Context, number int, headCommit string) (merged bool, note string, err error) {
	op := operation{act: fmt.Sprintf("auto-merge pull request #%d", number), need: writeBoth}
	p, err := r.settled(ctx, op, number, headCommit)
	if err != nil {
		return false, "", err
	}
	if p.GetMerged() {
		return true, "", nil
	}
	method, err := r.mergeMethod(ctx)
	if err != nil {
		return false, "", err
	}
	ready := slices.Contains([]string{"clean", "unstable", "has_hooks"}, p.GetMergeableState())
	if !ready && p.AutoMerge == nil {
		err = r.enableAutoMerge(ctx, op, p, method)
		ready = errors.Is(err, errReady)
	}
	if ready {
		merged, err = true, r.merge(ctx, op, p, method)
	}
	if err != nil {
		return false, "", err
	}
	return merged, r.actionsNote(number, merged), nil
}

// actionsNote warns that a merge with GITHUB_TOKEN starts no workflow.
func (r *Repository) actionsNote(number int, merged bool) string {
	if !r.client.actionsToken {
		return ""
	}
	will := "will start"
	if merged {
		will = "starts"
	}
	return fmt.Sprintf("the merge of #%d %s no workflow, because it uses GITHUB_TOKEN; use a GitHub App if a workflow waits for it", number, will)
}

// settled reads a pull request until it has the commit and its merge state, which take some seconds after a push.
func (r *Repository) settled(ctx context.Context, op operation, number int, headCommit string) (*gh.PullRequest, error) {
	for _, delay := range append(retryDelays(), 0) {
		p, _, err := r.client.api.PullRequests.Get(ctx, r.owner, r.name, number)
		switch {
		case err != nil:
			return nil, r.explain(operation{act: fmt.Sprintf("read pull request #%d", number), need: "pull requests: read"}, err)
		case p.GetMerged():
			return p, nil
		case p.GetState() != "open":
			return nil, r.explain(op, &Error{Kind: Invalid, Message: "it is closed", moved: true})
		case p.GetHead().GetSHA() == headCommit && (p.GetMergeableState() != "unknown" || delay == 0):
			return p, nil
		case delay == 0:
			continue
		}
		if err := r.client.wire.Sleep(ctx, delay); err != nil {
			return nil, err
		}
	}
	return nil, r.explain(op, &Error{Kind: Invalid, Message: "its head is another commit", moved: true})
}

// mergeMethod returns the method to merge with: a merge commit if the repository allows it, because squashing and rebasing
// may drop the trailers.
func (r *Repository) mergeMethod(ctx context.Context) (string, error) {
	about, err := r.about(ctx)
	switch {
	case err != nil:
		return "", err
	case about.AllowMergeCommit == nil, about.GetAllowMergeCommit(): // visible only with write access
		return "merge", nil
	case about.GetAllowSquashMerge():
		return "squash", nil
	case about.GetAllowRebaseMerge():
		return "rebase", nil
	}
	return "merge", nil
}

// errReady is GitHub's refusal of auto-merge for a pull request that can be merged at once.
var errReady = errors.New("it is ready to be merged")

const (
	enableMutation = `mutation($id: ID!, $method: PullRequestMergeMethod!, $head: GitObjectID!) {
  enablePullRequestAutoMerge(input: {pullRequestId: $id, mergeMethod: $method, expectedHeadOid: $head}) { clientMutationId }
}`
	disableMutation = `mutation($id: ID!) {
  disablePullRequestAutoMerge(input: {pullRequestId: $id}) { clientMutationId }
}`
)

func (r *Repository) enableAutoMerge(ctx context.Context, op operation, p *gh.PullRequest, method string) error {
	err := r.ask(ctx, op, enableMutation, map[string]any{
		"id": p.GetNodeID(), "method": strings.ToUpper(method), "head": p.GetHead().GetSHA(),
	}, nil)
	var e *Error
	if !errors.As(err, &e) || e.Kind != Invalid {
		return err
	}
	said := strings.ToLower(e.Message)
	switch {
	case strings.Contains(said, "in clean status"), strings.Contains(said, "in unstable status"),
		strings.Contains(said, "protected branch rules not configured"):
		return errReady
	case strings.Contains(said, "auto merge is not allowed"), strings.Contains(said, "auto-merge is not allowed"):
		e.Hint = "tick “Allow auto-merge” in the settings of the repository"
	case strings.Contains(said, "draft"):
		e.Hint = "a draft cannot be merged: mark it as ready for review"
	}
	return e
}

// KeepOpen turns off auto-merge; it is not an error if it is off.
func (r *Repository) KeepOpen(ctx context.Context, number int) error {
	op := operation{act: fmt.Sprintf("turn off auto-merge of pull request #%d", number), need: writeBoth}
	p, _, err := r.client.api.PullRequests.Get(ctx, r.owner, r.name, number)
	if err != nil || p.AutoMerge == nil {
		return r.explain(op, err)
	}
	return r.ask(ctx, op, disableMutation, map[string]any{"id": p.GetNodeID()}, nil)
}

// merge merges a pull request now, with retries if the base was modified meanwhile.
func (r *Repository) merge(ctx context.Context, op operation, p *gh.PullRequest, method string) error {
	var err error
	for _, delay := range append(retryDelays(), 0) {
		_, _, err = r.client.api.PullRequests.Merge(ctx, r.owner, r.name, p.GetNumber(), "", &gh.PullRequestOptions{
			SHA: p.GetHead().GetSHA(), MergeMethod: method,
		})
		if status(err) != http.StatusMethodNotAllowed || !says(err, "base branch was modified") || delay == 0 {
			break
		}
		if err := r.client.wire.Sleep(ctx, delay); err != nil {
			return err
		}
	}
	switch status(err) {
	case http.StatusMethodNotAllowed:
		return r.mergedAfterAll(ctx, op, p, err)
	case http.StatusConflict:
		return withMoved(r.explain(op, err), true)
	}
	return r.explain(op, err)
}

// mergedAfterAll ignores a refusal if the pull request is merged, by an earlier attempt or somebody else.
func (r *Repository) mergedAfterAll(ctx context.Context, op operation, p *gh.PullRequest, refused error) error {
	now, _, err := r.client.api.PullRequests.Get(ctx, r.owner, r.name, p.GetNumber())
	switch {
	case err != nil:
		return r.explain(op, err)
	case stateOf(now) == pullrequest.Merged:
		return nil
	}
	return r.explain(op, refused)
}

// RequestReviews requests reviews of people ("name") and teams ("owner/team").
func (r *Repository) RequestReviews(ctx context.Context, number int, reviewers []string) error {
	op := operation{act: fmt.Sprintf("request reviews of #%d from %s", number, strings.Join(reviewers, ", ")), need: writePulls}
	var request gh.ReviewersRequest
	for _, reviewer := range reviewers {
		owner, team, isTeam := strings.Cut(strings.TrimPrefix(reviewer, "@"), "/")
		switch {
		case !isTeam:
			request.Reviewers = append(request.Reviewers, owner)
		case !strings.EqualFold(owner, r.owner):
			return r.explain(op, &Error{
				Kind: Invalid, Message: fmt.Sprintf("the team %q is not of the organization %s, which owns the repository", reviewer, r.owner),
			})
		default:
			request.TeamReviewers = append(request.TeamReviewers, team)
		}
	}
	_, _, err := r.client.api.PullRequests.RequestReviewers(mayRepeat(ctx), r.owner, r.name, number, request)
	if len(request.TeamReviewers) == 0 || status(err) == 0 {
		return r.explain(op, err)
	}
	return r.explainTeams(op, err)
}

// explainTeams adds the permission for teams, which GitHub's answer does not mention.
func (r *Repository) explainTeams(op operation, err error) error {
	const both = "pull requests: write and members: read"
	explained := r.explain(operation{act: op.act, need: both}, err)
	var e *Error
	if !errors.As(explained, &e) {
		return explained
	}
	switch e.Status {
	case http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity:
		e.Permission = both
		e.Hint = "a team must have access to the repository, and to request its review the token needs the permissions " +
			`"pull requests: write" and, of the organization, "members: read", which GITHUB_TOKEN cannot have`
	}
	return e
}

// Assign adds assignees. GitHub silently ignores people whom it cannot assign, which is an error here.
func (r *Repository) Assign(ctx context.Context, number int, people []string) error {
	op := operation{act: fmt.Sprintf("assign #%d to %s", number, strings.Join(people, ", ")), need: writePulls}
	issue, _, err := r.client.api.Issues.AddAssignees(mayRepeat(ctx), r.owner, r.name, number, people)
	if err != nil {
		return r.explain(op, err)
	}
	missing := slices.DeleteFunc(slices.Clone(people), func(person string) bool {
		return slices.ContainsFunc(issue.Assignees, func(u *gh.User) bool {
			return strings.EqualFold(u.GetLogin(), strings.TrimPrefix(person, "@"))
		})
	})
	if len(missing) > 0 {
		return r.explain(op, &Error{
			Kind: Invalid, Message: "GitHub does not assign " + strings.Join(missing, ", "),
			Hint: "only people with access to the repository can be assigned, ten at most; and the token needs " + fmt.Sprintf("%q", writePulls),
		})
	}
	return nil
}
