// Package azure asks Azure Resource Graph what clusters run.
//
// In: a promote.Deployment, the commit of a GitOps branch. Out: promote.ReconcilerStatus values, one for each Flux configuration
// that pulls this branch; or a promote.FleetError. Answers are bounded, one that is cut off is an error, and a value
// gets into a query in one way only: quoted.
package azure
