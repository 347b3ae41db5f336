//go:build unix

package command

import (
	"os/exec"
	"syscall"
)

// together gives a program a process group of its own, so that it ends with all that it has started: asked to once the
// context is done (what holds a lock should give it back), and by force with the function that is returned, which is
// to be called after Wait. What makes itself a group or session of its own, as daemons do, is left alone.
func together(cmd *exec.Cmd) (endAll func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	signal := func(s syscall.Signal) error {
		return syscall.Kill(-cmd.Process.Pid, s) //nolint:forbidigo // whoever starts a program must be able to end it
	}
	cmd.Cancel = func() error { return signal(syscall.SIGTERM) }
	return func() {
		_ = signal(syscall.SIGKILL) // mostly there is no such group any more
	}
}
