package promote

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// Statuses are those of the commits of the control plane.
type Statuses interface {
	// Statuses returns the newest status of each context and creator of a commit, the newest first.
	Statuses(ctx context.Context, commit string) ([]Status, error)
	// SetStatus adds a status to a commit. Setting it twice is harmless.
	SetStatus(ctx context.Context, commit string, status Status) error
}

// Status is a commit status.
type Status struct {
	// Context is what it is about: "stage environment".
	Context string      `json:"context"`
	State   StatusState `json:"state"`
	// Description is a line of at most MaxDescription characters.
	Description string `json:"description"`
	// TargetURL is a page with more, such as the run; it may be empty.
	TargetURL string `json:"targetUrl,omitempty"`
	// Creator is the login of the author; empty if the account was deleted. It is ignored when a status is written.
	Creator string `json:"-"`
	// Untrusted is true if the status does not count; see TrustStatuses.
	Untrusted bool `json:"-"`
}

// Reporting configures the statuses of a commit.
type Reporting struct {
	// Statuses are those of the control plane's commits; nil if there are none, for the reason in NoStatuses.
	Statuses   Statuses
	NoStatuses string
	// TargetURL is the page that statuses link to; it may be empty.
	TargetURL string
	// Seed uses the format of Kalypso's original workflows.
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

// The descriptions of statuses. The first four are those of Kalypso's original workflows.
const (
	descriptionPromoted  = "Promoted"
	descriptionDeploying = "Deploying"
	descriptionDeployed  = "Deployed"
	descriptionFailed    = "Failed to deploy"
	descriptionProposed  = "Promotion proposed"
	descriptionDeclined  = "Promotion declined"
	descriptionOvertaken = "Superseded by"
	// descriptionRolledBack is for a commit that was reverted.
	descriptionRolledBack = "Rolled back to"
	// descriptionByHand is for a deployment that a person checks.
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

// superseded is a commit that was superseded before it was deployed.
func (t statusText) superseded(by string) Status {
	return t.status(StatusError, fmt.Sprintf("%s %.7s", descriptionOvertaken, by))
}

// rolledBack is the status of a commit that a person has reverted to an older one.
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

// isRolledBack reports whether the commit was reverted.
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

// Fleet reports what the clusters run. Package fleet has the implementations.
type Fleet interface {
	// String names it as --fleet does, for messages: "flux:edge-1,edge-2". No secret is in it.
	String() string
	// Query returns every reconciler that is registered for the deployment's repository and branch, whatever
	// commit it is at, and those of Deployment.Reconcilers on its cluster, if single objects can be seen. An answer
	// that is known to be incomplete is an error, which is a *FleetError.
	Query(ctx context.Context, wanted Deployment) ([]ReconcilerStatus, error)
}

// Deployment is a commit of a GitOps branch that fleets are queried for.
type Deployment struct {
	// Repo is the URL of the GitOps repository in normal form; compare it with giturl.NormalURL of a cluster's URL.
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	// Path is the directory of the output, slash-separated; "." is the root. Cluster types are the directories in it.
	Path string `json:"path"`
	// Commit is the full id, in lower case.
	Commit string `json:"commit"`
	// Environment is its name.
	Environment string `json:"-"`
	// Reconcilers are the reconcilers in the published tree at Commit, ordered by path. A Fleet that can read single
	// objects reports each of them, besides those that pull the branch; other fleets ignore them.
	Reconcilers []gitops.Reconciler `json:"-"`
}

// Below returns the reconcilers in a directory of the repository and its subdirectories.
func (d Deployment) Below(directory string) []gitops.Reconciler {
	directory, root := strings.TrimSuffix(path.Join("/", directory), "/")+"/", strings.TrimSuffix(path.Join("/", d.Path), "/")+"/"
	if strings.HasPrefix(root, directory) {
		return d.Reconcilers
	}
	prefix, below := strings.CutPrefix(directory, root)
	if !below {
		return nil
	}
	first := func(path string) int {
		i, _ := slices.BinarySearchFunc(d.Reconcilers, path, func(r gitops.Reconciler, path string) int { return cmp.Compare(r.Path, path) })
		return i
	}
	return d.Reconcilers[first(prefix):first(prefix+"\xff")]
}

// ReconcilerStatus is the report of one reconciler on one cluster.
type ReconcilerStatus struct {
	// Cluster identifies the cluster in this Fleet.
	Cluster string
	// Reconciler identifies it on its cluster; empty if there can be only one.
	Reconciler string
	// ClusterType is the directory that is pulled, below Deployment.Path; empty if that is not one cluster type.
	ClusterType string
	// Commit is what State is about, as full id in lower case: the commit that was applied, or the one that could
	// not be. It is empty if there is none yet, or it is no commit. That of a reconciler in the tree is the commit that
	// brought it.
	Commit string
	State  State
	// Again is true if a pending reconciler only reconciles the same revision and spec again: if it was compliant
	// before, it still is.
	Again bool
	// Warning is set if the report of the reconciler is incomplete.
	Warning Warning
	// Message is why it is not compliant, as the cluster reports it: untrusted text of any length.
	Message string
}

// Compare orders statuses by cluster and reconciler. Those that are alike have an order too: fleets answer in any.
func (s ReconcilerStatus) Compare(other ReconcilerStatus) int {
	return cmp.Or(cmp.Compare(s.Cluster, other.Cluster), cmp.Compare(s.Reconciler, other.Reconciler),
		cmp.Compare(s.Commit, other.Commit), cmp.Compare(s.Message, other.Message))
}

// Warning says that a reconciler does not report the health of all objects that it applies. The zero value is no
// warning.
type Warning struct {
	// Message names the reconciler, Hint says how to fix it.
	Message, Hint string
}

// State is the state of a commit on a reconciler.
type State string

// The states.
const (
	// Compliant: the commit is applied and healthy.
	Compliant State = "compliant"
	// Pending: not yet, or not known.
	Pending State = "pending"
	// Failed: it could not be applied, or is not healthy.
	Failed State = "failed"
)

// FleetError is why a Fleet could not be queried.
type FleetError struct {
	// Temporary is true if another query may succeed: the network, a server's fault, a rate limit.
	Temporary bool
	// Wait is the retry delay that the server requests; zero for none.
	Wait time.Duration
	// Message is one line without secrets; Hint says what to do, and may be empty.
	Message, Hint string
	// Err is what was behind it; it may be nil.
	Err error
}

func (e *FleetError) Error() string { return e.Message }

// Unwrap returns what was behind it.
func (e *FleetError) Unwrap() error { return e.Err }
