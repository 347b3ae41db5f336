// Package remote holds the repositories of a run, on servers, in clones and in plain directories: it reads their
// branches, history and files, and pushes to a branch that is still where it was read.
//
// In: model.Ref values. A Reader reads them side by side, each repository and ref once, from https,
// ssh, bare repositories, clones and plain directories, after the --replace rules. Out: model.Source
// values and a diag.List; a source that cannot be read is an error at the place that refers to it,
// never an empty directory.
//
// Nothing is written to disk and no history is fetched. A remote is asked for the trees of one
// commit first and then for the few files that are read. What servers send is bounded: see
// wire.Limits.
package remote
