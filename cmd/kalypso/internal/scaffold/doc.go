// Package scaffold writes what a new fleet begins with: the branches of a control plane and of a GitOps repository, the
// workflows between them, and a sample of a whole fleet to try kalypso with.
//
// In: what the repositories and environments are called. Out: files by path, and nothing else: who calls it makes
// repositories of them. The workflows in docs/workflows are made here too, so that there is one of each.
package scaffold
