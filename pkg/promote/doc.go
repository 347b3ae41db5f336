// Package promote carries a commit of the control plane's base branch through the chain of environments.
//
// Promoting is writing the commit into the BaseRepo "main" of an environment's branch. Whether the environment
// before runs it is asked of the fleet itself, and told as a status on the commit, which is what the next
// promotion is allowed by: the repositories and their statuses are all the state that there is, so every step can be
// killed and run again.
//
// What decides is pure: the order of environments (Chain), whether a commit may follow another (Guard), what one look
// at the fleet means (Snapshot, Verdict). What it needs of the world are the small interfaces Statuses, Workflows and
// Fleet; package github implements the first two, package fleet the last.
package promote
