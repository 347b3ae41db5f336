package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// step is one promotion on its way.
type step struct {
	*Promoter
	Request
	out Outcome

	branch *gitops.Branch
	// source is the branch as it was read, and base the BaseRepo in it; nil for none.
	source *model.Source
	base   *model.BaseRepo
	// files are those that change.
	files    map[string][]byte
	newest   time.Time
	statuses []Status
	facts    facts
	// reverted is the newer commit that a rollback reverts; empty for none.
	reverted string
}

// Promote promotes a commit. What keeps it from being promoted is in the diagnostics of the outcome. The error wraps
// remote.ErrMoved if somebody was faster.
func (p *Promoter) Promote(ctx context.Context, r Request) (Outcome, error) {
	step := &step{Promoter: p, Request: r, out: Outcome{Environment: r.Environment.Name.Value, Action: ActionRefused, DryRun: r.DryRun}}
	err := step.run(ctx)
	return step.out, err
}

func (s *step) run(ctx context.Context) error {
	for _, part := range []func(context.Context) error{s.open, s.resolve, s.loops, s.compare, s.proposals, s.gates, s.decide, s.write, s.report} {
		if err := part(ctx); err != nil || s.out.Diags.HasErrors() {
			if s.out.Diags.HasErrors() {
				s.out.Action = ActionRefused
			}
			return err
		}
		if s.out.Action == ActionNotPromotable || s.out.Action == ActionWaiting {
			return nil
		}
	}
	return nil
}

// resolve finds the commit.
func (s *step) resolve(ctx context.Context) error {
	history, err := s.History(ctx)
	if err != nil {
		return err
	}
	s.out.Commit, s.facts.onBase = s.Commit, true
	if s.Commit == "" {
		s.out.Commit = history.Tip()
		return nil
	}
	if s.out.Commit, err = history.Resolve(ctx, s.Commit); err == nil {
		return nil
	}
	known, ok := errors.AsType[*giterror.Error](err)
	if !ok || known.Rule != giterror.RuleCommitNotFound {
		return err
	}
	if !giturl.IsFullCommit(s.Commit) {
		if s.Unmerged {
			known.Hint = "a commit that is not on the branch is given by its full id of 40 digits"
		}
		return known
	}
	s.out.Commit, s.facts.onBase = strings.ToLower(s.Commit), false
	if !s.Unmerged {
		return nil
	}
	ref := s.Loader.Main().Ref
	ref.Commit, ref.Branch = s.out.Commit, ""
	_, err = s.Reader.CommitChanges(ctx, ref) // the repository must have it
	return err
}

// compare finds out how the commit stands to what the environment has.
func (s *step) compare(ctx context.Context) error {
	s.facts.environment, s.facts.base = s.Environment, s.Loader.Main().Ref.Branch
	s.facts.commit, s.facts.current = s.out.Commit, s.out.From
	if s.base != nil {
		s.facts.currentAt = s.base.Commit.At
	}
	if s.out.From == "" || s.out.From == s.out.Commit {
		s.facts.currentOnBase = true
		return nil
	}
	history, err := s.History(ctx)
	if err != nil {
		return err
	}
	if s.facts.currentOnBase, err = history.Has(ctx, s.out.From); err != nil {
		return err
	}
	if !s.facts.currentOnBase {
		// It may just be newer than the branch that was read: taken for one that the branch has lost, it would be rolled back.
		if err := history.Refresh(ctx); err != nil {
			return err
		}
		if has, err := history.Has(ctx, s.out.From); err != nil || !has {
			return err
		}
		return fmt.Errorf("branch %q: %w", history.Branch(), remote.ErrMoved)
	}
	if !s.facts.onBase {
		return nil
	}
	s.facts.relation, err = history.Relation(ctx, s.out.From, s.out.Commit)
	s.out.Newer = s.facts.relation == gitobject.Older
	return err
}

// gates reads what the environments before say. A commit that is refused as it is anywhere else may not even be there to
// have statuses.
func (s *step) gates(ctx context.Context) error {
	if !s.facts.onBase && !s.Unmerged && s.out.From != s.out.Commit {
		return nil
	}
	if s.Statuses != nil {
		var err error
		if s.statuses, err = s.Statuses.Statuses(ctx, s.out.Commit); err != nil {
			return err
		}
	}
	own, _ := find(s.statuses, s.Environment.Name.Value)
	back := s.Rollback && own.hadIt() // then it came through these gates, whatever became of it elsewhere since
	for _, name := range s.Chain.Previous(s.Environment.Name.Value) {
		g := gate{environment: name, unknown: s.Statuses == nil}
		g.status, _ = find(s.statuses, name)
		g.untrusted, _ = findUntrusted(s.statuses, name)
		if g.unknown {
			g.status.Description = s.NoStatuses
		}
		g.open = back || slices.Contains(s.Deployed, name) || isDeployed(g.status)
		s.facts.gates = append(s.facts.gates, g)
	}
	return nil
}

// proposals finds out whether a newer commit waits in the pull request: a job that comes late must not put an older one
// in its place.
func (s *step) proposals(ctx context.Context) error {
	if s.branch.Head == "" || s.Forge == nil || !s.facts.onBase || s.out.From == s.out.Commit {
		return nil
	}
	proposed, ok, err := s.branch.Proposed(ctx, s.Environment.Name.Value)
	if err != nil || !ok || proposed.Rollback {
		return err
	}
	if relation, err := s.Relation(ctx, proposed.Commit, s.out.Commit); err != nil || relation != gitobject.Older {
		return err
	}
	open, err := s.Forge.Open(ctx, s.out.Branch)
	for _, pull := range open {
		if pull.Head == s.branch.Head {
			s.facts.proposed, s.facts.proposedIn = proposed.Commit, pull.Number
		}
	}
	return err
}

// settles reports whether all that speaks against going on from a deployed environment is what happens every day: other
// environments have to deploy the commit too, or there is a newer one.
func (s *step) settles(refusals diag.List) bool {
	if !refusals.HasErrors() {
		return false
	}
	if s.out.Newer {
		s.out.Action = ActionUnchanged
		return true
	}
	if s.facts.proposed != "" {
		s.out.Action = ActionNotPromotable
		s.out.Notes = append(s.out.Notes, fmt.Sprintf("pull request #%d proposes %.12s, which is newer", s.facts.proposedIn, s.facts.proposed))
		return true
	}
	if slices.ContainsFunc(refusals, func(d diag.Diagnostic) bool { return d.Severity == diag.Error && d.Rule != RuleGateClosed }) {
		return false
	}
	s.out.Action = ActionWaiting
	for _, d := range refusals {
		s.out.Notes = append(s.out.Notes, d.Message)
	}
	return true
}
