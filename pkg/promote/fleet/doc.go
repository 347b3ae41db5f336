// Package fleet has the kinds of fleets of clusters that can be queried. Each kind is a package below and
// implements promote.Fleet: Azure Resource Graph, clusters with Flux, Argo CD, and any program.
//
// In: the value of --fleet, and what queries need of the machine. Out: a promote.Fleet, which is asked of a
// promote.Deployment and answers with promote.ReconcilerStatus values, one for each reconciler that pulls its branch, whatever
// commit it is at; or with a promote.FleetError. What answers is not trusted: answers are bounded, an answer that is cut
// off is an error, and nothing of it is taken for more than text.
package fleet
