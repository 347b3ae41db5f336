// Package fleet asks fleets of clusters what they run. Each kind of fleet is a file and implements
// promote.Fleet: Azure Resource Graph, clusters with Flux, Argo CD, and any program.
//
// In: a promote.Deployment, the commit of a GitOps branch. Out: promote.Sighting values, one for each reconciler
// that pulls this branch, whatever commit it is at; or a promote.FleetError. What answers is not trusted: answers are
// bounded, an answer that is cut off is an error, and nothing of it is taken for more than text.
package fleet
