// Package argocd reads the state of clusters from an Argo CD server.
//
// In: a promote.Deployment, the commit of a GitOps branch. Out: promote.ReconcilerStatus values, one for each source of an
// Application that pulls this branch and for each Application of the published tree; or a promote.FleetError. The token
// is sent only to the configured server; the size of responses is limited, and a truncated response is an error.
package argocd
