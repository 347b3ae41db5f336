package promote

import (
	"context"
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// HeadBranch is the branch that a promotion is proposed from: promotion/stage.
func HeadBranch(environment string) string { return "promotion/" + environment }

// write pushes the commit, or proposes it.
func (s *step) write(ctx context.Context) error {
	if s.out.Action == ActionUnchanged {
		return nil
	}
	if s.DryRun {
		s.out.Action = s.intended()
		return nil
	}
	committed, err := s.branch.Commit(ctx, gitops.Edit{
		Files: s.files, Message: gitops.PromotionMessage(s.promotion()), Newest: s.newest,
		Author: s.Author, Key: s.Key, Force: s.Force,
	})
	if err != nil {
		return err
	}
	if committed.Pushed {
		s.out.Pushed, s.out.PushedTo = committed.Commit, committed.Branch
	}
	if s.branch.Clone {
		s.out.Notes = append(s.out.Notes, fmt.Sprintf("%s is a clone: push %s to where it was cloned from, or give that with --control-plane",
			s.out.Repo, committed.Branch))
	}
	if s.PullRequest {
		if err := s.propose(ctx, committed); err != nil {
			return err
		}
	}
	s.out.Action = s.intended()
	return nil
}

func (s *step) intended() Action {
	if s.PullRequest {
		return ActionProposed
	}
	return ActionPromoted
}

func (s *step) promotion() gitops.Promotion {
	return gitops.Promotion{Environment: s.Environment.Name.Value, Before: s.out.From, Rollback: s.out.Newer, Commit: s.out.Commit, Version: s.Version}
}

// propose makes the pull request what it should be.
func (s *step) propose(ctx context.Context, committed gitops.Committed) error {
	if s.Forge == nil {
		s.out.Notes = append(s.out.Notes, fmt.Sprintf("%s is on no forge that kalypso knows, or there is no token for it: make a pull request from %s into %s",
			s.out.Repo, committed.Branch, s.out.Branch))
		return nil
	}
	submission := s.Submission
	submission.Environment, submission.Head, submission.Base = s.Environment.Name.Value, committed.Branch, s.out.Branch
	submission.HeadCommit, submission.Tree = committed.Commit, committed.Tree
	submission.Title = gitops.PromotionSubject(s.promotion())
	submission.Body = s.body()
	submission.Promoted = true
	result, err := gitops.Submit(ctx, s.Forge, submission)
	s.out.Request = &result
	if err != nil {
		return fmt.Errorf("submit the pull request: %w", err)
	}
	return nil
}

// body is the text of the pull request.
func (s *step) body() string {
	name := s.Environment.Name.Value
	if s.out.From == "" {
		return fmt.Sprintf("%s gets commit %s. Nothing was promoted to it before.\n", name, s.out.Commit)
	}
	return fmt.Sprintf("%s goes from commit %s to %s.\n", name, s.out.From, s.out.Commit)
}

// tell sets the status of the commit. One that the environment has already keeps what is said of it, unless nothing
// is: then a run before this one was stopped before it could say so.
func (s *step) tell(ctx context.Context) error {
	if s.DryRun || s.out.Action == ActionUnchanged && s.out.Newer {
		return nil
	}
	if s.Statuses == nil {
		if len(s.Deployed) == 0 { // else the check has said so
			s.out.Notes = append(s.out.Notes, "no status is set on the commit: "+s.NoStatuses)
		}
		return nil
	}
	words := words{environment: s.Environment.Name.Value, targetURL: s.TargetURL}
	status := words.promoted()
	switch known, found := find(s.statuses, s.Environment.Name.Value); {
	case s.out.Action == ActionUnchanged && found && !strings.HasPrefix(known.Description, descriptionProposed):
		return nil
	case s.out.Action == ActionProposed:
		status = words.proposed(s.requestNumber())
		if found && known.Description == status.Description {
			return nil
		}
	}
	if err := s.Statuses.SetStatus(ctx, s.out.Commit, status); err != nil {
		return fmt.Errorf("%w (%s has the commit; run again to set its status)", err, s.Environment.Name.Value)
	}
	s.out.Status = &status
	return s.supersede(ctx, words)
}

func (s *step) requestNumber() int {
	if s.out.Request == nil {
		return 0
	}
	return s.out.Request.PullRequest.Number
}

// supersede tells a newer commit that is taken back before it was deployed. Nothing else would: what is newer than
// the commit of a check is not looked at.
func (s *step) supersede(ctx context.Context, words words) error {
	if !s.out.Newer || s.out.Action != ActionPromoted {
		return nil
	}
	statuses, err := s.Statuses.Statuses(ctx, s.out.From)
	if err != nil {
		return err
	}
	if known, found := find(statuses, s.out.Environment); !found || known.State != StatusPending || isDeployed(known) {
		return nil
	}
	return s.Statuses.SetStatus(ctx, s.out.From, words.superseded(s.out.Commit))
}
