// Package argocd asks an Argo CD what clusters run.
//
// In: a promote.Deployment, the commit of a GitOps branch. Out: promote.ReconcilerStatus values, one for each source of an
// Application that pulls this branch and for each Application of the published tree; or a promote.FleetError. The token
// is sent to the server that was named and to no other; answers are bounded, and one that is cut off is an error.
package argocd
