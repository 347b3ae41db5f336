//go:build !race

package render

// schemaSlowdown is how much longer than usual a test may take.
const schemaSlowdown = 1
