// Package render turns assignments into files.
//
// In: a *model.Fleet and the []schedule.Assignment made for it. Out: a Tree of sorted paths and
// bytes, and a diag.List with everything that keeps it from being published.
//
// The way through the package: package config finds the platform configuration of an assignment and checks
// it, package template runs the templates within bounds, package reference makes files of the results and proves
// that no tenant's string became more than a value, package verify reads them once more as a stranger would, and
// tree.go puts them in their places.
//
// That is the reference. Most files take a shorter way to the same end, which it knows as a Shortcut:
// composer.go renders in pieces that files share (plan.go: the steps of a template; fragment.go: the configuration
// entry by entry; rope.go: the pieces), and shape.go knows of files that are alike what package verify and the
// proof would find.
//
// The package is pure: same fleet and assignments, same bytes, with any parallelism.
package render
