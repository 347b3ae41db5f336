package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// programMarker makes this test binary be the programs of the tests below.
const programMarker = "FLEET_TEST_PROGRAM"

// programArgs are what starts this binary as one of the programs of TestProgram.
func programArgs(t *testing.T, name string, args ...string) []string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return append([]string{self, "-test.run=^TestProgram$", "--", name}, args...)
}

// programText is the same as the text of a command.
func programText(t *testing.T, name string, args ...string) string {
	t.Helper()
	var quoted []string
	for _, arg := range programArgs(t, name, args...) {
		quoted = append(quoted, "'"+strings.ReplaceAll(arg, "'", `'"'"'`)+"'")
	}
	return strings.Join(quoted, " ")
}

// programEnviron is an environment in which this binary is a program, not a test.
func programEnviron(more ...string) []string {
	return append(append(os.Environ(), programMarker+"=1"), more...)
}

// TestProgram is no test, but the programs that the others start.
func TestProgram(*testing.T) {
	if os.Getenv(programMarker) == "" {
		return
	}
	_, args, _ := strings.Cut(strings.Join(os.Args, "\x00"), "\x00--\x00")
	words := strings.Split(args, "\x00")
	os.Exit(testProgram(words[0], words[1:]))
}

func testProgram(name string, args []string) int {
	switch name {
	case "print": // its arguments to stdout
		fmt.Print(strings.Join(args, " "))
	case "args": // each in a line
		fmt.Print(strings.Join(args, "\n"))
	case "environ":
		fmt.Print(strings.Join(os.Environ(), "\n"))
	case "fail": // some lines to stderr, then exit code 7
		fmt.Println("on its way")
		fmt.Fprint(os.Stderr, strings.Join(args, "\n"))
		return 7
	case "missing": // as a shell ends that does not find a program
		return 127
	case "signal":
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		time.Sleep(time.Minute)
	case "flood": // without end
		for {
			if _, err := os.Stdout.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
				return 1
			}
		}
	case "hang": // says its process id, and stays whatever it is asked
		signal.Ignore(syscall.SIGTERM)
		fmt.Println(os.Getpid())
		time.Sleep(time.Minute)
	case "parent", "leave": // starts a child that keeps the output open; "leave" does not wait for it
		child := exec.Command(os.Args[0], "-test.run=^TestProgram$", "--", "hang")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return 1
		}
		if name == "parent" {
			_ = child.Wait()
		}
	case "polite": // ends when it is asked to
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("ready")
		<-asked
		fmt.Println("gave the lock back")
	}
	return 0
}

func TestSplitCommand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"./state.sh":                    {"./state.sh"},
		"  ./state.sh   --all ":         {"./state.sh", "--all"},
		`sh -c 'a "b" | c' "x y" d\ e`:  {"sh", "-c", `a "b" | c`, "x y", "d e"},
		`./a $HOME *.go ; rm -rf / > x`: {"./a", "$HOME", "*.go", ";", "rm", "-rf", "/", ">", "x"},
		"./a # and so on":               {"./a"},
		`./a ""`:                        {"./a", ""},
	} {
		got, err := Split(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"":          "the command is empty",
		"  ":        "the command is empty",
		"# nothing": "the command is empty",
		`"" x`:      "the command is empty",
		`./a "b`:    "a quote that is not closed",
		`./a b\`:    "ends in a backslash",
		"./a b\x00": "zero byte",
	} {
		_, err := Split(text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestRunStreams(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), process{
		Args: programArgs(t, "fail", "first", "last"), Environ: programEnviron(), Stdout: &stdout, Stderr: &stderr,
	})
	var failed *promote.FleetError
	require.ErrorAs(t, err, &failed)
	assert.Contains(t, failed.Message, "ended with exit code 7")
	assert.Equal(t, "on its way\n", stdout.String())
	assert.Equal(t, "first\nlast", stderr.String())
}

func TestRunWithoutStreams(t *testing.T) {
	t.Parallel()
	require.NoError(t, run(t.Context(), process{Args: programArgs(t, "print", "x"), Environ: programEnviron()}))
}

func TestRunHasOnlyItsEnvironment(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	err := run(t.Context(), process{
		Args: programArgs(t, "environ"), Environ: []string{programMarker + "=1", "A=1", "A=2"}, Stdout: &stdout,
	})
	require.NoError(t, err)
	assert.Contains(t, strings.Split(stdout.String(), "\n"), "A=2")
	assert.NotContains(t, strings.Split(stdout.String(), "\n"), "A=1")
	assert.NotContains(t, stdout.String(), "HOME=")
}

func TestRunEndedBySignal(t *testing.T) {
	t.Parallel()
	err := run(t.Context(), process{Args: programArgs(t, "signal"), Environ: programEnviron()})
	require.ErrorContains(t, err, "was terminated (signal: killed)")
}

func TestRunNotStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain.sh")
	require.NoError(t, os.WriteFile(plain, []byte("echo\n"), 0o600))
	for program, want := range map[string]struct{ message, hint string }{
		"no-such-program-anywhere":      {`program "no-such-program-anywhere" not found in PATH`, "./no-such-program-anywhere"},
		filepath.Join(dir, "missing"):   {"cannot be started: no such file or directory", "interpreter"},
		plain:                           {"cannot be started: permission denied", "executable file"},
		"bad\x1b]0;name\u202e" + "\x07": {`program "bad\x1b`, `\x1b`},
	} {
		err := run(t.Context(), process{Args: []string{program}})
		var failed *promote.FleetError
		require.ErrorAs(t, err, &failed, program)
		assert.Contains(t, failed.Message, want.message)
		assert.Contains(t, failed.Hint, want.hint)
	}
}

func TestRunNotAProgram(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(file, []byte("no interpreter\n"), 0o700)) //nolint:gosec // it must be executable
	err := run(t.Context(), process{Args: []string{file}})
	var failed *promote.FleetError
	require.ErrorAs(t, err, &failed)
	assert.Contains(t, failed.Hint, "first line of a script")
}

// started is a program that says its process id, or that it is ready, before it is stopped.
func started(t *testing.T, name string, exitTimeout time.Duration) (said string, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reader, writer := io.Pipe()
	result := make(chan error, 1)
	p := process{Args: programArgs(t, name), Environ: programEnviron(), Stdout: writer, exitTimeout: exitTimeout}
	go func() {
		err := run(ctx, p)
		_ = writer.Close()
		result <- err
	}()
	lines := bufio.NewReader(reader)
	said, _ = lines.ReadString('\n')
	cancel()
	rest, _ := io.ReadAll(lines)
	return said + string(rest), <-result
}

func TestRunCancelledAsksFirst(t *testing.T) {
	t.Parallel()
	said, err := started(t, "polite", time.Minute)
	assert.Equal(t, "ready\ngave the lock back\n", said)
	require.ErrorIs(t, err, context.Canceled)
}

func TestRunCancelledBeforehand(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := run(ctx, process{Args: programArgs(t, "print"), Environ: programEnviron()})
	require.ErrorIs(t, err, context.Canceled)
	assert.Contains(t, err.Error(), "was stopped: the run ended")
}

func TestRunTimeIsUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := run(ctx, process{Args: programArgs(t, "hang"), Environ: programEnviron(), exitTimeout: 10 * time.Millisecond})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Contains(t, err.Error(), "was stopped: timed out")
}

func TestRunStopsWhenNobodyReads(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	err := run(t.Context(), process{
		Args: programArgs(t, "flood"), Environ: programEnviron(), Stdout: failingWriter{full}, exitTimeout: 10 * time.Millisecond,
	})
	require.Error(t, err)
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

func TestTailOutput(t *testing.T) {
	t.Parallel()
	var tail tailOutput
	for i := range 3000 {
		fmt.Fprintf(&tail, "line %d\n", i)
	}
	assert.LessOrEqual(t, len(tail.kept), tailLength)
	assert.Equal(t, "line 2999", tail.lastLine())
	_, _ = tail.Write(bytes.Repeat([]byte("y"), 3*tailLength))
	assert.Len(t, tail.kept, tailLength)
	assert.Len(t, []rune(tail.lastLine()), 300)

	for text, want := range map[string]string{
		"":                              "",
		"\n \n":                         "",
		"one":                           "one",
		"one\ntwo\n\n":                  "two",
		"50 %\r60 %\r":                  "60 %",
		"a\n::error::x\x1b[31m\u202e\n": `::error::x\x1b[31m\u202e`,
	} {
		tail := tailOutput{kept: []byte(text)}
		assert.Equal(t, want, tail.lastLine(), text)
	}
}

func TestWithoutOwnSecrets(t *testing.T) {
	t.Parallel()
	given := []string{
		"PATH=/bin", "GITHUB_TOKEN=s", "GH_TOKEN=s", "GH_ENTERPRISE_TOKEN=s", "GITHUB_ENTERPRISE_TOKEN=s",
		"KALYPSO_CONTROL_PLANE_TOKEN=s", "KALYPSO_GITOPS_TOKEN=s", "KALYPSO_SOURCE_TOKEN=s", "Kalypso_Any_Token=s",
		"KALYPSO_GITHUB_APP_ID=s", "KALYPSO_GITHUB_APP_PRIVATE_KEY_FILE=s", "KALYPSO_GITHUB_APP_PRIVATE_KEY=s",
		"KALYPSO_TIMEOUT=1m", "AZURE_CLIENT_SECRET=theirs", "ARGOCD_AUTH_TOKEN=s", "ARGOCD_AUTH_TOKEN_HOST=s",
		"ACTIONS_RUNTIME_TOKEN=s", "ODD", "X=GITHUB_TOKEN=1",
	}
	before := strings.Join(given, " ")
	assert.Equal(t, []string{
		"PATH=/bin", "KALYPSO_TIMEOUT=1m", "AZURE_CLIENT_SECRET=theirs", "ODD", "X=GITHUB_TOKEN=1",
	}, withoutOwnSecrets(given))
	assert.Equal(t, before, strings.Join(given, " "), "what was given is left as it is")
}

// programDeployment is what the programs of the tests are told.
func programDeployment() promote.Deployment {
	return promote.Deployment{
		Repo: "https://github.com/acme/gitops", Branch: "stage", Path: "clusters", Environment: "stage",
		Commit: "8d1f2c3b4a5968778695a4b3c2d1e0f123456789",
	}
}

func TestPostDeploy(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	err := PostDeploy(t.Context(), programText(t, "environ"), PostDeployOptions{
		Deployment: programDeployment(), Promoted: "1111111111111111111111111111111111111111", Clusters: 27,
		Environ: programEnviron("GITHUB_TOKEN=hush", "KALYPSO_FLEET_BRANCH=other", "MINE=1"), Stdout: &stdout,
	})
	require.NoError(t, err)
	lines := strings.Split(stdout.String(), "\n")
	for _, want := range []string{
		"KALYPSO_FLEET_REPO=https://github.com/acme/gitops", "KALYPSO_FLEET_BRANCH=stage", "KALYPSO_FLEET_PATH=clusters",
		"KALYPSO_FLEET_COMMIT=8d1f2c3b4a5968778695a4b3c2d1e0f123456789", "KALYPSO_FLEET_ENVIRONMENT=stage",
		"KALYPSO_PROMOTED_COMMIT=1111111111111111111111111111111111111111", "KALYPSO_FLEET_CLUSTERS=27", "MINE=1",
	} {
		assert.Contains(t, lines, want)
	}
	assert.NotContains(t, stdout.String(), "hush")
}

func TestPostDeployFails(t *testing.T) {
	t.Parallel()
	o := PostDeployOptions{Environ: programEnviron(), Stdout: io.Discard, Stderr: io.Discard}
	err := PostDeploy(t.Context(), programText(t, "fail", "no"), o)
	var failed *promote.FleetError
	require.ErrorAs(t, err, &failed)
	require.ErrorContains(t, PostDeploy(t.Context(), `x "`, o), "not closed")
}
