package render

import (
	"context"
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Most runs of a schedule find nothing new. Then nothing needs to be compiled: the commit that was made
// last says what it was made of, and each repository is only asked where its branches are.

// mustRecompile reports whether the last output says too little about what this run would make.
func (o *Options) mustRecompile(version string) bool {
	builtByHand := version == "devel" || strings.Contains(version, "dirty") // others of that name may do other things
	return o.recompile || builtByHand || o.Format != results.Text || o.Base != "" || o.Worktree || o.IgnoreKustomization ||
		len(o.TenantLimits) > 0 || o.direct || o.Force || o.reopen || o.exitCode || o.saveBody != ""
}

// nothingNew reports whether an environment is at all of its destinations what it would be if it were
// compiled now, and prints that. If that is uncertain, it returns false: an output with held registrations
// differs from the result of its sources.
func (s *Publisher) nothingNew(ctx context.Context, opts *publishing, environment *model.Environment) bool {
	name := environment.Name.Value
	destinations := s.Destinations[name]
	if opts.recompile || len(destinations) == 0 || s.Result(environment) != nil {
		return false
	}
	s.Begin("looking for changes of " + name)
	var made []message.Provenance
	standing := &session.Result{Compiled: &session.Compiled{Environment: environment}}
	for _, destination := range destinations {
		latest, err := destination.Latest(ctx)
		if err != nil || latest == nil || latest.Version != s.Build.Version || len(latest.Held) > 0 {
			return false
		}
		request, settled := s.settled(ctx, opts, destination, latest)
		if !settled {
			return false
		}
		standing.Changes = append(standing.Changes, newStanding(destination, latest, request))
		made = append(made, latest.Provenance)
	}
	if !gitops.SourcesUnchanged(ctx, s.Loader, environment, made...) || ctx.Err() != nil {
		return false
	}
	s.Results, s.Listed = append(s.Results, standing), true
	return true
}

// settled reports whether the pull request of a destination is as it should be. It returns the open one.
func (s *Publisher) settled(ctx context.Context, opts *publishing, destination *gitops.Destination, latest *gitops.Latest) (request *pullrequest.Request, ok bool) {
	forge, err := s.Forge(ctx, destination)
	if err != nil {
		return nil, false
	}
	if forge.Repo == nil { // nothing says what was proposed there but the commit itself, which anybody may have changed
		return nil, !latest.Proposed
	}
	open, err := s.OpenPulls(ctx, destination, forge)
	if err != nil {
		return nil, false
	}
	return destination.Settled(*latest, opts.flags.Request(destination.Repo.Publishing.PullRequest), open)
}

// newStanding is the result for a destination at which nothing is new.
func newStanding(destination *gitops.Destination, latest *gitops.Latest, request *pullrequest.Request) *session.Change {
	r := &session.Change{
		GitOpsRepo: destination.Repo.Name.Value, Targets: []change.TargetChange{}, Files: []change.FileChange{}, Change: &change.Change{},
		Published: &session.Published{Repo: destination.At},
	}
	if !latest.Proposed {
		r.Published.Notes = []string{fmt.Sprintf("nothing is new: %s holds what %.12s published", destination.Branch, latest.Commit)}
		return r
	}
	r.Waiting = true
	if latest.Plan != (change.Plan{}) {
		r.Plan = results.NewPlan(latest.Plan)
	}
	r.Published.Branch, r.Published.Commit = destination.Head, latest.Commit
	r.Published.Notes = []string{fmt.Sprintf("nothing is new: %.12s waits on %s to be merged", latest.Commit, destination.Head)}
	if request != nil {
		r.Published.PullRequest = results.NewPullRequest(*request, pullrequest.Unchanged)
	}
	return r
}
