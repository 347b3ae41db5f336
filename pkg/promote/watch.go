package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
)

// lastQuery is the minimum time of a query, so that the last one can still be answered.
const lastQuery = 10 * time.Second

// Watch polls fleets until a rollout has a final state.
type Watch struct {
	Fleets []Fleet
	// Deployments are what is to be deployed: one for each GitOps repository.
	Deployments []Deployment
	Rules       Rules
	// Newer reports whether the branch of a deployment has a commit, got it after the wanted one, and what was promoted with
	// it is what was promoted with the wanted one, or newer: a rollback comes later, too, and does not contain what it
	// reverts. It is called again for a commit as long as it returns false.
	Newer func(ctx context.Context, wanted Deployment, commit string) (bool, error)
	// Now is the clock. Sleep waits, or until ctx is done, whose error it then returns.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
	// Show is called with each snapshot; it may be nil.
	Show func(snapshot Snapshot)

	newer map[newerKey]bool
	// last has the last status of each reconciler.
	last map[reconcilerKey]ReconcilerStatus
}

// newerKey is a commit that was compared with the wanted one of a branch.
type newerKey struct{ deployment, wanted, commit string }

// reconcilerKey identifies a reconciler.
type reconcilerKey struct{ fleet, deployment, cluster, reconciler string }

// Run polls until the rollout has a final state, and returns it with the last snapshot. The error is a *FleetError that is
// not temporary, what Newer returned, or that of ctx.
func (w *Watch) Run(ctx context.Context) (RolloutState, Snapshot, error) {
	w.newer, w.last = map[newerKey]bool{}, map[reconcilerKey]ReconcilerStatus{}
	started := w.Now()
	evaluator := evaluator{rules: w.Rules, started: started}
	for {
		snapshot, wait, err := w.snapshot(ctx, max(w.Rules.Timeout-w.Now().Sub(started), lastQuery))
		if err != nil {
			return Waiting, snapshot, err
		}
		now := w.Now()
		state := evaluator.evaluate(snapshot, now)
		if w.Show != nil {
			w.Show(snapshot)
		}
		if state != Waiting || w.Rules.Once {
			return state, snapshot, nil
		}
		pause := min(max(w.Rules.Interval, wait), started.Add(w.Rules.Timeout).Sub(now))
		if err := w.Sleep(ctx, pause); err != nil {
			return Waiting, snapshot, err
		}
	}
}

// snapshot queries all fleets once, with a time limit. wait is the longest retry delay that one of them requests.
func (w *Watch) snapshot(ctx context.Context, within time.Duration) (snapshot Snapshot, wait time.Duration, err error) {
	reports := w.ask(ctx, within)
	if ctx.Err() != nil {
		return Snapshot{}, 0, ctx.Err()
	}
	var failures []string
	for _, r := range reports {
		var failure *FleetError
		switch {
		case r.err == nil:
		case !errors.As(r.err, &failure):
			return Snapshot{}, 0, r.err
		case !failure.Temporary:
			return Snapshot{QueryErrors: r.fleet + ": " + failure.Message}, 0, r.err
		default:
			failures, wait = append(failures, named(r.fleet, failure.Message)), max(wait, failure.Wait)
		}
	}
	for i := range reports {
		if err := w.compare(ctx, &reports[i]); err != nil {
			return Snapshot{}, 0, err
		}
		w.remember(&reports[i])
	}
	snapshot = aggregate(reports, w.Rules)
	snapshot.QueryErrors = strings.Join(failures, "; ")
	return snapshot, wait, nil
}

// named prefixes a message with the name of its fleet, unless it has it.
func named(fleet, message string) string {
	if strings.HasPrefix(message, fleet) {
		return message
	}
	return fleet + ": " + message
}

// namesOf tells fleets apart that have the same name, as two programs with other arguments do.
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

// ask queries each fleet for each deployment concurrently.
func (w *Watch) ask(ctx context.Context, within time.Duration) []fleetReport {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	reports := make([]fleetReport, 0, len(w.Fleets)*len(w.Deployments))
	names := namesOf(w.Fleets)
	var group sync.WaitGroup
	for i, fleet := range w.Fleets {
		for _, deployment := range w.Deployments {
			reports = append(reports, fleetReport{fleet: names[i], deployment: deployment})
			r := &reports[len(reports)-1]
			group.Go(func() {
				r.statuses, r.err = fleet.Query(ctx, deployment)
				if r.err != nil && ctx.Err() != nil {
					r.err = &FleetError{Temporary: true, Message: "it did not answer in time", Err: r.err}
				}
			})
		}
	}
	group.Wait()
	return reports
}

// compare finds out which of the commits that were reported are newer than the wanted one.
func (w *Watch) compare(ctx context.Context, r *fleetReport) error {
	r.newer = map[string]bool{}
	wanted := r.deployment.Commit
	for _, s := range r.statuses {
		if _, known := r.newer[s.Commit]; known || !giturl.IsFullCommit(s.Commit) || s.Commit == wanted {
			continue // what is no commit is none of the branch
		}
		key := newerKey{r.deployment.name(), wanted, s.Commit}
		if !w.newer[key] {
			newer, err := w.Newer(ctx, r.deployment, s.Commit)
			if err != nil {
				return err
			}
			w.newer[key] = newer
		}
		r.newer[s.Commit] = w.newer[key]
	}
	return nil
}

// remember keeps the last result of a reconciler while it is pending with the same commit: a failure until a retry
// succeeds, and a success while it only reconciles again. Flux reports Progressing during each retry and during each
// reconciliation of a healthy object.
func (w *Watch) remember(r *fleetReport) {
	r.statuses = slices.Clone(r.statuses)
	for i := range r.statuses {
		s := &r.statuses[i]
		key := reconcilerKey{r.fleet, r.deployment.name(), s.Cluster, s.Reconciler}
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
