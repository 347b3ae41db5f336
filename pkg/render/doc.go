// Package render turns assignments into files.
//
// In: a *model.Fleet and the []schedule.Assignment made for it. Out: a Tree of sorted paths and
// bytes, and a diag.List with everything that keeps it from being published.
//
// The way through the package: package config finds the platform configuration of an assignment and checks
// it, package template runs the templates within bounds, execution.go, manifest.go and builtin.go make documents
// of the results, package verify reads them once more as a stranger would, taint.go proves that no tenant's
// string became more than a value, and tenantstring.go that it stayed a string, tree.go puts them in
// their places.
//
// That is the reference. Most files take a shorter way to the same end, which an execution knows as a shortcut:
// composer.go renders in pieces that files share (plan.go: the steps of a template; fragment.go: the configuration
// entry by entry; rope.go: the pieces), and shape.go knows of files that are alike what package verify and taint.go
// would find.
//
// The package is pure: same fleet and assignments, same bytes, with any parallelism.
package render
