// Package gitops publishes what was rendered: it compares the tree with the tip of a GitOps branch by object ids, makes
// one commit of what changed, pushes it where nobody was faster, and has its pull request opened (Publication).
// Output folders are written the same way (WriteFolder).
package gitops
