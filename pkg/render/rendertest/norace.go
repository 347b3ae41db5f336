//go:build !race

package rendertest

// RaceDetector reports whether the race detector is on.
const RaceDetector = false
