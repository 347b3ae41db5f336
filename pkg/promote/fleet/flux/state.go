package flux

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

// reconcilerStatus returns the status of a Kustomization.
//
// It is compliant if it is ready, for its current spec, with the commit that it applied last. It failed if it is not
// ready, or is stalled, for a reason other than waiting for something. Otherwise it is pending. If the repository cannot
// be fetched, the state is still that of the applied commit, and the message is why no new commit is applied.
func reconcilerStatus(k *object, source *object) promote.ReconcilerStatus {
	s := k.state(source)
	s.Reconciler = k.Metadata.String()
	switch {
	case s.State != promote.Compliant:
	case s.Commit == "":
		s.State = promote.Pending
		s.Message = fmt.Sprintf("it applied %q, which names no commit", line(k.Status.LastAppliedRevision))
	default:
		s.Message = sourceProblem(source)
	}
	return s
}

// state returns the state of an object of Flux, and its commit. For an object that is not ready that
// depends on the progress: Flux sets the attempted revision only after it fetched the revision and found the directory in it.
func (k *object) state(source *object) promote.ReconcilerStatus {
	applied, offered := statustext.Commit(k.Status.LastAppliedRevision), statustext.Commit(source.Status.Artifact.Revision)
	tried := cmp.Or(statustext.Commit(k.Status.LastAttemptedRevision), applied)
	ready, stalled := conditionOf(k.Status.Conditions, "Ready"), conditionOf(k.Status.Conditions, "Stalled")
	current := k.Status.ObservedGeneration == k.Metadata.Generation // of Kustomizations this is set with success, and then only
	pending := func(message string) promote.ReconcilerStatus {
		return promote.ReconcilerStatus{Commit: tried, State: promote.Pending, Message: message}
	}
	switch {
	case k.Metadata.DeletionTimestamp != "":
		return pending("it is being deleted")
	case k.Spec.Suspend:
		return pending("suspended")
	case stalled.Status == "True" && k.observed(stalled):
		return promote.ReconcilerStatus{Commit: cmp.Or(offered, tried), State: promote.Failed, Message: messageOf(stalled)}
	case ready.Status == "":
		return pending(cmp.Or(sourceProblem(source), "Flux has not reconciled it yet"))
	case !k.observed(ready), ready.Status == "True" && !current:
		return pending("Flux has not observed its current spec yet")
	case ready.Status == "True":
		return promote.ReconcilerStatus{Commit: applied, State: promote.Compliant}
	case ready.Status == "False" && ready.isWaiting():
		return pending(messageOf(ready))
	case ready.Status == "False" && ready.noAttempt() && offered == "": // without an artifact nothing can fail yet
		return pending(cmp.Or(sourceProblem(source), messageOf(ready)))
	case ready.Status == "False" && ready.noAttempt():
		return promote.ReconcilerStatus{Commit: offered, State: promote.Failed, Message: messageOf(ready)}
	case ready.Status == "False":
		return promote.ReconcilerStatus{Commit: cmp.Or(tried, offered), State: promote.Failed, Message: messageOf(ready)}
	}
	settled, known := k.settled()
	if current && settled {
		return promote.ReconcilerStatus{Commit: tried, State: promote.Compliant}
	}
	details := ready
	if c := conditionOf(k.Status.Conditions, "Reconciling"); c.Status == "True" && c.Message != "" {
		details = c
	}
	s := pending(messageOf(details))
	s.Again = current && !known
	return s
}

// settled reports whether the last reconciliation of the current revision succeeded, for an object that is being
// reconciled; known is false if its status does not contain that. Flux reconciles healthy objects at each interval, and their
// Ready condition is unknown during that time.
func (k *object) settled() (well, known bool) {
	s := &k.Status
	healthy := conditionOf(s.Conditions, "Healthy").Status
	switch {
	case s.Artifact.Revision != "": // a source
		return conditionOf(s.Conditions, "FetchFailed").Status != "True", true
	case s.LastAppliedRevision != "" && s.LastAppliedRevision != s.LastAttemptedRevision:
		return false, true
	case len(s.History) > 0 && s.History[0].LastReconciledStatus != "":
		last := s.History[0]
		return last.LastReconciledStatus == "ReconciliationSucceeded" && last.Metadata["revision"] == s.LastAppliedRevision, true
	}
	return healthy == "True", healthy == "True" || healthy == "False"
}

// isWaiting reports whether an object is not ready only because it waits for another one or was interrupted.
func (c condition) isWaiting() bool {
	return slices.Contains([]string{"DependencyNotReady", "SourceNotReady", "HealthCheckCanceled", "Progressing", "ProgressingWithRetry"}, c.Reason)
}

// noAttempt reports whether a Kustomization failed before it set the attempted revision.
func (c condition) noAttempt() bool {
	return slices.Contains([]string{"ArtifactFailed", "AccessDenied", "DirectoryCreationFailed"}, c.Reason)
}

// observed reports whether a condition is about the current spec. Flux sets the generation in the object's status only on
// success, so the generation of the condition is preferred, which early versions do not set.
func (k *object) observed(c condition) bool {
	return cmp.Or(c.ObservedGeneration, k.Status.ObservedGeneration) == k.Metadata.Generation
}

// sourceProblem returns the reason why no new commits are fetched from a repository; empty if they are. It is unknown
// which commit could not be fetched, and the problem may be temporary, so no commit has failed.
func sourceProblem(r *object) string {
	name := gitRepositories.kind + " " + r.Metadata.String()
	if r.Spec.Suspend {
		return name + " is suspended"
	}
	if c := conditionOf(r.Status.Conditions, "FetchFailed"); c.Status == "True" {
		return name + ": " + messageOf(c)
	}
	if c := conditionOf(r.Status.Conditions, "Ready"); c.Status == "False" {
		return name + ": " + messageOf(c)
	}
	return ""
}

// messageOf returns the message of a condition, or at least its reason.
func messageOf(c condition) string {
	return cmp.Or(line(c.Message), line(c.Reason), "Flux reports no reason")
}

// line returns the first line of a text of a cluster, without secrets.
func line(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return new(credentials.Scrubber).Line(first)
}

// treeKinds are the kinds of Flux that a published tree may contain. Except for the first two, a kind is listed only if
// the tree contains it.
var treeKinds = []kind{
	gitRepositories, kustomizations,
	{group: "helm.toolkit.fluxcd.io", plural: "helmreleases", kind: "HelmRelease", versions: []string{"v2", "v2beta2"}},
	{group: "source.toolkit.fluxcd.io", plural: "buckets", kind: "Bucket"},
	{group: "source.toolkit.fluxcd.io", plural: "helmcharts", kind: "HelmChart"},
	{group: "source.toolkit.fluxcd.io", plural: "helmrepositories", kind: "HelmRepository"},
	{group: "source.toolkit.fluxcd.io", plural: "ocirepositories", kind: "OCIRepository"},
}

const (
	waitHint   = "add `wait: true` to its spec; the `timeout` of an outer Kustomization must be longer than those of the inner ones"
	argoCDHint = "add the Argo CD of the cluster: --fleet argocd:https://argocd.example.com"
)

// treeObjects are the objects of a cluster that may be in the published tree, by kind and name.
type treeObjects map[string]objects

// is reports whether a reconciler of a tree is of the kind.
func (k kind) is(r gitops.Reconciler) bool { return k.group == r.Group && k.kind == r.Kind }

// statuses returns one status for each reconciler of the tree in the directory of a Kustomization. It returns nil
// before the Kustomization has applied its commit, because until then their state is that of older objects. by is the
// status of the Kustomization.
func (t treeObjects) statuses(by promote.ReconcilerStatus, k *object, wanted promote.Deployment) []promote.ReconcilerStatus {
	if !k.hasApplied(by.State) {
		return nil
	}
	var statuses []promote.ReconcilerStatus
	for _, r := range wanted.Below(k.Spec.Path) {
		name := k.nameOf(r)
		s := promote.ReconcilerStatus{
			Cluster: by.Cluster, Reconciler: r.Kind + "/" + name.String(), ClusterType: by.ClusterType, Commit: by.Commit,
		}
		found := t[r.Kind][name]
		switch {
		case !slices.ContainsFunc(treeKinds, func(k kind) bool { return k.is(r) }): // an Application of Argo CD
			s.State, s.Warning = by.State, promote.Warning{Message: line(r.Kind+" "+name.String()) + " is not checked by flux", Hint: argoCDHint}
		case found == nil && by.Commit != wanted.Commit: // a newer commit may have removed it
			continue
		case found == nil:
			s.State, s.Message = promote.Pending, "not found"
		default:
			state := t.treeState(r.Kind, found)
			s.State, s.Message, s.Again = state.State, state.Message, state.Again
			if r.Kind == kustomizations.kind && len(found.Spec.HealthChecks) == 0 {
				s.Warning = found.unwaiting()
			}
		}
		if s.Message != "" {
			s.Message = line(r.Kind+" "+name.String()) + ": " + s.Message
		}
		statuses = append(statuses, s)
	}
	return statuses
}

// nameOf returns the name of a reconciler of the tree on the cluster.
func (k *object) nameOf(r gitops.Reconciler) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(k.Spec.TargetNamespace, r.Namespace), Name: r.Name}
}

// hasApplied reports whether a Kustomization has applied all objects of its commit, whether they are healthy or not.
func (k *object) hasApplied(state promote.State) bool {
	healthy := conditionOf(k.Status.Conditions, "Healthy")
	return state == promote.Compliant || conditionOf(k.Status.Conditions, "Ready").Reason == "HealthCheckFailed" ||
		healthy.Status == "Unknown" && k.observed(healthy)
}

// treeState returns the state of an object of the tree.
func (t treeObjects) treeState(kind string, k *object) promote.ReconcilerStatus {
	if kind == "HelmRepository" && k.Spec.Type == "oci" { // Flux never reconciles it
		return promote.ReconcilerStatus{State: promote.Compliant}
	}
	source := &object{}
	if name, git := k.source(); git && kind == kustomizations.kind && t[gitRepositories.kind][name] != nil {
		source = t[gitRepositories.kind][name]
	}
	s := k.state(source)
	offered, ready := source.Status.Artifact.Revision, conditionOf(k.Status.Conditions, "Ready")
	switch {
	case s.State == promote.Pending:
	case source.Status.ObservedGeneration != source.Metadata.Generation:
		s.State, s.Message = promote.Pending, "Flux has not seen the present spec of its GitRepository yet"
	case offered != "" && offered != k.Status.LastAttemptedRevision && !ready.noAttempt():
		s.State, s.Message = promote.Pending, fmt.Sprintf("it has not tried %s yet", line(offered))
	}
	return s
}

// waitingFor returns a warning if a Kustomization does not wait for the expected reconcilers, which it applies.
func (k *object) waitingFor(expected []gitops.Reconciler) promote.Warning {
	unwatched := func(r gitops.Reconciler) bool { return !slices.Contains(k.Spec.HealthChecks, k.nameOf(r)) }
	if !slices.ContainsFunc(expected, unwatched) {
		return promote.Warning{}
	}
	return k.unwaiting()
}

// unwaiting returns a warning if a Kustomization does not wait for all that it applies.
func (k *object) unwaiting() promote.Warning {
	if k.Spec.Wait {
		return promote.Warning{}
	}
	return promote.Warning{Message: "Kustomization " + k.Metadata.String() + " does not wait for what it applies", Hint: waitHint}
}
