// Package gitops is the edge between kalypso and git: it reads the repositories that a fleet names
// and turns each into a model.Source, a commit and an fs.FS; and it publishes what was rendered.
//
// In: model.Ref values. A Reader reads them side by side, each repository and ref once, from https,
// ssh, bare repositories, clones and plain folders, after the --replace rules. Out: model.Source
// values and a diag.List; a source that cannot be read is an error at the place that asked for it,
// never an empty folder.
//
// Publishing compares the tree with the tip of a GitOps branch by object ids (Compare), makes one commit
// of what changed, pushes it where nobody was faster, and says what its pull request should be
// (Publication, Submit). What a forge does is behind the interfaces PullRequests and Issues.
//
// Nothing is written to disk and no history is fetched. A remote is asked for the trees of one
// commit first and then for the few files that are read. What strangers send is bounded: see
// Limits.
package gitops
