// Package source reads the sources of a fleet and their commits: the control plane, the base and the application
// repositories.
package source
