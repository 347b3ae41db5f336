// Package flux queries clusters that run Flux, through the contexts of a kubeconfig.
//
// In: a promote.Deployment, the commit of a GitOps branch. Out: promote.ReconcilerStatus values, one for each Kustomization that
// applies this branch, one for each reconciler of the published tree that it has applied, and one for each cluster that
// should have one and has not; or a promote.FleetError. Answers are bounded, and an answer that is cut off is an error.
package flux
