// Package schedule decides which deployment target goes to which cluster type.
//
// In: a *model.Fleet. Out: the Assignments, each with the policies that are its reasons, and a
// diag.List with selectors that make no sense and policies that match nothing.
//
// Assign is the seam for other schedulers: what follows takes assignments as they are and never
// asks why.
package schedule
