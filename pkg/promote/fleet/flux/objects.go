package flux

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// object is what matters of an object of Flux, of any kind: their fields have the same meaning. The spec is mostly that of
// a Kustomization, https://fluxcd.io/flux/components/kustomize/kustomizations/
type object struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		// URL and Ref are those of a GitRepository: https://fluxcd.io/flux/components/source/gitrepositories/
		URL       string       `json:"url"`
		Ref       gitReference `json:"ref"`
		Path      string       `json:"path"`
		Suspend   bool         `json:"suspend"`
		SourceRef struct {
			Kind string `json:"kind"`
			types.NamespacedName
		} `json:"sourceRef"`
		// TargetNamespace is the namespace of all objects that it applies; empty if the files set it.
		TargetNamespace string `json:"targetNamespace"`
		// Wait makes it wait until all objects that it applies are healthy, HealthChecks until these objects are.
		Wait         bool                   `json:"wait"`
		HealthChecks []types.NamespacedName `json:"healthChecks"`
		// Type is the type of a HelmRepository, such as "oci"; empty for other kinds.
		Type string `json:"type"`
	} `json:"spec"`
	Status status `json:"status"`
}

// objects are those of one kind on a cluster.
type objects map[types.NamespacedName]*object

// gitReference says what a GitRepository follows.
type gitReference struct {
	Branch string `json:"branch"`
	Tag    string `json:"tag"`
	SemVer string `json:"semver"`
	Name   string `json:"name"`
	Commit string `json:"commit"`
}

// branch returns the branch that is followed; empty if it is none, but a tag or a fixed commit. What counts is the
// commit, else the name, the version, the tag, the branch, and last the default of Flux.
func (r gitReference) branch() string {
	name, isBranch := strings.CutPrefix(r.Name, "refs/heads/")
	if r.Commit != "" || r.Name != "" && !isBranch || r.Name == "" && r.SemVer+r.Tag != "" {
		return ""
	}
	return cmp.Or(name, r.Branch, "master")
}

// status is the status of an object of Flux.
type status struct {
	ObservedGeneration int64       `json:"observedGeneration"`
	Conditions         []condition `json:"conditions"`
	// Artifact is the last fetched artifact of a source.
	Artifact struct {
		Revision string `json:"revision"`
	} `json:"artifact"`
	// LastAppliedRevision is set once the applied objects are healthy, LastAttemptedRevision before they are applied.
	LastAppliedRevision   string `json:"lastAppliedRevision"`
	LastAttemptedRevision string `json:"lastAttemptedRevision"`
	// History has the results of reconciliations, the newest first. Flux 2.7 and newer sets it, for Kustomizations
	// only.
	History []struct {
		LastReconciledStatus string            `json:"lastReconciledStatus"`
		Metadata             map[string]string `json:"metadata"`
	} `json:"history"`
}

// source names the GitRepository that is applied; false if it is something else.
func (k *object) source() (types.NamespacedName, bool) {
	name := k.Spec.SourceRef.NamespacedName
	name.Namespace = cmp.Or(name.Namespace, k.Metadata.Namespace)
	return name, k.Spec.SourceRef.Kind == gitRepositories.kind
}

type meta struct {
	types.NamespacedName
	Generation        int64  `json:"generation"`
	DeletionTimestamp string `json:"deletionTimestamp"`
}

// validName reports whether an API server can have accepted a name. Any other is not shown.
func validName(n types.NamespacedName) bool {
	return len(validation.IsDNS1123Label(n.Namespace)) == 0 && len(validation.IsDNS1123Subdomain(n.Name)) == 0
}

// condition is an aspect of an object's state: https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason"`
	// Message is for people. It may have many lines.
	Message            string `json:"message"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// conditionOf returns the condition of a type; the zero one if there is none.
func conditionOf(all []condition, kind string) condition {
	for _, c := range all {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}
