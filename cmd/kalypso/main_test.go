package main

import (
	"flag"
	"os"
	"testing"
)

// update rewrites the golden files with what kalypso does now: make golden.
var update = flag.Bool("update", false, "rewrite the golden files")

// suite is all tests of the package.
type suite struct{ *testing.M }

// Run runs them, and removes what they share.
func (s suite) Run() int {
	defer func() { _ = os.RemoveAll(acmeTemplate.dir) }()
	return s.M.Run()
}
