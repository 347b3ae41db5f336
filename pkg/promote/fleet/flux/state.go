package flux

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/told"
)

// sighted says what a Kustomization has made of the commits of its repository.
//
// It is compliant if it is ready, for its present spec, with the commit that it applied last. It failed if it is not
// ready, or is stalled and will not try again, for a reason that does not go away as other things come about. All else
// is pending. While the repository cannot be fetched, what was applied before stays as it is: that it has a commit is
// not less true, only no other will come. So the state is that of the applied commit, and the message tells why it
// remains.
func sighted(k *kustomization, source *gitRepository) promote.Sighting {
	s := promote.Sighting{
		Reconciler: k.Metadata.String(),
		Commit:     cmp.Or(told.Commit(k.Status.LastAttemptedRevision), told.Commit(k.Status.LastAppliedRevision)),
	}
	ready := conditionOf(k.Status.Conditions, "Ready")
	stalled := conditionOf(k.Status.Conditions, "Stalled")
	switch {
	case k.Metadata.DeletionTimestamp != "":
		s.State, s.Message = promote.Pending, "it is being deleted"
	case k.Spec.Suspend:
		s.State, s.Message = promote.Pending, "suspended"
	case stalled.Status == "True" && k.observed(stalled):
		s.State, s.Message = promote.Failed, said(stalled)
		s.Commit = cmp.Or(told.Commit(source.Status.Artifact.Revision), s.Commit)
	case ready.Status == "":
		s.State, s.Message = promote.Pending, cmp.Or(trouble(source), "Flux has not tried it yet")
	case !k.observed(ready):
		s.State, s.Message = promote.Pending, "Flux has not seen its present spec yet"
	case ready.Status == "True":
		return applied(s, k, source)
	case ready.Status == "False":
		return unready(s, ready, source)
	default:
		s.State, s.Message = promote.Pending, said(progress(k, ready))
	}
	return s
}

// applied is the sighting of a Kustomization that is ready.
func applied(s promote.Sighting, k *kustomization, source *gitRepository) promote.Sighting {
	s.Commit = told.Commit(k.Status.LastAppliedRevision)
	switch {
	case s.Commit == "":
		s.State = promote.Pending
		s.Message = fmt.Sprintf("it applied %q, which names no commit", line(k.Status.LastAppliedRevision))
	case k.Status.ObservedGeneration != k.Metadata.Generation: // this is set with success, and then only
		s.State, s.Message = promote.Pending, "Flux has not seen its present spec yet"
	default:
		s.State, s.Message = promote.Compliant, trouble(source)
	}
	return s
}

// unready is the sighting of a Kustomization that is not ready. Which commit it is about depends on how far it came:
// the attempt at a revision is noted only once the revision was fetched and the folder found in it.
func unready(s promote.Sighting, ready condition, source *gitRepository) promote.Sighting {
	s.State, s.Message = promote.Failed, said(ready)
	offered := told.Commit(source.Status.Artifact.Revision)
	switch ready.Reason {
	case "DependencyNotReady", "HealthCheckCanceled", "Progressing", "ProgressingWithRetry":
		s.State = promote.Pending
	case "ArtifactFailed", "AccessDenied", "DirectoryCreationFailed":
		if offered == "" { // there is nothing yet that could fail
			s.State, s.Message = promote.Pending, cmp.Or(trouble(source), s.Message)
			break
		}
		s.Commit = offered
	default:
		s.Commit = cmp.Or(s.Commit, offered)
	}
	return s
}

// observed tells whether a condition is about the present spec. The generation of the object's status is of no use if
// it failed, for Flux sets it with success; each condition has its own, but had none in early versions.
func (k *kustomization) observed(c condition) bool {
	return cmp.Or(c.ObservedGeneration, k.Status.ObservedGeneration) == k.Metadata.Generation
}

// progress is the condition that tells most of what goes on.
func progress(k *kustomization, ready condition) condition {
	if c := conditionOf(k.Status.Conditions, "Reconciling"); c.Status == "True" && c.Message != "" {
		return c
	}
	return ready
}

// trouble says why no new commits come from a repository; empty if they do. Which commit it could not fetch a
// repository does not know, and what keeps it may pass: so no commit failed, and the clusters wait.
func trouble(r *gitRepository) string {
	name := gitRepositories.kind + " " + r.Metadata.String()
	if r.Spec.Suspend {
		return name + " is suspended"
	}
	if c := conditionOf(r.Status.Conditions, "FetchFailed"); c.Status == "True" {
		return name + ": " + said(c)
	}
	if c := conditionOf(r.Status.Conditions, "Ready"); c.Status == "False" {
		return name + ": " + said(c)
	}
	return ""
}

// said is what a condition tells people, or at least its reason.
func said(c condition) string {
	return cmp.Or(line(firstLine(c.Message)), line(c.Reason), "Flux does not say why")
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}

// line makes a stranger's text fit for a message.
func line(text string) string { return new(gitops.Scrubber).Line(text) }
