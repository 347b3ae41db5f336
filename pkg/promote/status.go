package promote

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Statuses are those of the commits of the control plane.
type Statuses interface {
	// Statuses returns the newest status of each context and creator of a commit, the newest first.
	Statuses(ctx context.Context, commit string) ([]Status, error)
	// SetStatus adds a status to a commit. Setting it twice is harmless.
	SetStatus(ctx context.Context, commit string, status Status) error
}

// Status says on a commit how far it has come.
type Status struct {
	// Context tells what it is about: "stage environment".
	Context string
	State   StatusState
	// Description is a line of at most MaxDescription characters.
	Description string
	// TargetURL is a page with more, such as the run; it may be empty.
	TargetURL string
	// Creator is the login of the author; empty if the account was deleted. It is ignored when a status is written.
	Creator string
	// Untrusted says that the status does not count; see TrustStatuses.
	Untrusted bool
}

// Reporting says how the progress of a commit is reported on it.
type Reporting struct {
	// Statuses are those of the control plane's commits; nil if there are none, and NoStatuses says why.
	Statuses   Statuses
	NoStatuses string
	// TargetURL is the page that statuses link to; it may be empty.
	TargetURL string
	// Seed says no more in a status than the seeds' workflows do, and says it in their way.
	Seed bool
}

// StatusState is one of the four that GitHub knows.
type StatusState string

// The states of a status.
const (
	StatusPending StatusState = "pending"
	StatusSuccess StatusState = "success"
	StatusFailure StatusState = "failure"
	StatusError   StatusState = "error"
)

// MaxDescription is how many characters GitHub takes.
const MaxDescription = 140

// The descriptions of statuses. The first four are those of the seeds' workflows; what follows them says more.
const (
	descriptionPromoted  = "Promoted"
	descriptionDeploying = "Deploying"
	descriptionDeployed  = "Deployed"
	descriptionFailed    = "Failed to deploy"
	descriptionProposed  = "Promotion proposed"
	descriptionDeclined  = "Promotion declined"
	descriptionOvertaken = "Superseded by"
	// descriptionRolledBack is said of a commit that was taken back.
	descriptionRolledBack = "Rolled back to"
	// descriptionByHand is said of a deployment that nobody but a person can judge.
	descriptionByHand = descriptionDeploying + ": a person decides whether it is deployed"
)

// statusContext is what the statuses of an environment are called.
func statusContext(environment string) string { return environment + " environment" }

// statusText makes the statuses of one environment.
type statusText struct {
	environment string
	Reporting
}

func (t statusText) status(state StatusState, description string) Status {
	return Status{Context: statusContext(t.environment), State: state, Description: cutDescription(description), TargetURL: t.TargetURL}
}

func (t statusText) promoted() Status { return t.status(StatusPending, descriptionPromoted) }

// inPullRequest is a promotion that depends on a pull request; the number is zero if there is none.
func (t statusText) inPullRequest(state StatusState, description string, number int) Status {
	if number > 0 {
		description = fmt.Sprintf("%s in #%d", description, number)
	}
	return t.status(state, description)
}

// deployed is a success. goesOn reports whether the chain does.
func (t statusText) deployed(counts string, goesOn bool) Status {
	switch {
	case !t.Seed:
		return t.status(StatusSuccess, descriptionDeployed+": "+counts)
	case goesOn:
		return t.status(StatusPending, descriptionDeployed)
	}
	return t.status(StatusSuccess, descriptionDeployed)
}

// failed is a failure, with its reason.
func (t statusText) failed(reason string) Status {
	if t.Seed {
		return t.status(StatusFailure, descriptionFailed)
	}
	return t.status(StatusFailure, descriptionFailed+": "+reason)
}

// superseded is a commit that was overtaken before it was deployed.
func (t statusText) superseded(by string) Status {
	return t.status(StatusError, fmt.Sprintf("%s %.7s", descriptionOvertaken, by))
}

// rolledBack is a commit that an environment had, and that a person has taken back for an older one.
func (t statusText) rolledBack(to string) Status {
	return t.status(StatusError, fmt.Sprintf("%s %.7s", descriptionRolledBack, to))
}

// isDeployed reports whether a status says that a commit is deployed: the gate to what comes next.
func isDeployed(s Status) bool {
	return s.State == StatusSuccess || s.State == StatusPending && s.Description == descriptionDeployed
}

// isPassed reports whether a status cannot be true any more of a commit that its environment has: a run was stopped
// before it could say so, or a pull request was merged.
func (s Status) isPassed() bool {
	return s.begins(descriptionProposed, descriptionDeclined, descriptionOvertaken)
}

// wasPromoted reports whether a status is only set once the environment has got the commit.
func (s Status) wasPromoted() bool {
	return s.begins(descriptionPromoted, descriptionDeploying, descriptionDeployed, descriptionFailed)
}

// hadIt reports whether a status says that the environment has the commit, or had it once.
func (s Status) hadIt() bool {
	return isDeployed(s) || s.wasPromoted() || s.begins(descriptionOvertaken, descriptionRolledBack)
}

// isRolledBack reports whether a status says that the commit was taken back.
func (s Status) isRolledBack() bool {
	return s.State == StatusError && s.begins(descriptionRolledBack+" ")
}

// begins reports whether the description begins with one of the words.
func (s Status) begins(words ...string) bool {
	return slices.ContainsFunc(words, func(words string) bool { return strings.HasPrefix(s.Description, words) })
}

// find returns the newest status of an environment that counts.
func find(statuses []Status, environment string) (Status, bool) {
	for _, s := range statuses { // the newest is first
		if !s.Untrusted && strings.EqualFold(s.Context, statusContext(environment)) {
			return s, true
		}
	}
	return Status{}, false
}

// findUntrusted returns the newest status of an environment if it does not count, and whether it does not.
func findUntrusted(statuses []Status, environment string) (Status, bool) {
	i := slices.IndexFunc(statuses, func(s Status) bool { return strings.EqualFold(s.Context, statusContext(environment)) })
	if i < 0 || !statuses[i].Untrusted {
		return Status{}, false
	}
	return statuses[i], true
}

// cutDescription makes a text fit for a status: one line, not too long.
func cutDescription(text string) string {
	return diag.ShortenCharacters(strings.Join(strings.Fields(diag.Safe(text)), " "), MaxDescription)
}
