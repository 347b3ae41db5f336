package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
)

// lastLook is the least that a look may take, so that the one at the very end can still be answered.
const lastLook = 10 * time.Second

// Watch looks at fleets until they have deployed something, or it is clear that they do not.
type Watch struct {
	Fleets []Fleet
	// Deployments are what is to be deployed: one for each GitOps repository.
	Deployments []Deployment
	Rules       Rules
	// Newer tells whether the branch of a deployment has a commit, got it after the wanted one, and what was promoted with
	// it is what was promoted with the wanted one, or newer: a rollback comes later too, and says nothing of what it takes
	// back. It is asked about each commit again as long as the answer is no.
	Newer func(ctx context.Context, wanted Deployment, commit string) (bool, error)
	// Now is the clock. Sleep waits, or until ctx is done, whose error it then returns.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
	// Show is told what each look showed; nil tells nobody.
	Show func(snapshot Snapshot)

	newer map[newerKey]bool
	// last has the last sighting of each reconciler.
	last map[reconcilerKey]Sighting
	// names are those of Fleets, each another.
	names []string
}

// newerKey is a commit that was compared with the wanted one of a branch.
type newerKey struct{ repo, branch, wanted, commit string }

// reconcilerKey identifies a reconciler.
type reconcilerKey struct{ fleet, deployment, cluster, reconciler string }

// Run looks until there is a verdict, and returns it with the last look. The error is a *FleetError that is not
// temporary, what Newer returned, or that of ctx.
func (w *Watch) Run(ctx context.Context) (Verdict, Snapshot, error) {
	w.newer, w.last, w.names = map[newerKey]bool{}, map[reconcilerKey]Sighting{}, namesOf(w.Fleets)
	started := w.Now()
	judge := judge{rules: w.Rules, started: started}
	for {
		snapshot, wait, err := w.snapshot(ctx, max(w.Rules.Timeout-w.Now().Sub(started), lastLook))
		if err != nil {
			return Waiting, snapshot, err
		}
		now := w.Now()
		verdict := judge.see(snapshot, now)
		if w.Show != nil {
			w.Show(snapshot)
		}
		if verdict != Waiting || w.Rules.Once {
			return verdict, snapshot, nil
		}
		pause := min(max(w.Rules.Interval, wait), started.Add(w.Rules.Timeout).Sub(now))
		if err := w.Sleep(ctx, pause); err != nil {
			return Waiting, snapshot, err
		}
	}
}

// look asks all fleets once, for at most so long. wait is how long one of them asks to be left alone.
func (w *Watch) snapshot(ctx context.Context, within time.Duration) (snapshot Snapshot, wait time.Duration, err error) {
	all, errs := w.ask(ctx, within)
	if ctx.Err() != nil {
		return Snapshot{}, 0, ctx.Err()
	}
	var unasked []string
	for i, err := range errs {
		var known *FleetError
		switch {
		case err == nil:
		case !errors.As(err, &known):
			return Snapshot{}, 0, err
		case !known.Temporary:
			return Snapshot{QueryErrors: w.nameOf(i) + ": " + known.Message}, 0, err
		default:
			unasked, wait = append(unasked, named(w.nameOf(i), known.Message)), max(wait, known.Wait)
		}
	}
	for i := range all {
		if err := w.learn(ctx, &all[i]); err != nil {
			return Snapshot{}, 0, err
		}
		w.remember(&all[i].seen)
	}
	seen := make([]seen, len(all))
	for i, a := range all {
		seen[i] = a.seen
	}
	snapshot = aggregate(seen, w.Rules)
	snapshot.QueryErrors = strings.Join(unasked, "; ")
	return snapshot, wait, nil
}

// named puts the name of a fleet before what it says, unless it is there.
func named(fleet, message string) string {
	if strings.HasPrefix(message, fleet) {
		return message
	}
	return fleet + ": " + message
}

// nameOf is the fleet that gave the i-th answer.
func (w *Watch) nameOf(i int) string { return w.names[i/len(w.Deployments)] }

// namesOf tells fleets apart that call themselves alike, as two programs with other arguments do.
func namesOf(fleets []Fleet) []string {
	names, count := make([]string, len(fleets)), map[string]int{}
	for i, fleet := range fleets {
		name := fleet.String()
		if count[name]++; count[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, count[name])
		}
		names[i] = name
	}
	return names
}

// asked is an answer and what it is about.
type asked struct {
	seen
	deployment Deployment
}

// ask asks each fleet about each deployment, side by side.
func (w *Watch) ask(ctx context.Context, within time.Duration) ([]asked, []error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	n := len(w.Fleets) * len(w.Deployments)
	answers, errs := make([]asked, n), make([]error, n)
	var group errgroup.Group
	for i, fleet := range w.Fleets {
		for k, deployment := range w.Deployments {
			at := i*len(w.Deployments) + k
			group.Go(func() error {
				sightings, err := fleet.Look(ctx, deployment)
				if err != nil && ctx.Err() != nil {
					err = &FleetError{Temporary: true, Message: "it did not answer in time", Err: err}
				}
				answers[at] = asked{seen{
					fleet: w.names[i], deployment: deployment.Branch + " of " + deployment.Repo, wanted: deployment.Commit, sightings: sightings,
				}, deployment}
				errs[at] = err
				return nil
			})
		}
	}
	_ = group.Wait() // no function returns an error
	return answers, errs
}

// learn finds out which of the commits that were reported are newer than the wanted one.
func (w *Watch) learn(ctx context.Context, a *asked) error {
	a.newer = map[string]bool{}
	for _, s := range a.sightings {
		if !giturl.IsFullCommit(s.Commit) || s.Commit == a.wanted || w.Newer == nil { // what is no commit is none of the branch
			continue
		}
		key := newerKey{a.deployment.Repo, a.deployment.Branch, a.wanted, s.Commit}
		if _, known := a.newer[s.Commit]; known {
			continue
		}
		if !w.newer[key] {
			newer, err := w.Newer(ctx, a.deployment, s.Commit)
			if err != nil {
				return err
			}
			w.newer[key] = newer
		}
		a.newer[s.Commit] = w.newer[key]
	}
	return nil
}

// remember keeps the last result of a reconciler while it is pending with the same commit: a failure until a retry
// succeeds, and a success while it only reconciles again. Flux reports Progressing during each retry and during each
// reconciliation of a healthy object.
func (w *Watch) remember(a *seen) {
	a.sightings = slices.Clone(a.sightings)
	for i := range a.sightings {
		s := &a.sightings[i]
		key := reconcilerKey{a.fleet, a.deployment, s.Cluster, s.Reconciler}
		before := w.last[key]
		if s.State == Pending && s.Commit != "" && s.Commit == before.Commit {
			switch {
			case before.State == Failed:
				s.State, s.Message = Failed, before.Message
			case before.State == Compliant && s.Again:
				s.State = Compliant
			}
		}
		w.last[key] = *s
	}
}
