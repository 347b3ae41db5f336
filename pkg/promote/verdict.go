package promote

import "time"

// Verdict is what came of waiting for a fleet.
type Verdict string

// The verdicts.
const (
	// Waiting: nothing is decided yet. With Rules.Once it is final: neither deployed nor failed.
	Waiting Verdict = "waiting"
	// Succeeded: enough clusters have deployed the commit.
	Succeeded Verdict = "succeeded"
	// Rejected: so many clusters have failed that the others are not enough.
	Rejected Verdict = "failed"
	// NoClusters: the time is up, and no cluster was ever registered.
	NoClusters Verdict = "no-clusters"
	// TimedOut: the time is up.
	TimedOut Verdict = "timed-out"
	// Unreachable: the time is up, and in the end the fleet could not be asked.
	Unreachable Verdict = "unreachable"
)

// looksToSucceed is how often in a row enough clusters must be deployed: a fleet that has just got a commit may
// report it before it finds out that it fails.
const looksToSucceed = 2

// judge makes a verdict of one look after the other.
type judge struct {
	rules   Rules
	started time.Time
	// good is how many looks in a row have shown enough clusters.
	good int
	// failing is since when too many have failed; zero if they have not.
	failing time.Time
}

// see returns the verdict after a look at a time.
func (j *judge) see(snapshot Snapshot, now time.Time) Verdict {
	j.note(snapshot, now)
	switch {
	case j.good >= looksToSucceed, j.good > 0 && j.rules.Once:
		return Succeeded
	case !j.failing.IsZero() && (j.rules.Once || now.Sub(j.failing) >= j.rules.Grace):
		return Rejected
	case !j.rules.Once && now.Sub(j.started) < j.rules.Timeout:
		return Waiting
	case snapshot.QueryErrors != "":
		return Unreachable
	case snapshot.Seen() == 0:
		return NoClusters
	case j.rules.Once:
		return Waiting
	default:
		return TimedOut
	}
}

// note counts how long things have been going well, or not.
func (j *judge) note(snapshot Snapshot, now time.Time) {
	if snapshot.QueryErrors == "" && snapshot.Deployed >= snapshot.Need && snapshot.Missing == 0 && (len(snapshot.NoReports) == 0 || j.rules.AllowNone) {
		j.good++
	} else {
		j.good = 0
	}
	switch failed := snapshot.Failed > 0 && snapshot.Total()-snapshot.Failed < snapshot.Need; {
	case !failed:
		j.failing = time.Time{}
	case j.failing.IsZero():
		j.failing = now
	}
}
