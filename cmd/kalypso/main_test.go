package main

import "flag"

// update rewrites the golden files with what kalypso does now: make golden.
var update = flag.Bool("update", false, "rewrite the golden files")
