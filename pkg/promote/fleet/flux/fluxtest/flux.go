package fluxtest

// Generation is that of the objects made here.
const Generation = 2

// Name is the namespace and name of all objects made here, until changed.
const Name = "flux-system"

const stamp = "2026-05-04T09:30:00Z"

// GitRepository is one that has fetched a commit of a branch.
func GitRepository(url, branch, commit string) Object {
	revision := branch + "@sha1:" + commit
	return Object{
		"apiVersion": "source.toolkit.fluxcd.io/v1",
		"kind":       "GitRepository",
		"metadata":   metadata("b2f0c5ee-3b2a-4b0e-9b52-0f6d4f0a7f11"),
		"spec":       map[string]any{"interval": "1m0s", "ref": map[string]any{"branch": branch}, "url": url},
		"status": map[string]any{
			"artifact": map[string]any{"lastUpdateTime": stamp, "revision": revision},
			"conditions": []any{
				Condition("Ready", "True", "Succeeded", "stored artifact for revision '"+revision+"'"),
				Condition("ArtifactInStorage", "True", "Succeeded", "stored artifact for revision '"+revision+"'"),
			},
			"observedGeneration": Generation,
		},
	}
}

// Kustomization is one that has applied a directory of the GitRepository at a revision, and found it healthy.
func Kustomization(path, revision string) Object {
	return Object{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1",
		"kind":       "Kustomization",
		"metadata":   metadata("7a4d1f9c-92c3-4a37-8a0b-5d9f0b1c2d3e"),
		"spec": map[string]any{
			"force":     false,
			"interval":  "10m0s",
			"path":      path,
			"prune":     true,
			"sourceRef": map[string]any{"kind": "GitRepository", "name": Name},
			"wait":      true,
		},
		"status": map[string]any{
			"conditions": []any{
				Condition("Ready", "True", "ReconciliationSucceeded", "Applied revision: "+revision),
				Condition("Healthy", "True", "Succeeded", "Health check passed in 5.0s"),
			},
			"lastAppliedRevision":   revision,
			"lastAttemptedRevision": revision,
			"observedGeneration":    Generation,
		},
	}
}

// Condition is a condition about the present spec.
func Condition(kind, status, reason, message string) map[string]any {
	return map[string]any{
		"lastTransitionTime": stamp,
		"message":            message,
		"observedGeneration": Generation,
		"reason":             reason,
		"status":             status,
		"type":               kind,
	}
}

func metadata(uid string) map[string]any {
	return map[string]any{
		"creationTimestamp": stamp,
		"finalizers":        []any{"finalizers.fluxcd.io"},
		"generation":        Generation,
		"name":              Name,
		"namespace":         Name,
		"resourceVersion":   "41783",
		"uid":               uid,
	}
}
