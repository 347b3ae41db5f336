package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// maxQuarantines is how often an environment is compiled again to put what is broken into quarantine. Once is not enough,
// because one broken registration can hide another.
const maxQuarantines = 10

// quarantineOptions says how a run treats registrations that are broken or that conflict with published targets of
// others. The zero value reports their errors.
type quarantineOptions struct {
	// keepLastGood puts such registrations into quarantine.
	keepLastGood bool
	// comparing compares the result with what is published before it counts as sound.
	comparing bool
	// allowDeletions allows one registration to remove most of the published targets.
	allowDeletions bool
	// tolerant turns the errors of such registrations into warnings, so that only the platform's errors fail the run.
	tolerant bool
}

// held is what --keep-last-good has put into quarantine in an environment; the zero value is nothing.
type held struct {
	registrations []gitops.HeldRegistration
	// origins are the commits of those that are not compiled, of which something may be published still.
	origins []gitops.Origin
	// diags are what is wrong with the registrations. They keep nothing from being published.
	diags diag.List
}

// quarantineBroken compiles an environment that has errors once more, with the registrations that cause them in
// quarantine, until no error is left. If a registration causes none of the errors that are left, the environment fails,
// and everything that was found is reported.
func (s *session) quarantineBroken(ctx context.Context, first *compiled, folder fs.FS) *compiled {
	s.begin("finding what was published last of " + first.environment.Name.Value)
	published, ok := s.lastPublished(ctx, first)
	if !ok {
		return first
	}
	quarantine, out := gitops.NewQuarantine(published...), first
	first.tree = nil // it is large, and of no use
	for range maxQuarantines {
		if ctx.Err() != nil || !quarantine.Add(out.fleet, out.assignments, out.diags) {
			break
		}
		out = s.compileWith(ctx, quarantine, first, folder)
		if !out.diags.HasErrors() {
			return s.release(ctx, quarantine, out, folder)
		}
	}
	if out != first {
		first.diags.Add(slices.DeleteFunc(out.diags, func(d diag.Diagnostic) bool { return d.Severity != diag.Error }))
	}
	return first
}

// release compiles an environment once more without the quarantine of those that only others have collided with, and
// notes what stays in quarantine.
func (s *session) release(ctx context.Context, quarantine *gitops.Quarantine, out *compiled, folder fs.FS) *compiled {
	var trial *compiled
	rest := quarantine.Release(func(q *gitops.Quarantine) bool {
		trial = nil // one of them is large enough
		trial = s.compileWith(ctx, q, out, folder)
		return ctx.Err() == nil && !trial.diags.HasErrors()
	})
	if rest != quarantine {
		out = trial
	}
	out.held = held{rest.Registrations(), rest.Origins(out.fleet), rest.Diagnostics()}
	if s.quarantine.tolerant {
		out.diags.Add(tolerated(out.held.diags, rest.Complete()))
		out.held.diags = nil
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
func (s *session) compileWith(ctx context.Context, quarantine *gitops.Quarantine, first *compiled, folder fs.FS) *compiled {
	s.begin("compiling " + first.environment.Name.Value + " without what is broken")
	out := &compiled{environment: first.environment}
	out.fleet, out.diags = s.compiler.loader.FleetAt(ctx, first.environment, s.compiler.names, quarantine.Pins())
	if out.fleet != nil && ctx.Err() == nil {
		s.compiler.render(ctx, out, folder)
	}
	if out.tree == nil {
		return out
	}
	out.tree.Partial = quarantine.LeavesOut()
	s.compareOwners(ctx, quarantine, out, folder)
	return out
}

// compareOwners reports conflicts of an environment without errors with the published targets of other registrations.
// quarantine is nil if nothing is in it.
func (s *session) compareOwners(ctx context.Context, quarantine *gitops.Quarantine, out *compiled, folder fs.FS) {
	if s.quarantine.tolerant || !s.quarantine.comparing && !quarantine.LeavesOut() || out.tree == nil || out.diags.HasErrors() || ctx.Err() != nil {
		return
	}
	s.begin("comparing " + out.environment.Name.Value + " with what is published")
	for _, destination := range s.open(ctx, out) {
		deployed, diags := gitops.Deployed{Tree: folder}, destination.Diags
		if folder == nil && len(diags) == 0 {
			output := gitops.ReadOutput(ctx, s.reader, destination.Repo)
			deployed.Tree, diags = output.Tree, output.Diags
		}
		if ctx.Err() != nil { // the run reports the interruption
			s.diags.Add(diags)
			return
		}
		if deployed.Tree == nil || len(destination.Diags) > 0 {
			continue // nothing is published, or a later step reports why it cannot be read
		}
		var err error
		if deployed.Made, err = destination.LastPublished(ctx, out.environment.Name.Value); err != nil {
			(&result{compiled: out}).report(destination, err)
			return
		}
		out.diags.Add(gitops.PathConflicts(ctx, s.compiler.loader, quarantine, out.fleet, out.tree, deployed))
		if s.quarantine.keepLastGood && s.quarantine.comparing && !s.quarantine.allowDeletions {
			out.diags.Add(gitops.Deletions(ctx, s.compiler.loader, quarantine, out.fleet, out.tree, deployed))
		}
	}
}

// open returns the GitOps branches of an environment, in order of name.
func (s *session) open(ctx context.Context, of *compiled) []*gitops.Destination {
	destinations := slices.Clone(s.destinations[of.environment.Name.Value])
	if len(destinations) == 0 {
		destinations = gitops.OpenDestinations(ctx, s.compiler.loader, of.environment, "")
	}
	slices.SortFunc(destinations, func(a, b *gitops.Destination) int {
		return cmp.Compare(a.Repo.Name.Value, b.Repo.Name.Value)
	})
	return destinations
}

// lastPublished returns the provenance of the last publication of an environment in each of its GitOps repositories. It
// returns false and reports the reason if it cannot be determined.
func (s *session) lastPublished(ctx context.Context, of *compiled) ([]*gitops.Provenance, bool) {
	var published []*gitops.Provenance
	for _, destination := range s.open(ctx, of) {
		if len(destination.Diags) > 0 {
			continue // nothing is published there, and the run says why
		}
		provenance, err := destination.LastPublished(ctx, of.environment.Name.Value)
		if err != nil {
			(&result{compiled: of}).report(destination, err)
			return nil, false
		}
		published = append(published, provenance)
	}
	return published, true
}

// holds reports whether something is in quarantine in any environment.
func (s *session) holds() bool {
	return slices.ContainsFunc(s.results, func(r *result) bool { return len(r.held.registrations) > 0 })
}

// told returns all that there is to say of the run: its diagnostics, and what is wrong with what is held
// back. without says what errors kept from happening; what is held back keeps nothing else from it.
func (s *session) told(without string) (diag.List, string) {
	if s.holds() && !s.failed() {
		without = s.heldSummary()
	}
	diags := s.all()
	for _, r := range s.results {
		diags.Add(r.held.diags)
	}
	return diags.Sorted(), without
}

// heldSummary says what became of everything that is not held back.
func (s *session) heldSummary() string {
	switch {
	case slices.ContainsFunc(s.results, func(r *result) bool { return r.folder != "" }):
		return "everything else was written"
	case slices.ContainsFunc(s.results, func(r *result) bool {
		return slices.ContainsFunc(r.changes, func(c *changeResult) bool { return c.Published != nil })
	}):
		return "everything else was published"
	default:
		return "everything else would be published"
	}
}

// verdict is the error that a run ends with that has done what it could.
func (s *session) verdict() error {
	err := verdict(s.all())
	var exit *exitError
	partly := slices.ContainsFunc(s.results, func(r *result) bool { return r.partly })
	switch {
	case partly && errors.As(err, &exit) && exit.code != exitTimeUp:
		return &exitError{code: exitRemote}
	case err != nil || !s.holds() || s.quarantine.tolerant:
		return err
	}
	return &exitError{code: exitModel}
}

// heldResult is a registration that is held back, in JSON.
type heldResult struct {
	Name string `json:"name"`
	// Commit is what was compiled instead; empty if what is published stays as it is.
	Commit string `json:"commit,omitempty"`
	Why    string `json:"why"`
}

func heldResults(registrations []gitops.HeldRegistration) []heldResult {
	var results []heldResult
	for _, r := range registrations {
		results = append(results, heldResult{r.Name, r.Commit, r.Why})
	}
	return results
}
