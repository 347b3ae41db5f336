package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v53/github"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

const writeBoth = "contents: write and pull requests: write"

// AutoMerge merges a pull request as soon as its requirements are met: at once if they are, and only if its
// head is still the commit given; else it is remote.ErrMoved. The note is for people; it may be empty.
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

// actionsNote warns of what GitHub does not do for its own token.
func (r *Repository) actionsNote(number int, merged bool) string {
	if !r.client.actionsToken {
		return ""
	}
	will := "will start"
	if merged {
		will = "starts"
	}
	return fmt.Sprintf("the merge of #%d %s no workflow, as it is done with GITHUB_TOKEN; use a GitHub App if one waits for it", number, will)
}

// settled reads a pull request until it shows the commit given, and GitHub knows whether that can be merged. Both
// take it a while after a push.
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

// mergeMethod chooses how to merge: with a merge commit if the repository allows that, as squashing and rebasing
// may drop the trailers that say where a change is from.
func (r *Repository) mergeMethod(ctx context.Context) (string, error) {
	about, err := r.about(ctx)
	switch {
	case err != nil:
		return "", err
	case about.AllowMergeCommit == nil, about.GetAllowMergeCommit(): // hidden from those who may not push
		return "merge", nil
	case about.GetAllowSquashMerge():
		return "squash", nil
	case about.GetAllowRebaseMerge():
		return "rebase", nil
	}
	return "merge", nil
}

// errReady is GitHub's refusal to wait with a merge that could be done at once.
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

// KeepOpen turns off auto-merge, unless the pull request is merged already; it succeeds if auto-merge is off.
func (r *Repository) KeepOpen(ctx context.Context, number int) error {
	op := operation{act: fmt.Sprintf("turn off auto-merge of pull request #%d", number), need: writeBoth}
	p, _, err := r.client.api.PullRequests.Get(ctx, r.owner, r.name, number)
	if err != nil || p.AutoMerge == nil {
		return r.explain(op, err)
	}
	return r.ask(ctx, op, disableMutation, map[string]any{"id": p.GetNodeID()}, nil)
}

// merge merges a pull request now. That the base moved meanwhile is tried again, as often as there are delays.
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

// mergedAfterAll forgives a refusal to merge what was merged by an earlier try, or by somebody else.
func (r *Repository) mergedAfterAll(ctx context.Context, op operation, p *gh.PullRequest, refused error) error {
	now, _, err := r.client.api.PullRequests.Get(ctx, r.owner, r.name, p.GetNumber())
	switch {
	case err != nil:
		return r.explain(op, err)
	case stateOf(now) == gitops.PullRequestMerged:
		return nil
	}
	return r.explain(op, refused)
}
