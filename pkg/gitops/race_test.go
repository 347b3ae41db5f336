//go:build race

package gitops

// The race detector makes everything some ten times slower and larger: under it nothing is measured.
const raceDetector = true
