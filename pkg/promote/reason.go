package promote

import (
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// reason says in a line why a commit is not deployed.
func (w *Watch) reason(verdict Verdict, snapshot Snapshot) string {
	counts, after := snapshot.Counts.String(), ""
	if !w.Rules.Once {
		after = fmt.Sprintf(" after %v", w.Rules.Timeout)
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
