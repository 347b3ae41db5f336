package session

import (
	"cmp"
	"context"
	"io/fs"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/quarantine"
)

// maxQuarantines is how often an environment is compiled again to put what is broken into quarantine. Once is not enough,
// because one broken registration can hide another.
const maxQuarantines = 10

// quarantineBroken compiles an environment that has errors once more, with the registrations that cause them in
// quarantine, until no error is left. If one is left that is the fault of none of them, the environment fails,
// and everything that was found is reported.
func (s *Session) quarantineBroken(ctx context.Context, first *Compiled, directory fs.FS) *Compiled {
	s.Begin("reading the last publication of " + first.Environment.Name.Value)
	published, ok := s.lastPublished(ctx, first)
	if !ok {
		return first
	}
	set, out := quarantine.New(published...), first
	first.Tree = nil // release it, because it is large
	for range maxQuarantines {
		if ctx.Err() != nil || !set.Add(out.Fleet, out.Assignments, out.Diags) {
			break
		}
		out = s.compileWith(ctx, set, first, directory)
		if !out.Diags.HasErrors() {
			return s.release(ctx, set, out, directory)
		}
	}
	if out != first {
		first.Diags.Add(out.Diags.Only(diag.Error))
	}
	return first
}

// release compiles an environment once more without the quarantine of those that only others have collided with, and
// notes what stays in quarantine.
func (s *Session) release(ctx context.Context, set *quarantine.Set, out *Compiled, directory fs.FS) *Compiled {
	var trial *Compiled
	rest := set.Release(func(q *quarantine.Set) bool {
		trial = nil // release it, because it is large
		trial = s.compileWith(ctx, q, out, directory)
		return ctx.Err() == nil && !trial.Diags.HasErrors()
	})
	if rest != set {
		out = trial
	}
	out.Held = held{rest.Registrations(), rest.Origins(out.Fleet), rest.Diagnostics()}
	if s.Quarantine.Tolerant {
		out.Diags.Add(tolerated(out.Held.Diags, rest.Complete()))
		out.Held.Diags = nil
	}
	return out
}

// tolerated turns the errors of registrations in quarantine into warnings. If the last publication is not known
// completely, an error in the platform's files stays an error, because nothing proves that a registration caused it.
func tolerated(diags diag.List, complete bool) diag.List {
	for i, d := range diags {
		if d.Severity == diag.Error && (complete || len(d.Concerns) == 0) {
			diags[i].Severity = diag.Warning
		}
	}
	return diags
}

// compileWith compiles an environment with some registrations in quarantine.
func (s *Session) compileWith(ctx context.Context, set *quarantine.Set, first *Compiled, directory fs.FS) *Compiled {
	s.Begin("compiling " + first.Environment.Name.Value + " with quarantine")
	out := s.Line(ctx, first.Environment, Stages{directory: directory, pins: set.Pins()})
	if out.Tree == nil {
		return out
	}
	out.Tree.Partial = set.LeavesOut()
	s.compareOwners(ctx, set, out, directory)
	return out
}

// compareOwners reports conflicts of an environment without errors with the published targets of other registrations.
// set is nil if nothing is in quarantine.
func (s *Session) compareOwners(ctx context.Context, set *quarantine.Set, out *Compiled, directory fs.FS) {
	if s.Quarantine.Tolerant || !s.Quarantine.Comparing && !set.LeavesOut() || out.Tree == nil || out.Diags.HasErrors() || ctx.Err() != nil {
		return
	}
	s.Begin("comparing " + out.Environment.Name.Value + " with the published output")
	for _, destination := range s.open(ctx, out) {
		deployed, diags := quarantine.Deployed{Tree: directory}, destination.Diags
		if directory == nil && len(diags) == 0 {
			output := gitops.ReadOutput(ctx, s.Reader, destination.Repo)
			deployed.Tree, diags = output.Tree, output.Diags
		}
		if ctx.Err() != nil { // the run reports the interruption
			out.Diags.Add(diags)
			return
		}
		if deployed.Tree == nil || len(destination.Diags) > 0 {
			continue // nothing is published, or a later step reports why it cannot be read
		}
		var err error
		if deployed.Made, err = destination.LastPublished(ctx, out.Environment.Name.Value); err != nil {
			out.Report(destination, err)
			return
		}
		out.Diags.Add(quarantine.PathConflicts(ctx, s.Loader, set, out.Fleet, out.Tree, deployed))
		if s.Quarantine.KeepLastGood && s.Quarantine.Comparing && !s.Quarantine.AllowDeletions {
			out.Diags.Add(quarantine.Deletions(ctx, s.Loader, set, out.Fleet, out.Tree, deployed))
		}
	}
}

// open returns the GitOps branches of an environment, in order of name.
func (s *Session) open(ctx context.Context, of *Compiled) []*gitops.Destination {
	destinations := slices.Clone(s.Destinations[of.Environment.Name.Value])
	if len(destinations) == 0 {
		destinations = gitops.OpenDestinations(ctx, s.Loader, of.Environment, "")
	}
	slices.SortFunc(destinations, func(a, b *gitops.Destination) int {
		return cmp.Compare(a.Repo.Name.Value, b.Repo.Name.Value)
	})
	return destinations
}

// lastPublished returns the provenance of the last publication of an environment in each of its GitOps repositories. It
// returns false and reports the reason if it cannot be determined.
func (s *Session) lastPublished(ctx context.Context, of *Compiled) ([]*message.Provenance, bool) {
	var published []*message.Provenance
	for _, destination := range s.open(ctx, of) {
		if len(destination.Diags) > 0 {
			continue // nothing is published there; the run reports the reason
		}
		provenance, err := destination.LastPublished(ctx, of.Environment.Name.Value)
		if err != nil {
			of.Report(destination, err)
			return nil, false
		}
		published = append(published, provenance)
	}
	return published, true
}

// holds reports whether something is in quarantine in any environment.
func (s *Session) holds() bool {
	return slices.ContainsFunc(s.Results, func(r *Result) bool { return len(r.Held.Registrations) > 0 })
}

// heldSummary describes the result for everything that is not in quarantine.
func (s *Session) heldSummary() string {
	switch {
	case slices.ContainsFunc(s.Results, func(r *Result) bool { return r.Directory != "" }):
		return "everything else was written"
	case slices.ContainsFunc(s.changes(), func(c *Change) bool { return c.Published != nil }):
		return "everything else was published"
	default:
		return "everything else would be published"
	}
}
