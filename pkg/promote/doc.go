// Package promote carries a commit of the control plane's base branch through the chain of environments.
//
// To promote a commit is to write it into the BaseRepo "main" of an environment's branch. A Check asks the fleet whether
// the environment has deployed the commit, and sets a status on it, which allows the next promotion. All state lives in
// the repositories and in the statuses of their commits, so every step can be killed and run again.
//
// Decisions are pure: the order of environments (Chain), whether a commit may be promoted (guard), what a snapshot of the
// fleet means (RolloutState). Package github implements the interface StatusSource, package fleet implements Fleet.
package promote
