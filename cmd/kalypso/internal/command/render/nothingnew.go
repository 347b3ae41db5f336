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

// Most scheduled runs find no changes. Then nothing is compiled: the last published commit names its sources, and
// kalypso only lists the refs of each repository.

// mustRecompile reports whether the last published commit cannot prove that this run changes nothing.
func (o *Options) mustRecompile(version string) bool {
	builtByHand := version == "devel" || strings.Contains(version, "dirty") // builds of the same version may differ
	return o.recompile || builtByHand || o.Format != results.Text || o.Base != "" || o.Worktree || o.IgnoreKustomization ||
		len(o.TenantLimits) > 0 || o.direct || o.Force || o.reopen || o.exitCode || o.saveBody != ""
}

// nothingNew reports whether all destinations of an environment are up to date, and then adds their results. It returns
// false if this is uncertain: an output with quarantined registrations differs from the result of its sources.
func (s *Publisher) nothingNew(ctx context.Context, opts *publishing, environment *model.Environment) bool {
	name := environment.Name.Value
	destinations := s.Destinations[name]
	if opts.recompile || len(destinations) == 0 || s.Result(environment) != nil {
		return false
	}
	s.Begin("looking for changes of " + name)
	var made []message.Provenance
	unchanged := &session.Result{Compiled: &session.Compiled{Environment: environment}}
	for _, destination := range destinations {
		latest, err := destination.Latest(ctx)
		if err != nil || latest == nil || latest.Version != s.Build.Version || len(latest.Quarantined) > 0 {
			return false
		}
		sign := opts.options.Key != nil || destination.Repo.Publishing.Commit.Signing.Value == model.SigningRequired
		if sign && latest.Proposed && !latest.Signed {
			return false
		}
		request, settled := s.settled(ctx, opts, destination, latest)
		if !settled {
			return false
		}
		unchanged.Changes = append(unchanged.Changes, newUnchanged(destination, latest, request))
		made = append(made, latest.Provenance)
	}
	if !gitops.SourcesUnchanged(ctx, s.Loader, environment, made...) || ctx.Err() != nil {
		return false
	}
	s.Results, s.Listed = append(s.Results, unchanged), true
	return true
}

// settled reports whether the pull request of a destination needs no change. It returns the open one.
func (s *Publisher) settled(ctx context.Context, opts *publishing, destination *gitops.Destination, latest *gitops.Latest) (request *pullrequest.Request, ok bool) {
	forge, err := s.Forge(ctx, destination)
	if err != nil {
		return nil, false
	}
	if forge.Repo == nil { // without an API only the commit records what was proposed, and anybody may have changed it
		return nil, !latest.Proposed
	}
	open, err := s.OpenPulls(ctx, destination, forge)
	if err != nil {
		return nil, false
	}
	return destination.Settled(*latest, opts.flags.Request(destination.Repo.Publishing.PullRequest), open)
}

// newUnchanged is the result for a destination without changes.
func newUnchanged(destination *gitops.Destination, latest *gitops.Latest, request *pullrequest.Request) *session.Change {
	r := &session.Change{
		GitOpsRepo: destination.Repo.Name.Value, Targets: []change.TargetChange{}, Files: []change.FileChange{}, Change: &change.Change{},
		Published: &session.Published{Repo: destination.At},
	}
	if !latest.Proposed {
		if p := latest.Plan; p != (change.Plan{}) {
			r.Plan = results.NewPlan(change.Plan{Assignments: p.Assignments, Targets: p.Targets, ClusterTypes: p.ClusterTypes, Unchanged: p.Assignments})
		}
		r.Published.Notes = []string{fmt.Sprintf("no changes since %.12s on %s", latest.Commit, destination.Branch)}
		return r
	}
	r.Waiting = true
	if latest.Plan != (change.Plan{}) {
		r.Plan = results.NewPlan(latest.Plan)
	}
	r.Published.Branch, r.Published.Commit = destination.Head, latest.Commit
	r.Published.Notes = []string{fmt.Sprintf("no changes since %.12s, which waits on %s for its merge", latest.Commit, destination.Head)}
	if request != nil {
		r.Published.PullRequest = results.NewPullRequest(*request, pullrequest.Unchanged)
	}
	return r
}
