//go:build !race

package template

const raceDetector = false
