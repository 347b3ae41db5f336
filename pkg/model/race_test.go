//go:build race

package model

// The race detector makes everything some ten times slower and larger: under it nothing is measured.
const raceDetector = true
