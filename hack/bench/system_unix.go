//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// settle waits until what was written before is on the disk.
func settle() { syscall.Sync() }

// peak is the largest resident set of a process that has ended, in bytes.
func peak(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return usage.Maxrss // in bytes there, in KiB elsewhere
	}
	return usage.Maxrss * 1024
}
