package fleet

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

const (
	// maxAzureReasons is how many objects of a cluster a message tells of, maxAzureReason how many bytes each of them has.
	maxAzureReasons = 4
	maxAzureReason  = 1000
)

// azureRevision is "<branch>@sha1:<commit>", or as older versions of Flux have it "<branch>/<commit>" or "<commit>".
var azureRevision = regexp.MustCompile(`^(?:.*[@/])?(?:sha1:|sha256:)?([0-9a-f]{40}|[0-9a-f]{64})$`)

// azureCommit is the commit of a revision; empty if it has none.
func azureCommit(revision string) string {
	m := azureRevision.FindStringSubmatch(strings.ToLower(revision))
	if m == nil {
		return ""
	}
	return m[1]
}

// azureState is what complianceState says: Compliant, Non-Compliant, Pending, Suspended or Unknown.
func azureState(row azureRow) promote.State {
	switch strings.ToLower(azureText(row, "compliance")) {
	case "compliant":
		return promote.Compliant
	case "non-compliant":
		return promote.Failed
	default:
		return promote.Pending
	}
}

// azureHealth is the state of a row at the commit of its source, and why it is not compliant. Of what it calls
// compliant, it takes back what has not been applied yet: the commit is that of the source, which is ahead of what
// applies it.
func azureHealth(row azureRow, commit string) (promote.State, string) {
	state, compliance := azureState(row), azureText(row, "compliance")
	switch {
	case commit == "":
		return promote.Pending, azureReasons(row, "no commit was fetched yet")
	case row["suspended"] == true || strings.EqualFold(compliance, "suspended"):
		return promote.Pending, "the Flux configuration is suspended"
	case state != promote.Compliant:
		return state, azureReasons(row, "the Flux configuration is "+strings.ToLower(azureCut(azureOr(compliance, "unknown"))))
	}
	for _, status := range azureStatuses(row) {
		if at := azureApplied(status); at != "" && at != commit {
			return promote.Pending, fmt.Sprintf("Kustomization %s is still at %.7s", azureCut(azureText(status, "name")), at)
		}
	}
	return promote.Compliant, ""
}

// azureApplied is the commit that a Kustomization of the configuration itself says that it applied; empty if it does
// not say, or is one that was applied by another: that may pull another repository.
func azureApplied(status azureRow) string {
	if azureText(status, "kind") != "Kustomization" || status["appliedBy"] != nil {
		return ""
	}
	revision, found := strings.CutPrefix(azureText(azureCondition(status), "message"), "Applied revision: ")
	if !found {
		return ""
	}
	return azureCommit(strings.TrimSpace(revision))
}

// azureReasons is what the configuration and its objects say about not being compliant, and otherwise if they say
// nothing.
func azureReasons(row azureRow, otherwise string) string {
	var reasons []string
	if problem := strings.TrimSpace(azureText(row, "problem")); problem != "" {
		reasons = append(reasons, azureCut(problem))
	}
	statuses := azureStatuses(row)
	slices.SortStableFunc(statuses, func(a, b azureRow) int { return azureRank(a) - azureRank(b) })
	for _, status := range statuses {
		message := azureText(azureCondition(status), "message")
		if message == "" || azureRank(status) == azureSound {
			continue
		}
		if len(reasons) == maxAzureReasons {
			break
		}
		reasons = append(reasons, azureCut(fmt.Sprintf("%s %s/%s: %s", azureText(status, "kind"),
			azureText(status, "namespace"), azureText(status, "name"), message)))
	}
	return azureOr(strings.Join(reasons, "; "), otherwise)
}

// The ranks of objects by what they have to say: the lowest first.
const (
	azureBroken = iota
	azureUnsure
	azureSound
)

func azureRank(status azureRow) int {
	switch strings.ToLower(azureText(status, "complianceState")) {
	case "non-compliant":
		return azureBroken
	case "compliant":
		return azureSound
	default:
		return azureUnsure
	}
}

// azureStatuses are the objects of the configuration, and those that they brought.
func azureStatuses(row azureRow) []azureRow { return azureRows(row["statuses"]) }

// azureCondition is the condition Ready of an object; nil if it has none.
func azureCondition(status azureRow) azureRow {
	for _, condition := range azureRows(status["statusConditions"]) {
		if azureText(condition, "type") == "Ready" {
			return condition
		}
	}
	return nil
}

// azureCut bounds a text of a stranger.
func azureCut(text string) string {
	if len(text) <= maxAzureReason {
		return text
	}
	return strings.ToValidUTF8(text[:maxAzureReason], "") + "…"
}

func azureOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
