// Package impact computes the effect of a change of the model on a fleet: which deployment targets are added and removed
// and why, and which values change and where they are set. It compares two compiled states of an environment, or two
// environments. It has no IO.
package impact
