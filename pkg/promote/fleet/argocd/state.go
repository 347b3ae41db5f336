package argocd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

// status returns the state at the commit of a source. Again is true if Argo CD only syncs or compares a synced and healthy
// Application again.
func (a *application) status(source int) (s promote.ReconcilerStatus) {
	s.Commit, s.State, s.Message = a.evaluate(source)
	s.Again = s.State == promote.Pending && a.Status.Sync.Status == "Synced" && a.Status.Health.Status == "Healthy" &&
		(a.syncing() || a.refreshing())
	return s
}

// evaluate returns the state of an Application at the commit of one of its sources.
//
// status.sync is the difference between the cluster and a revision, and is set as soon as the revision is known, not when
// it is applied. So a commit is deployed if the cluster is Synced to it and Healthy. It has failed if the sync of this
// commit has failed, or if its objects are Degraded. No other state is final: Missing, Progressing, Suspended (a paused
// rollout can be resumed), Unknown, OutOfSync without a failed sync, and a failed comparison, which is repeated.
func (a *application) evaluate(source int) (commit string, state promote.State, message string) {
	compared := a.compared(source)
	attempted, failed := a.attempt(source)
	switch {
	case failed && a.Status.OperationState.retrying() && attempted != "" && (attempted == compared || compared == ""):
		return attempted, promote.Failed, describe("the sync fails and is retried", a.operationMessage())
	case a.syncing():
		return compared, promote.Pending, describe("a sync is running", a.operationMessage())
	case failed && attempted != "" && (attempted == compared || compared == ""):
		return attempted, promote.Failed, describe("the sync failed", a.operationMessage())
	case a.outdated() != "":
		return compared, promote.Pending, a.outdated()
	case a.errorCondition() != "":
		return compared, promote.Pending, a.errorCondition()
	case compared == "":
		return "", promote.Pending, describe(a.summary(), "")
	case a.Status.Sync.Status == "Synced" && a.Status.Health.Status == "Healthy":
		return compared, promote.Compliant, ""
	case a.Status.Health.Status == "Degraded" && a.applied(compared, attempted):
		return compared, promote.Failed, describe(a.summary(), a.healthMessage())
	}
	detail := a.healthMessage()
	if failed {
		detail = a.operationMessage()
	}
	return compared, promote.Pending, describe(a.summary(), detail)
}

// compared returns the commit that the cluster was last compared with; empty if that was another source, for example just
// after a change of the Application.
func (a *application) compared(source int) string {
	sync := a.Status.Sync
	was, is := sync.ComparedTo.all(), a.Spec.all()
	switch {
	case len(was) == 0:
	case source == allSources && !slices.Equal(was, is), source >= len(was), source != allSources && was[source] != is[source]:
		return ""
	}
	return sync.of(source)
}

// attempt returns the commit of the last sync and whether the sync failed. A dry run does not count.
func (a *application) attempt(source int) (commit string, failed bool) {
	op := a.Status.OperationState
	if op.Operation.Sync.DryRun {
		return "", false
	}
	commit = cmp.Or(op.SyncResult.of(source), op.Operation.Sync.of(source)) // without a result it failed before it started
	return commit, op.Phase == "Failed" || op.Phase == "Error" || op.retrying()
}

// retrying reports whether a failed sync is being retried, which Argo CD does for minutes.
func (o operation) retrying() bool { return o.Phase == "Running" && o.RetryCount > 0 }

func (a *application) refreshing() bool {
	return a.Metadata.Annotations["argocd.argoproj.io/refresh"] != ""
}

// syncing reports whether a sync is running or requested.
func (a *application) syncing() bool {
	phase := a.Status.OperationState.Phase
	return a.Operation != nil || phase == "Running" || phase == "Terminating"
}

// outdated returns the reason why the status is not current; empty if it is. Health is updated some time after the end of a
// sync; until then it is that of the previous objects. The argocd program waits for it in the same way.
func (a *application) outdated() string {
	op := a.Status.OperationState
	switch {
	case a.Metadata.DeletionTimestamp != nil:
		return "the Application is being deleted"
	case a.refreshing():
		return "Argo CD is about to refresh the Application"
	case a.Status.ReconciledAt.Before(op.FinishedAt) && !op.Operation.Sync.DryRun:
		return "Argo CD has not compared the cluster since the last sync"
	}
	return ""
}

// applied reports whether the objects on the cluster are those of a commit.
func (a *application) applied(compared, attempted string) bool {
	return a.Status.Sync.Status == "Synced" || a.Status.OperationState.Phase == "Succeeded" && attempted == compared
}

// summary returns the statuses of Argo CD, such as "OutOfSync, Progressing".
func (a *application) summary() string {
	return cmp.Or(a.Status.Sync.Status, "Unknown") + ", " + cmp.Or(a.Status.Health.Status, "Unknown")
}

// describe returns a summary and details in one line.
func describe(summary, detail string) string {
	return statustext.Line(strings.TrimSuffix(summary+": "+strings.TrimSpace(detail), ": "))
}

// errorCondition returns the first condition that is an error. The types of warnings end in Warning.
func (a *application) errorCondition() string {
	for _, c := range a.Status.Conditions {
		if strings.HasSuffix(c.Type, "Error") {
			return describe(c.Type, c.Message)
		}
	}
	return ""
}

// operationMessage returns the message of the last sync, or that of the first object that failed.
func (a *application) operationMessage() string {
	op := a.Status.OperationState
	for _, r := range op.SyncResult.Resources {
		if r.Message != "" && (r.Status == "SyncFailed" || r.HookPhase == "Failed" || r.HookPhase == "Error") {
			return r.Kind + " " + r.Name + ": " + r.Message
		}
	}
	return op.Message
}

// healthMessage returns the reason why the Application is not healthy: the message of the first object with the same health
// status, which Argo CD may not store, else that of the Application.
func (a *application) healthMessage() string {
	if a.Status.Health.Status == "Healthy" {
		return ""
	}
	for _, r := range a.Status.Resources {
		if r.Health != nil && r.Health.Status == a.Status.Health.Status && r.Health.Message != "" {
			return r.Kind + " " + r.Name + ": " + statustext.Line(r.Health.Message)
		}
	}
	return a.Status.Health.Message
}

const (
	healthHint      = "add resource.customizations.health.argoproj.io_Application to the ConfigMap argocd-cm: without it Argo CD does not check the health of Applications"
	filteredHint    = "remove project and selector from the URL to list all Applications"
	otherServerHint = "add the Argo CD of that cluster: --fleet argocd:https://argocd.example.com"
)

// applications are the listed Applications.
type applications struct {
	byName map[objectName]*application
	// filtered is true if the request excluded some.
	filtered bool
}

// inTree returns one status for each Application of the published tree in the directory that outer pulls. It returns nil
// before outer is synced, because until then the cluster has older objects.
func (all applications) inTree(outer *application, pulled sourceStatus, wanted promote.Deployment) []promote.ReconcilerStatus {
	if outer.Status.Sync.Status != "Synced" || pulled.Commit == "" {
		return nil
	}
	to := outer.Spec.Destination
	here := to.Name == inCluster || to.Server == inClusterServer // otherwise another Argo CD may have them
	var seen []promote.ReconcilerStatus
	for _, r := range wanted.Below(pulled.directory) {
		if r.Group != "argoproj.io" || r.Kind != "Application" {
			continue
		}
		name := objectName{cmp.Or(r.Namespace, to.Namespace), r.Name}
		listed := all.byName[name]
		s := promote.ReconcilerStatus{Cluster: pulled.Cluster, Reconciler: "Application/" + name.String(), ClusterType: pulled.ClusterType, Commit: pulled.Commit}
		unseen := statustext.Line(fmt.Sprintf("Application %s of the published tree is not listed by this Argo CD", name))
		switch {
		case !here:
			s.State, s.Warning = pulled.State, promote.Warning{Message: unseen, Hint: otherServerHint}
		case listed != nil:
			found := listed.status(allSources)
			s.State, s.Message, s.Again = found.State, found.Message, found.Again
		case all.filtered:
			s.State, s.Warning = pulled.State, promote.Warning{Message: unseen, Hint: filteredHint}
		case pulled.Commit != wanted.Commit: // a newer commit may have removed it
			continue
		default:
			s.State, s.Message = promote.Pending, "not found, or the token has no permission to read it"
		}
		if s.Message != "" {
			s.Message = statustext.Line(fmt.Sprintf("Application %s: %s", name, s.Message))
		}
		if pulled.State == promote.Compliant && s.State == promote.Failed {
			s.Warning = promote.Warning{Message: statustext.Line(fmt.Sprintf("Application %s is healthy although %s is not", pulled.Reconciler, name)), Hint: healthHint}
		}
		seen = append(seen, s)
	}
	return seen
}
