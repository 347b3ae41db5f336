package promote

import (
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// reason says in a line why a commit is not deployed.
func (w *Watch) reason(verdict Verdict, look Look) string {
	counts, after := look.Counts.String(), ""
	if !w.Rules.Once {
		after = fmt.Sprintf(" after %v", w.Rules.Timeout)
	}
	if look.Seen() == 0 {
		counts = "no cluster was seen"
	}
	switch verdict {
	case NoClusters:
		return "no cluster is registered" + after
	case Unreachable:
		return fmt.Sprintf("%s%s; %s", counts, after, look.Unasked)
	case TimedOut:
		return counts + lacking(look) + after + firstOf(look)
	default:
		return counts + firstOf(look)
	}
}

// lacking says what keeps a commit from being deployed although no cluster is waited for.
func lacking(look Look) string {
	text := ""
	for _, name := range look.Silent {
		text += "; none for " + name
	}
	if look.Missing > 0 && look.Seen() > 0 {
		text += fmt.Sprintf("; %d not registered", look.Missing)
	}
	if look.Need > look.Total() {
		text += fmt.Sprintf("; %d needed", look.Need)
	}
	return text
}

// firstOf names the first cluster that failed, with what it says.
func firstOf(look Look) string {
	at := slices.IndexFunc(look.Clusters, func(c Cluster) bool { return c.Standing == Broken })
	if at < 0 {
		return ""
	}
	failed := look.Clusters[at]
	if failed.Message == "" {
		return "; " + failed.Name
	}
	return fmt.Sprintf("; %s: %s", failed.Name, diag.Safe(failed.Message))
}
