//go:build race

package main

// The race detector makes everything some ten times slower, processes that a test starts included.
const raceDetector = true
