// Package fleet has the kinds of fleets of clusters that can be queried. Each kind is a package below and
// implements promote.Fleet: Azure Resource Graph, clusters with Flux, Argo CD, and any program.
//
// In: the value of --fleet, and the environment of the process. Out: a promote.Fleet, which returns for a promote.Deployment
// one promote.ReconcilerStatus for each reconciler that pulls its branch, at any commit, or a promote.FleetError. Responses
// are not trusted: their size is limited, a truncated response is an error, and their values are only used as text.
package fleet
