//go:build race

package rendertest

// RaceDetector reports whether the race detector is on. It makes everything some ten times slower and larger: under it
// nothing is measured.
const RaceDetector = true
