//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// TestR25SignalWhileReading interrupts runs that wait for a server that does not answer.
func TestR25SignalWhileReading(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	out, before := outputBefore(t, root)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		for _, read := range theReads {
			which := fmt.Sprintf("%s: %v", read.name, signal)
			asked := make(chan struct{}, 100)
			url := serve(t, root, read.nth, func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
				_, _ = io.Copy(io.Discard, r.Body) // only then is it noticed that the client leaves
				asked <- struct{}{}
				<-r.Context().Done()
			})
			args := acmeArgs(root, map[string]string{read.repo: url + "/" + read.repo + ".git"}, "render")
			if read.dryRun {
				args = append(args, "--dry-run")
			} else {
				args = append(args, "--output-dir", out)
			}
			cmd := ourProgram(t, args)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			require.NoError(t, cmd.Start())
			<-asked
			require.NoError(t, cmd.Process.Signal(signal))
			_ = cmd.Wait()
			code := cmd.ProcessState.ExitCode()
			assert.Equal(t, cli.ExitSignal+int(signal), code, "%s: %s", which, stderr.String())
			assert.Equal(t, "kalypso: interrupted\n", stderr.String(), which)
			assertDocumented(t, code)
		}
	}
	assertUntouched(t, out, before, "all of them")
}

// manyTargets is the fleet of acmeFleet with so many targets that rendering and writing take a moment.
// What it renders depends on the version.
func manyTargets(t *testing.T) (root string, publish func(version string)) {
	t.Helper()
	root = acmeFleet(t)
	const targets = 150
	publish = func(version string) {
		specs := make([]string, targets)
		for i := range specs {
			specs[i] = fmt.Sprintf("{name: web-%d, environment: dev, manifests: {repo: %s, branch: %s, path: .}}", i, acme("app-1"), version)
		}
		addRepo(t, root, "app-1", gitopstest.Commit{Files: gitopstest.Files{
			"workload.yaml": acmeObject("Workload", "app-1", "spec: {deploymentTargets: ["+strings.Join(specs, ", ")+"]}"),
		}})
	}
	publish("before")
	return root, publish
}

// stopped is a run that something ended at some moment.
type stopped func(args []string, moment time.Duration) (code int)

// assertAllOrNothing renders a new version over an old one many times, each time stopped at another
// moment. The directory is then either unchanged or complete, and the exit code says which.
func assertAllOrNothing(t *testing.T, stop stopped, codes ...int) {
	t.Helper()
	root, publish := manyTargets(t)
	parent := t.TempDir()
	out := filepath.Join(parent, "out")
	args := acmeArgs(root, nil, "render", "--output-dir", out)
	mustRun(t, args...)
	old := everything(t, parent)
	pristine := filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.CopyFS(pristine, os.DirFS(out)))
	publish("after")
	start := time.Now()
	fresh := filepath.Join(t.TempDir(), "out")
	mustRun(t, acmeArgs(root, nil, "render", "--output-dir", fresh)...)
	whole := time.Since(start) // a guess at when it is worth stopping, nothing more
	updated := everything(t, filepath.Dir(fresh))
	require.NotEqual(t, old, updated)

	const moments = 10
	ended := 0
	for i := range moments {
		code := stop(args, whole*time.Duration(i)/moments)
		if code == cli.ExitDone {
			assertSameFiles(t, updated, everything(t, parent), "done")
			require.NoError(t, os.RemoveAll(out))
			require.NoError(t, os.CopyFS(out, os.DirFS(pristine)))
			continue
		}
		ended++
		assert.Contains(t, codes, code)
		assertSameFiles(t, old, everything(t, parent), "stopped after %v", whole*time.Duration(i)/moments)
	}
	assert.Positive(t, ended)
}

// TestR25SignalAtAnyMoment: reading, rendering, writing.
func TestR25SignalAtAnyMoment(t *testing.T) {
	t.Parallel()
	matrix(t)
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}
	calls := 0
	assertAllOrNothing(t, func(args []string, moment time.Duration) int {
		cmd := ourProgram(t, args)
		require.NoError(t, cmd.Start())
		time.Sleep(moment)
		require.NoError(t, cmd.Process.Signal(signals[calls%2]))
		calls++
		err := cmd.Wait()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return cli.ExitSignal + int(status.Signal()) // before main had begun
		}
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			require.NoError(t, err)
		}
		return cmd.ProcessState.ExitCode()
	}, 130, 143)
}

// TestR26DeadlineAtAnyMoment: the same, with --timeout.
func TestR26DeadlineAtAnyMoment(t *testing.T) {
	t.Parallel()
	matrix(t)
	assertAllOrNothing(t, func(args []string, moment time.Duration) int {
		got := kalypso(t, append(args, "--timeout", max(moment, time.Millisecond).String())...)
		if got.code == cli.ExitTimeUp {
			assert.Contains(t, got.stderr, "error: timed out after ")
			assert.Contains(t, got.stderr, "nothing was written")
			assert.NotContains(t, got.stderr, "cannot be written")
		}
		return got.code
	}, cli.ExitTimeUp)
}

// TestR25SecondSignal: a run that hangs where the first signal cannot help, as nobody reads what it
// prints, ends with the second.
func TestR25SecondSignal(t *testing.T) {
	t.Parallel()
	matrix(t)
	root := acmeFleet(t)
	nobodyReads, stdout, err := os.Pipe()
	require.NoError(t, err)
	defer nobodyReads.Close()
	defer stdout.Close()
	for written := 1; written > 0; { // until it is full; on a busy machine the time can be up before
		require.NoError(t, stdout.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		written, err = stdout.Write(make([]byte, 16<<20))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	}

	// The run is about to print when the directory is there. A signal that comes before it hangs stops it as usual: then it
	// is given more time.
	for pause := 100 * time.Millisecond; pause < time.Minute; pause *= 2 {
		out := filepath.Join(t.TempDir(), "out")
		cmd := ourProgram(t, acmeArgs(root, nil, "render", "--output-dir", out))
		cmd.Stdout = stdout
		require.NoError(t, cmd.Start())
		for {
			if _, err := os.Stat(out); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(pause)
		status, signals := interruptUntilEnd(t, cmd)
		if signals == 1 && !status.Signaled() {
			continue
		}
		assert.True(t, status.Signaled(), "by the signal, not by its own decision")
		assert.Equal(t, syscall.SIGINT, status.Signal())
		assert.GreaterOrEqual(t, signals, 2)
		return
	}
	t.Fatal("no run hung")
}

// interruptUntilEnd sends SIGINT every 100 ms until a program ends, and returns how it did and the number of signals.
func interruptUntilEnd(t *testing.T, cmd *exec.Cmd) (syscall.WaitStatus, int) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the caller looks at how it ended
	}()
	for signals := 1; ; signals++ {
		_ = cmd.Process.Signal(syscall.SIGINT)
		select {
		case <-ended:
			status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
			require.True(t, ok)
			return status, signals
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// TestR26SilentSSHServer accepts a connection and says nothing.
func TestR26SilentSSHServer(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	ssh := gitopstest.NewSSHServer(t, root)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var connections sync.WaitGroup
	asked := make(chan struct{}, 100)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			asked <- struct{}{}
			connections.Go(func() { _, _ = io.Copy(io.Discard, c) })
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); connections.Wait() })
	for timeout := 2 * time.Second; ; timeout *= 3 { // on a slow machine it may be up before the server was asked
		cmd := ourProgram(t, acmeArgs(root, map[string]string{"app-2": "ssh://git@" + listener.Addr().String() + "/app-2.git"}, "validate", "--timeout", timeout.String()),
			"SSH_AUTH_SOCK="+ssh.AgentSocket, "SSH_KNOWN_HOSTS="+ssh.KnownHosts)
		got := finish(t, cmd)
		assert.Equal(t, cli.ExitTimeUp, got.code, got.stderr)
		if len(asked) == 0 {
			require.Less(t, timeout, safetyNet, got.stderr)
			continue
		}
		assert.Contains(t, got.stderr, "reading "+acme("app-2")+" ")
		assert.Contains(t, got.stderr, "while reading dev [time-is-up]")
		return
	}
}
