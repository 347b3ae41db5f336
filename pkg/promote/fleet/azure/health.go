package azure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

// maxReasons is how many objects of a cluster a message names.
const maxReasons = 4

// stateOf reads a column with a complianceState: Compliant, Non-Compliant, Pending, Suspended or Unknown.
func stateOf(row record, column string) promote.State {
	switch strings.ToLower(textOf(row, column)) {
	case "compliant":
		return promote.Compliant
	case "non-compliant":
		return promote.Failed
	default:
		return promote.Pending
	}
}

// healthOf is the state of a row at the commit of its source, and why it is not compliant. Of what it calls
// compliant, it takes back what has not been applied yet: the commit is that of the source, which is ahead of what
// applies it.
func healthOf(row record, commit string) (promote.State, string) {
	state, compliance := stateOf(row, "compliance"), textOf(row, "compliance")
	switch {
	case commit == "":
		return promote.Pending, reasonsOf(row, "no commit was fetched yet")
	case row["suspended"] == true || strings.EqualFold(compliance, "suspended"):
		return promote.Pending, "the Flux configuration is suspended"
	case state != promote.Compliant:
		return state, reasonsOf(row, "the Flux configuration is "+strings.ToLower(statustext.Line(cmp.Or(compliance, "unknown"))))
	}
	for _, status := range recordsOf(row["statuses"]) {
		if at := applied(status); at != "" && at != commit {
			return promote.Pending, fmt.Sprintf("Kustomization %s is still at %.7s", statustext.Line(textOf(status, "name")), at)
		}
	}
	return promote.Compliant, ""
}

// applied is the commit that a Kustomization of the configuration itself says that it applied; empty if it does
// not say, or is one that was applied by another: that may pull another repository.
func applied(status record) string {
	if textOf(status, "kind") != "Kustomization" || status["appliedBy"] != nil {
		return ""
	}
	revision, found := strings.CutPrefix(textOf(readyOf(status), "message"), "Applied revision: ")
	if !found {
		return ""
	}
	return statustext.Commit(strings.TrimSpace(revision))
}

// reasonsOf is what the configuration and its objects say about not being compliant, and otherwise if they say
// nothing.
func reasonsOf(row record, otherwise string) string {
	var reasons []string
	if problem := strings.TrimSpace(textOf(row, "problem")); problem != "" {
		reasons = append(reasons, statustext.Line(problem))
	}
	statuses := recordsOf(row["statuses"])
	rank := func(status record) int { // the worst first
		return slices.Index([]promote.State{promote.Failed, promote.Pending}, stateOf(status, "complianceState"))
	}
	statuses = slices.DeleteFunc(statuses, func(status record) bool { return rank(status) < 0 || textOf(readyOf(status), "message") == "" })
	slices.SortStableFunc(statuses, func(a, b record) int { return rank(a) - rank(b) })
	for _, status := range statuses[:min(len(statuses), maxReasons-len(reasons))] {
		reasons = append(reasons, statustext.Line(fmt.Sprintf("%s %s/%s: %s", textOf(status, "kind"),
			textOf(status, "namespace"), textOf(status, "name"), textOf(readyOf(status), "message"))))
	}
	return cmp.Or(strings.Join(reasons, "; "), otherwise)
}

// readyOf is the condition Ready of an object; nil if it has none.
func readyOf(status record) record {
	for _, condition := range recordsOf(status["statusConditions"]) {
		if textOf(condition, "type") == "Ready" {
			return condition
		}
	}
	return nil
}
