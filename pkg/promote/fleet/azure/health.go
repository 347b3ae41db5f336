package azure

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

// maxReasons is how many objects of a cluster a message names.
const maxReasons = 4

// compliance is a complianceState: Compliant, Non-Compliant, Pending, Suspended or Unknown.
type compliance string

func (c compliance) state() promote.State {
	switch strings.ToLower(string(c)) {
	case "compliant":
		return promote.Compliant
	case "non-compliant":
		return promote.Failed
	default:
		return promote.Pending
	}
}

// health is the state of a row at the commit of its source, and why it is not compliant. What is called compliant is
// pending until it is applied: the commit is that of the source, which is ahead of what applies it.
func (r *row) health(commit string) (promote.State, string) {
	state := r.Compliance.state()
	switch {
	case commit == "":
		return promote.Pending, r.reasons("no commit was fetched yet")
	case r.Suspended || strings.EqualFold(string(r.Compliance), "suspended"):
		return promote.Pending, "the Flux configuration is suspended"
	case state != promote.Compliant:
		return state, r.reasons("the Flux configuration is " + strings.ToLower(statustext.Line(cmp.Or(string(r.Compliance), "unknown"))))
	}
	for _, object := range r.Statuses {
		if at := object.applied(); at != "" && at != commit {
			return promote.Pending, fmt.Sprintf("Kustomization %s is still at %.7s", statustext.Line(object.Name), at)
		}
	}
	return promote.Compliant, ""
}

// applied is the commit that a Kustomization of the configuration itself says that it applied; empty if it does
// not say, or is one that was applied by another: that may pull another repository.
func (o *objectStatus) applied() string {
	revision, found := strings.CutPrefix(o.message(), "Applied revision: ")
	if !found || o.Kind != "Kustomization" || o.AppliedBy != nil {
		return ""
	}
	return statustext.Commit(strings.TrimSpace(revision))
}

// reasons is what the configuration and its objects say about not being compliant, and otherwise if they say
// nothing.
func (r *row) reasons(otherwise string) string {
	var reasons []string
	if problem := strings.TrimSpace(r.Problem); problem != "" {
		reasons = append(reasons, statustext.Line(problem))
	}
	for _, state := range []promote.State{promote.Failed, promote.Pending} {
		for _, o := range r.Statuses {
			if message := o.message(); message != "" && o.Compliance.state() == state && len(reasons) < maxReasons {
				reasons = append(reasons, statustext.Line(fmt.Sprintf("%s %s/%s: %s", o.Kind, o.Namespace, o.Name, message)))
			}
		}
	}
	return cmp.Or(strings.Join(reasons, "; "), otherwise)
}

// message is that of the condition Ready; empty if there is none.
func (o *objectStatus) message() string {
	for _, condition := range o.Conditions {
		if condition.Type == "Ready" {
			return condition.Message
		}
	}
	return ""
}
