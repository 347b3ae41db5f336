//go:build unix

package main

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFaultsCheckKilled kills the program itself before and after each request that changes something, and before some that do
// not. The next run ends in the same place.
func TestFaultsCheckKilled(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := aDueChain(t)
	template.command = append(template.command, "--interval", "1ms")
	want := template.undisturbed()
	var all []stopStep
	for i, s := range template.theSteps() {
		switch {
		case s.writes():
			all = append(all, stopStep{s, syscall.SIGKILL, false}, stopStep{s, syscall.SIGKILL, true})
		case i%4 == 0:
			all = append(all, stopStep{s, syscall.SIGKILL, false})
		}
	}
	require.Greater(t, len(all), 12)
	together(all, func(o stopStep) {
		c := template.another()
		o.stop(c.press)
		c.assertHeals(want, o.String())
	})
}

// TestFaultsCheckTerminated: a run that is asked to stop ends at once with 143, whatever it waits for, and leaves no process.
func TestFaultsCheckTerminated(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := aDueChain(t)
	template.command = append(template.command, "--interval", "1ms")
	want := template.undisturbed()
	var all []stopStep
	for i, s := range template.theSteps() {
		if i%5 == 3 || s.what == "POST control-plane push" {
			all = append(all, stopStep{s, syscall.SIGTERM, s.writes()})
		}
	}
	together(all, func(o stopStep) {
		c := template.another()
		o.stop(c.press)
		c.assertHeals(want, o.String())
	})
}
