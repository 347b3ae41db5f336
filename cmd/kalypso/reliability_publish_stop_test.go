//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
)

// stopStep is a request at which a run is stopped.
type stopStep struct {
	step
	signal syscall.Signal
	// late says that the server does what it is asked for, and only the answer does not arrive.
	late bool
}

// stopSteps are all ways to stop a run at a request. Whether a read was answered makes no difference to the server.
func (p *press) stopSteps(signals ...syscall.Signal) []stopStep {
	var all []stopStep
	for _, s := range p.theSteps() {
		for _, signal := range signals {
			all = append(all, stopStep{s, signal, false})
			if s.writes() {
				all = append(all, stopStep{s, signal, true})
			}
		}
	}
	return all
}

// stop runs the program until the request, where it is sent the signal, and makes sure that it ends by it and leaves
// nothing behind.
func (o stopStep) stop(p *press) {
	cmd, left := p.process(usual)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	started := make(chan struct{})
	p.set(func(s step) aFault {
		if s.n != o.n {
			return nil
		}
		return func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
			<-started
			if o.late {
				next.ServeHTTP(httptest.NewRecorder(), r)
			}
			_, _ = io.Copy(io.Discard, r.Body) // only then is it noticed that the client leaves
			_ = cmd.Process.Signal(o.signal)
			<-r.Context().Done()
		}
	})
	if err := cmd.Start(); err != nil { // it may be called from any goroutine
		p.t.Error(err)
		return
	}
	close(started)
	_ = cmd.Wait() // how it ended is looked at below
	p.heard(outcome{0, stdout.String(), stderr.String()})
	which := o.String() + ": " + o.signal.String() + ": " + stderr.String()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if o.signal == syscall.SIGKILL {
		assert.Equal(p.t, o.signal, status.Signal(), which)
	} else {
		assert.Equal(p.t, cli.ExitSignal+int(o.signal), cmd.ProcessState.ExitCode(), which)
		assert.Regexp(p.t, `^(\d+s: .*\n|kalypso: pushed .*\n)*kalypso: interrupted\n$`, stderr.String(), which)
	}
	assert.Empty(p.t, left(), which)
	assert.ErrorIs(p.t, syscall.Kill(-cmd.Process.Pid, 0), syscall.ESRCH, "a process is left: %s", which)
}

// assertNextIsRight makes sure that, after a run was stopped, the next one ends as if that had not happened.
func (o stopStep) assertNextIsRight(p *press) {
	p.assertNothingLost(o.String())
	p.set(nil)
	p.must()
	p.assertRight(o.String())
	assert.Len(p.t, p.repo.Pulls(), 1, o)
}

// TestR3KilledAtAnyStep: whatever a run was doing when it was killed, the next one makes it good.
func TestR3KilledAtAnyStep(t *testing.T) {
	t.Parallel()
	matrix(t)
	stoppedAtAnyStep(t, syscall.SIGKILL)
}

// TestR25TerminatedAtAnyStep: the same, and it ends at once, with 143.
func TestR25TerminatedAtAnyStep(t *testing.T) {
	t.Parallel()
	matrix(t)
	stoppedAtAnyStep(t, syscall.SIGTERM)
}

func stoppedAtAnyStep(t *testing.T, signal syscall.Signal) {
	t.Helper()
	template := newPress(t, acmeFleet(t))
	template.flags = []string{"--label", "fleet"}
	together(template.stopSteps(signal), func(o stopStep) {
		p := template.another()
		o.stop(p)
		o.assertNextIsRight(p)
	})
}

// TestR3StoppedWhileUpdating: the same where a pull request is open already, and gets new content.
func TestR3StoppedWhileUpdating(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := newPress(t, acmeFleet(t))
	template.must()
	template.target("web", "api")
	var writes []stopStep
	for _, o := range template.stopSteps(syscall.SIGTERM, syscall.SIGKILL) {
		if o.writes() || o.what == beforePush {
			writes = append(writes, o)
		}
	}
	require.Len(t, writes, 10)
	together(writes, func(o stopStep) {
		p := template.another()
		o.stop(p)
		o.assertNextIsRight(p)
	})
}

// TestR28CleanRunner: however a run ends, it leaves no file and no process, and changes no configuration of git. (So do those
// that are stopped.)
func TestR28CleanRunner(t *testing.T) {
	t.Parallel()
	template := newPress(t, acmeFleet(t))
	for name, test := range map[string]struct {
		gate gate
		code int
	}{
		"published": {nil, cli.ExitDone},
		"refused":   {when(pushStep, 0, answers(http.StatusForbidden)), cli.ExitRemote},
	} {
		p := template.another()
		config := filepath.Join(p.dir("gitops"), "config")
		before, err := os.ReadFile(config)
		require.NoError(t, err)
		p.set(test.gate)
		cmd, left := p.process(usual)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		got := finish(t, cmd)
		p.heard(got)
		assert.Equal(t, test.code, got.code, "%s: %s", name, got.stderr)
		assert.Empty(t, left(), name)
		require.ErrorIs(t, syscall.Kill(-cmd.Process.Pid, 0), syscall.ESRCH, name)
		after, err := os.ReadFile(config)
		require.NoError(t, err)
		assert.Equal(t, string(before), string(after), name)
		p.assertNothingLost(name)
	}
}

// TestR3StoppedWhileGitReceives: a repository on this machine is pushed to through git, in the middle of which the run
// is stopped. (What git has received by then it removes itself, some time.)
func TestR3StoppedWhileGitReceives(t *testing.T) {
	t.Parallel()
	matrix(t)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		root := acmeFleet(t)
		pid := filepath.Join(t.TempDir(), "pid")
		hook := fmt.Sprintf("#!/bin/sh\nuntil test -s %[1]s; do sleep 0.05; done\nkill -%[2]d $(cat %[1]s)\nuntil ! kill -0 $(cat %[1]s); do sleep 0.05; done\n", pid, signal)
		hooks := filepath.Join(root, "gitops.git", "hooks")
		require.NoError(t, os.MkdirAll(hooks, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(hooks, "pre-receive"), []byte(hook), 0o755))
		cmd := ourProgram(t, acmeArgs(root, nil, "render"))
		require.NoError(t, cmd.Start())
		require.NoError(t, os.WriteFile(pid, []byte(strconv.Itoa(cmd.Process.Pid)), 0o644))
		_ = cmd.Wait() // how it ended is looked at below
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if signal == syscall.SIGKILL {
			assert.Equal(t, signal, status.Signal())
		} else {
			assert.Equal(t, cli.ExitSignal+int(signal), cmd.ProcessState.ExitCode())
		}

		require.NoError(t, os.RemoveAll(hooks))
		mustRun(t, acmeArgs(root, nil, "render")...)
		p := newPress(t, root)
		p.must()
		p.assertRight(signal.String())
	}
}
