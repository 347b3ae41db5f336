// Package model reads repositories into a Fleet: the typed, checked and indexed description of one
// environment.
//
// In: Sources, each a repository tree at one commit with the role it is read for. Out: a Fleet
// that is read-only, and a diag.List with all problems and their places.
//
// Steps:
//
//	Source ── files.go: which files are read ── documents.go: YAML documents with places
//	       ── decode.go: strict decoding into the kinds of kinds.go ── Parse: *Objects
//	[]*Objects ── tenant.go: what a tenant may not do ── targets.go: workloads unfold into
//	deployment targets ── fleet.go: index, references, duplicates ── *Fleet
//
// The package is pure: it reads repositories as fs.FS and does not use git, network, clock or the file system.
package model
