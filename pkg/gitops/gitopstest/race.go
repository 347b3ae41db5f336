//go:build race

package gitopstest

// Race reports whether the race detector is on. It makes everything some ten times slower and larger: nothing is measured
// under it.
const Race = true
