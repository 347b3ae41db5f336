//go:build race

package template

// The race detector makes everything some ten times slower and larger: under it nothing is measured.
const raceDetector = true
