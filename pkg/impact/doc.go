// Package impact says what a change of the model does to a fleet: which deployment targets come and go and why, and which
// values change and where the new ones come from. It compares two states of an environment, or two environments, after
// schedule and render have made the same of both that they make of what is published. It reads nothing.
package impact
