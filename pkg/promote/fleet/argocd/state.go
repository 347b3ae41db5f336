package argocd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

// status returns the state at the commit of a source. Again says that Argo CD only syncs or compares a synced and healthy
// Application again.
func (a *application) status(source int) (s promote.ReconcilerStatus) {
	s.Commit, s.State, s.Message = a.judge(source)
	s.Again = s.State == promote.Pending && a.Status.Sync.Status == "Synced" && a.Status.Health.Status == "Healthy" &&
		(a.busy() || a.refreshing())
	return s
}

// judge says what an Application has made of the commit of one of its sources.
//
// Argo CD compares: status.sync is how the cluster differs from a revision, and the revision is there as soon as it is
// known, not when it is applied. So a commit is deployed if the cluster is Synced to it and Healthy. It has failed if
// the sync of just this commit has, or if the objects are Degraded that it made. All else is not known to be final:
// Missing, Progressing, Suspended (a paused rollout goes on once somebody says so), Unknown, OutOfSync without a sync
// that failed, and a comparison that could not be made, which is repeated.
func (a *application) judge(source int) (commit string, state promote.State, message string) {
	compared := a.compared(source)
	attempted, failed := a.attempt(source)
	switch {
	case failed && a.Status.OperationState.retrying() && attempted != "" && (attempted == compared || compared == ""):
		return attempted, promote.Failed, say("the sync fails and is retried", a.operationMessage())
	case a.busy():
		return compared, promote.Pending, say("a sync is running", a.operationMessage())
	case failed && attempted != "" && (attempted == compared || compared == ""):
		return attempted, promote.Failed, say("the sync failed", a.operationMessage())
	case a.unsettled() != "":
		return compared, promote.Pending, a.unsettled()
	case a.complaint() != "":
		return compared, promote.Pending, a.complaint()
	case compared == "":
		return "", promote.Pending, say(a.summary(), "")
	case a.Status.Sync.Status == "Synced" && a.Status.Health.Status == "Healthy":
		return compared, promote.Compliant, ""
	case a.Status.Health.Status == "Degraded" && a.applied(compared, attempted):
		return compared, promote.Failed, say(a.summary(), a.healthMessage())
	}
	detail := a.healthMessage()
	if failed {
		detail = a.operationMessage()
	}
	return compared, promote.Pending, say(a.summary(), detail)
}

// compared is the commit that the cluster was last compared with; none if that was another source, as just after
// the Application was changed.
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

// attempt is the commit that the last sync was about, and whether that failed. A dry run is no attempt.
func (a *application) attempt(source int) (commit string, failed bool) {
	op := a.Status.OperationState
	if op.Operation.Sync.DryRun {
		return "", false
	}
	commit = cmp.Or(op.SyncResult.of(source), op.Operation.Sync.of(source)) // without a result it failed before it began
	return commit, op.Phase == "Failed" || op.Phase == "Error" || op.retrying()
}

// retrying reports whether a sync that failed before is running: Argo CD retries it for minutes.
func (o operation) retrying() bool { return o.Phase == "Running" && o.RetryCount > 0 }

func (a *application) refreshing() bool {
	return a.Metadata.Annotations["argocd.argoproj.io/refresh"] != ""
}

// busy reports whether something is being synced, or is about to be.
func (a *application) busy() bool {
	phase := a.Status.OperationState.Phase
	return a.Operation != nil || phase == "Running" || phase == "Terminating"
}

// unsettled says why the status is not the last word; empty if it is. Health is updated some time after a sync has
// ended, and is until then that of what was there before; the argocd program waits for it just like that.
func (a *application) unsettled() string {
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

// summary is the status in Argo CD's own words: "OutOfSync, Progressing".
func (a *application) summary() string {
	return cmp.Or(a.Status.Sync.Status, "Unknown") + ", " + cmp.Or(a.Status.Health.Status, "Unknown")
}

// say puts a summary and details into one line.
func say(summary, detail string) string {
	return statustext.Line(strings.TrimSuffix(summary+": "+strings.TrimSpace(detail), ": "))
}

// complaint is the first condition that is an error. All others are warnings, whose types end in Warning.
func (a *application) complaint() string {
	for _, c := range a.Status.Conditions {
		if strings.HasSuffix(c.Type, "Error") {
			return say(c.Type, c.Message)
		}
	}
	return ""
}

// operationMessage is what the last sync says, of the object that failed if there is one.
func (a *application) operationMessage() string {
	op := a.Status.OperationState
	for _, r := range op.SyncResult.Resources {
		if r.Message != "" && (r.Status == "SyncFailed" || r.HookPhase == "Failed" || r.HookPhase == "Error") {
			return r.Kind + " " + r.Name + ": " + r.Message
		}
	}
	return op.Message
}

// healthMessage is why the Application is not healthy: the message of the first object that is as ill as the whole, if
// Argo CD keeps them (it need not), else of the whole.
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
	healthHint   = "add resource.customizations.health.argoproj.io_Application to the ConfigMap argocd-cm: without it Argo CD does not check the health of Applications"
	narrowedHint = "remove project and selector from the URL to list all Applications"
	elsewhere    = "add the Argo CD of that cluster: --fleet argocd:https://argocd.example.com"
)

// applications are those that are listed.
type applications struct {
	byName map[objectName]*application
	// narrowed says that the request excluded some.
	narrowed bool
}

// inTree returns one status for each Application of the published tree in the folder that outer pulls. It returns nil
// before outer is synced, because until then the cluster has older objects.
func (all applications) inTree(outer *application, pulled sourceStatus, wanted promote.Deployment) []promote.ReconcilerStatus {
	if outer.Status.Sync.Status != "Synced" || pulled.Commit == "" {
		return nil
	}
	to := outer.Spec.Destination
	here := to.Name == itself || to.Server == server // else another Argo CD may have them
	var seen []promote.ReconcilerStatus
	for _, r := range wanted.Below(pulled.folder) {
		if r.Group != "argoproj.io" || r.Kind != "Application" {
			continue
		}
		name := objectName{cmp.Or(r.Namespace, to.Namespace), r.Name}
		listed := all.byName[name]
		s := promote.ReconcilerStatus{Cluster: pulled.Cluster, Reconciler: "Application/" + name.String(), ClusterType: pulled.ClusterType, Commit: pulled.Commit}
		unseen := statustext.Line(fmt.Sprintf("Application %s of the published tree is not listed by this Argo CD", name))
		switch {
		case !here:
			s.State, s.Warning = pulled.State, promote.Warning{Message: unseen, Hint: elsewhere}
		case listed != nil:
			found := listed.status(allSources)
			s.State, s.Message, s.Again = found.State, found.Message, found.Again
		case all.narrowed:
			s.State, s.Warning = pulled.State, promote.Warning{Message: unseen, Hint: narrowedHint}
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
