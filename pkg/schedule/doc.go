// Package schedule assigns deployment targets to cluster types.
//
// The input is a *model.Fleet. The output is the Assignments, each with the policies that are its reasons, and a
// diag.List with invalid selectors and policies that match nothing.
//
// Another scheduler can replace Assign: later stages do not depend on the policies.
package schedule
