package promote

import (
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Rules say when a fleet has deployed a commit.
type Rules struct {
	// Need returns how many of total clusters must have deployed it; nil means all.
	Need func(total int) int
	// Expect is how many clusters there are at least; those that are not seen are missing.
	Expect int
	// AllowNone lets it count as deployed if no cluster is registered, in all or for a fleet or GitOps repository.
	AllowNone bool
	// Counts reports whether the clusters of a type count; nil means all. One whose type is not known counts.
	Counts func(clusterType string) bool
	// Timeout is how long the fleet is waited for, and Interval how long between two looks.
	Timeout, Interval time.Duration
	// Grace is how long a failure must last until it is one.
	Grace time.Duration
	// Once looks a single time: then neither success nor failure has to last.
	Once bool
}

// need is how many clusters must have deployed the commit, of those that exist or should exist.
func (r Rules) need(total int) int {
	switch {
	case total == 0 && r.AllowNone:
		return 0
	case r.Need == nil:
		return max(total, 1)
	default:
		return max(r.Need(total), 1)
	}
}

// Verdict is the result of waiting for a fleet.
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

// reason says in a line why a commit is not deployed.
func (r Rules) reason(verdict Verdict, snapshot Snapshot) string {
	counts, after := snapshot.Counts.String(), ""
	if !r.Once {
		after = fmt.Sprintf(" after %v", r.Timeout)
	}
	if snapshot.Seen() == 0 {
		counts = "no cluster was seen"
	}
	switch verdict {
	case NoClusters:
		return "no cluster is registered" + after
	case Unreachable:
		return fmt.Sprintf("%s%s; %s", counts, after, snapshot.QueryErrors)
	case TimedOut:
		return counts + lacking(snapshot) + after + firstOf(snapshot)
	default:
		return counts + firstOf(snapshot)
	}
}

// lacking says what keeps a commit from being deployed although no cluster is waited for.
func lacking(snapshot Snapshot) string {
	text := ""
	for _, name := range snapshot.NoReports {
		text += "; none for " + name
	}
	if snapshot.Missing > 0 && snapshot.Seen() > 0 {
		text += fmt.Sprintf("; %d not registered", snapshot.Missing)
	}
	if snapshot.Need > snapshot.Total() {
		text += fmt.Sprintf("; %d needed", snapshot.Need)
	}
	return text
}

// firstOf names the first cluster that failed, with what it says.
func firstOf(snapshot Snapshot) string {
	at := slices.IndexFunc(snapshot.Clusters, func(c Cluster) bool { return c.State == Broken })
	if at < 0 {
		return ""
	}
	failed := snapshot.Clusters[at]
	if failed.Message == "" {
		return "; " + failed.Name
	}
	return fmt.Sprintf("; %s: %s", failed.Name, diag.Safe(failed.Message))
}
