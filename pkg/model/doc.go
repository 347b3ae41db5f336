// Package model turns repositories into a Fleet: the typed, checked and indexed description of one
// environment.
//
// In: Sources, each a repository tree at one commit with the role it is read for. Out: a Fleet
// that is read-only from then on, and a diag.List with everything that is wrong, at its place.
//
// The way through the package:
//
//	Source ── files.go: which files are read ── documents.go: YAML documents with places
//	       ── decode.go: strict decoding into the kinds of kinds.go ── Parse: *Objects
//	[]*Objects ── tenant.go: what a tenant may not do ── targets.go: workloads unfold into
//	deployment targets ── fleet.go: index, references, duplicates ── *Fleet
//
// The package is pure: it sees repositories as fs.FS and knows no git, network, clock or machine.
package model
