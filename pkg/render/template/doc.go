// Package template executes texts of package text/template within limits, with functions that give the same on every
// machine.
package template
