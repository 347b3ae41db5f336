package main

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// update rewrites the golden files with what kalypso does now: make golden.
var update = flag.Bool("update", false, "rewrite the golden files")

// suite is all tests of the package.
type suite struct{ *testing.M }

// Run runs them, with a heap that grows to five times what is in use: that is a few MB, and to collect more often takes a
// sixth of their time. Benchmarks have the collector that users have.
func (s suite) Run() int {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	defer func() { _ = os.RemoveAll(acmeTemplate.dir) }()
	return s.M.Run()
}
