//go:build !unix

package command

import "os/exec"

// together has nothing to do where there are no process groups: the program alone is ended, at once. Its children lose
// their output.
func together(*exec.Cmd) (endAll func()) { return func() {} }
