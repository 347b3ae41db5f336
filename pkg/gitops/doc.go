// Package gitops publishes rendered output: it compares the tree with the tip of a GitOps branch by object ids, commits
// the changes, pushes the commit if the branch has not changed, and submits a pull request (Publication). Output
// directories are written in the same way (Directory).
package gitops
