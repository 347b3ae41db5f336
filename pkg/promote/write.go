package promote

import (
	"cmp"
	"context"
	"fmt"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
)

// headBranch is the branch that a promotion is proposed from: the one that the environment names, else promotion/stage.
func (s *step) headBranch() string {
	return cmp.Or(s.Environment.Publishing().PullRequest.Branch.Value, "promotion/"+s.Environment.Name.Value)
}

// write pushes the commit, or proposes it.
func (s *step) write(ctx context.Context) error {
	if s.out.Action == ActionUnchanged {
		return s.withdraw(ctx)
	}
	s.out.Diags.Add(s.Environment.Publishing().Commit.Unsigned(s.Key != nil, s.DryRun))
	if s.DryRun {
		s.out.Action = s.intended()
		return nil
	}
	if s.out.Diags.HasErrors() {
		return nil
	}
	committed, err := s.branch.Commit(ctx, gitops.Edit{
		Files: s.files, Message: message.PromotionCommit(s.promotion()), Newest: s.newest,
		Author: s.Author, Key: s.Key, Force: s.Force, Declined: s.declined, Forge: s.Forge,
	})
	if err != nil {
		return err
	}
	if committed.Pushed {
		s.out.Pushed, s.out.PushedTo = committed.Commit, committed.Branch
	}
	if s.branch.Clone {
		note := fmt.Sprintf("%s is a clone: push its branch %s", s.out.Repo, committed.Branch)
		if s.branch.Origin != "" {
			note += " to " + s.branch.Origin
		}
		s.out.Notes = append(s.out.Notes, note)
	}
	if s.PullRequest {
		if err := s.propose(ctx, committed); err != nil {
			return err
		}
	}
	s.out.Action = s.intended()
	if s.out.Newer && s.out.Action == ActionPromoted {
		s.reverted = s.out.From
	}
	if s.out.Request != nil && s.out.Request.Action == pullrequest.Declined {
		s.out.Action = ActionDeclined
	}
	return nil
}

func (s *step) intended() Action {
	if s.PullRequest {
		return ActionProposed
	}
	return ActionPromoted
}

func (s *step) promotion() message.Promotion {
	return message.Promotion{Environment: s.Environment.Name.Value, Before: s.out.From, Rollback: s.out.Newer, Commit: s.out.Commit, Version: s.Version}
}

// propose makes the pull request what it should be.
func (s *step) propose(ctx context.Context, committed gitops.Committed) error {
	if s.Forge == nil {
		s.out.Notes = append(s.out.Notes, fmt.Sprintf("%s is not on a supported forge, or no token is set for it: open a pull request from %s into %s",
			s.out.Repo, committed.Branch, s.out.Branch))
		return nil
	}
	result, err := pullrequest.Submit(ctx, s.Forge, s.submission(committed))
	s.out.Request = &result
	if err != nil {
		return fmt.Errorf("submit the pull request: %w", err)
	}
	return nil
}

// withdraw closes a pull request that proposes what the environment has, or something older: it was promoted in
// another way, and merging would take it back.
func (s *step) withdraw(ctx context.Context) error {
	if !s.PullRequest || s.Forge == nil || s.DryRun {
		return nil
	}
	proposed, ok, err := s.branch.Proposed(ctx, s.Environment.Name.Value)
	if err != nil || !ok || proposed.Rollback {
		return err
	}
	if proposed.Commit != s.out.From {
		relation, err := s.Relation(ctx, proposed.Commit, s.out.From)
		if err != nil || relation != gitobject.Newer {
			return err
		}
	}
	closed, err := pullrequest.Withdraw(ctx, s.Forge, pullrequest.Withdrawal{
		Environment: s.Environment.Name.Value, Head: s.branch.Head, Base: s.out.Branch, HeadCommit: s.branch.HeadTip(),
		Why: fmt.Sprintf("Closed because %s has %.12s now.", s.Environment.Name.Value, s.out.From),
	})
	for _, pull := range closed {
		s.out.Notes = append(s.out.Notes, fmt.Sprintf("closed pull request #%d, which proposes %.12s", pull.Number, proposed.Commit))
	}
	if err != nil {
		return fmt.Errorf("close the pull request: %w", err)
	}
	return nil
}

// submission is what the pull request should be.
func (s *step) submission(committed gitops.Committed) pullrequest.Submission {
	return pullrequest.Submission{
		Environment: s.Environment.Name.Value, Head: committed.Branch, Base: s.out.Branch,
		HeadCommit: committed.Commit, Tree: committed.Tree,
		Title: cmp.Or(s.Environment.Publishing().PullRequest.Title.Value, message.PromotionSubject(s.promotion())), Body: s.body(),
		Promoted: true, Options: s.PullRequestOptions,
	}
}

// declined reports whether a person has closed the pull request for a tree. If none has, that is made ready for its
// branch to be pushed.
func (s *step) declined(ctx context.Context, tree string) (bool, error) {
	if s.Forge == nil {
		return false, nil
	}
	closed, err := pullrequest.Prepare(ctx, s.Forge, s.submission(gitops.Committed{Branch: s.branch.Head, Tree: tree}))
	if err != nil {
		return false, fmt.Errorf("prepare the pull request: %w", err)
	}
	return closed != nil, nil
}

// body is the text of the pull request.
func (s *step) body() string {
	name := s.Environment.Name.Value
	if s.out.From == "" {
		return fmt.Sprintf("Promotes commit %[2]s to %[1]s. Nothing was promoted to it before.\n", name, s.out.Commit)
	}
	return fmt.Sprintf("Promotes %s from commit %s to %s.\n", name, s.out.From, s.out.Commit)
}

// report sets the status of the commit. One that the environment has already keeps its status, unless it has none:
// then an earlier run was stopped before it could set it.
func (s *step) report(ctx context.Context) error {
	if s.DryRun || s.out.Action == ActionUnchanged && s.out.Newer {
		return nil
	}
	if s.Statuses == nil {
		if len(s.Deployed) == 0 { // else the check has said so
			s.out.Notes = append(s.out.Notes, "no status is set on the commit: "+s.NoStatuses)
		}
		return nil
	}
	text := statusText{s.Environment.Name.Value, s.Reporting}
	status := text.promoted()
	known, found := find(s.statuses, s.Environment.Name.Value)
	switch s.out.Action {
	case ActionUnchanged:
		unfinished, err := s.unfinished(ctx)
		if err != nil || found && !unfinished && !known.isPassed() {
			return err
		}
	case ActionProposed:
		status = text.inPullRequest(StatusPending, descriptionProposed, s.requestNumber())
	case ActionDeclined:
		status = text.inPullRequest(StatusError, descriptionDeclined, s.requestNumber())
	}
	if found && s.out.Action != ActionPromoted && known.Description == status.Description {
		return s.reportRollback(ctx, text)
	}
	if err := s.Statuses.SetStatus(ctx, s.out.Commit, status); err != nil {
		return fmt.Errorf("%w (%s; run again to set the status of the commit)", err, s.reached())
	}
	s.out.Status = &status
	return s.reportRollback(ctx, text)
}

// reached describes a promotion whose status could not be set.
func (s *step) reached() string {
	switch s.out.Action {
	case ActionProposed, ActionDeclined:
		return fmt.Sprintf("it is %s for %s", s.out.Action, s.Environment.Name.Value)
	default:
		return s.Environment.Name.Value + " has the commit"
	}
}

func (s *step) requestNumber() int {
	if s.out.Request == nil {
		return 0
	}
	return s.out.Request.PullRequest.Number
}

// reportRollback sets the status of the newer commit that was rolled back. It no longer counts as deployed, and no check
// promotes it to the environment again. It is the last step of a rollback, so that the next run sees one that was stopped.
func (s *step) reportRollback(ctx context.Context, text statusText) error {
	if s.reverted == "" {
		return nil
	}
	status := text.rolledBack(s.out.Commit)
	if err := s.Statuses.SetStatus(ctx, s.reverted, status); err != nil {
		return fmt.Errorf("%w (%s; run again to set the status of %.12s, which was rolled back)", err, s.reached(), s.reverted)
	}
	s.out.Notes = append(s.out.Notes, fmt.Sprintf("set the status of %.12s: %s", s.reverted, status.Description))
	return nil
}

// unfinished reports whether an earlier run was stopped between rolling the environment back and setting the status of the
// reverted commit.
func (s *step) unfinished(ctx context.Context) (bool, error) {
	last, ok := s.branch.Promotion()
	if !ok || !last.Rollback || last.Environment != s.Environment.Name.Value || last.Commit != s.out.Commit {
		return false, nil
	}
	statuses, err := s.Statuses.Statuses(ctx, last.Before)
	if err != nil {
		return false, err
	}
	if status, _ := find(statuses, s.out.Environment); status.isRolledBack() || status.isPassed() {
		return false, nil
	}
	s.reverted = last.Before
	return true, nil
}
