// Package source reads the sources of a fleet: the control plane, the base and the application repositories that they
// name, and at which commits they are.
package source
