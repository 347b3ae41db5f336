// Package fleettest makes large fleets for benchmarks and for tests of what holds at any size.
//
// In: how many cluster types, workloads and configs. Out: the files of the control plane and of the application
// repositories, the same bytes for the same size on every machine. They are made to cost what a fleet of a retailer
// costs: labels and policies of several kinds, configuration at every level from all of the fleet to a single target,
// values of every form, templates with conditions and loops, and schemas. Nothing in them is wrong.
package fleettest
