// Package wire sends requests to git servers over HTTP and SSH: within limits of size and time, and again after failures
// that pass.
package wire
