//go:build race

package render

// schemaSlowdown is how much longer than usual a test may take: the race detector is slow.
const schemaSlowdown = 20
