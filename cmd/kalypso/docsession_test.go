package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
)

// docStep is a command of a session, and what is shown below it.
type docStep struct {
	block   docBlock
	command string
	// begin and end are the lines of the output in the block.
	begin, end int
	// want is the output: "…" stands for anything within a line, and as a line for any number of lines. The id of a commit
	// stands for any, as commits are made at the time at which somebody types.
	want []string
}

func (s docStep) at() string {
	first, _, _ := strings.Cut(s.command, "\n")
	return fmt.Sprintf("%s:%d: $ %s", s.block.file, s.block.line+s.begin-1, first)
}

// sessionOf reads a console block. A line that begins with "$ " is a command. It continues on the next line if it ends in a
// backslash, or if that begins with "> ".
func sessionOf(block docBlock) ([]docStep, error) {
	lines := strings.Split(strings.TrimSuffix(block.text, "\n"), "\n")
	if !strings.HasPrefix(lines[0], "$ ") {
		return nil, errors.New("the session does not begin with a command: \"$ …\"")
	}
	var steps []docStep
	for i := 0; i < len(lines); {
		command := strings.TrimPrefix(lines[i], "$ ")
		for i++; ; i++ {
			goesOn := strings.HasSuffix(command, `\`)
			if i == len(lines) {
				if goesOn {
					return nil, errors.New("the command does not end: " + command)
				}
				break
			}
			more, prompted := strings.CutPrefix(lines[i]+" ", "> ")
			if !goesOn && !prompted {
				break
			}
			command += "\n" + strings.TrimSuffix(more, " ")
		}
		step := docStep{block: block, command: command, begin: i}
		for i < len(lines) && !strings.HasPrefix(lines[i], "$ ") {
			i++
		}
		step.end = i
		step.want = lines[step.begin:step.end]
		steps = append(steps, step)
	}
	return steps, nil
}

// asksForStatus reports whether a step shows how the one before has ended, which may then be badly.
func asksForStatus(steps []docStep, i int) bool {
	return i < len(steps) && steps[i].command == "echo $?"
}

const stepMark = "\x01"

// scriptOf is the shell script of a session. After each command it prints a mark and the exit status.
func scriptOf(steps []docStep) string {
	var b strings.Builder
	for i, step := range steps {
		fmt.Fprintf(&b, "%s\n_status=$?\nprintf '\\001%%s\\n' \"$_status\"\n", step.command)
		if !asksForStatus(steps, i+1) {
			b.WriteString("[ \"$_status\" -eq 0 ] || exit\n")
		}
		b.WriteString("(exit \"$_status\")\n")
	}
	return b.String()
}

// shellOutput is what a step has printed, and how it has ended.
type shellOutput struct {
	text   string
	status int
}

// playSession runs a session and returns the output of each step, up to one that ends the shell.
func playSession(t *testing.T, dir string, environ []string, steps []docStep) []shellOutput {
	t.Helper()
	output := filepath.Join(t.TempDir(), "output")
	file, err := os.OpenFile(output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(t, err)
	defer func() { assert.NoError(t, file.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	exitCode := playScript(ctx, t, scriptOf(steps), dir, environ, file)
	out, err := os.ReadFile(output)
	require.NoError(t, err)
	var outputs []shellOutput
	rest := string(out)
	for range steps {
		text, after, _ := strings.Cut(rest, stepMark)
		status, after, ended := strings.Cut(after, "\n")
		code, err := strconv.Atoi(status)
		if !ended || err != nil {
			return append(outputs, shellOutput{text, exitCode})
		}
		outputs = append(outputs, shellOutput{text, code})
		rest = after
	}
	return outputs
}

// playScript interprets a shell script, and runs kalypso in this process: only make runs the real program, and a script
// that changes its umask, which is one of the whole process. It returns how the script has ended.
func playScript(ctx context.Context, t *testing.T, script, dir string, environ []string, output *os.File) int {
	t.Helper()
	if strings.Contains(script, "umask") {
		cmd := exec.CommandContext(ctx, "sh", "-c", script)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, environ, output, output
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			require.NoError(t, err)
		}
		return cmd.ProcessState.ExitCode()
	}
	shell, err := interp.New(interp.Dir(dir), interp.Env(expand.ListEnviron(environ...)),
		interp.StdIO(nil, output, output), interp.ExecHandlers(kalypsoHere))
	require.NoError(t, err)
	parsed, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return 2 // as sh does
	}
	err = shell.Run(ctx, parsed)
	var status interp.ExitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	require.NoError(t, err)
	return 0
}

// kalypsoHere runs the kalypso of a shell script in this process, and leaves other programs to the shell.
func kalypsoHere(next interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		if args[0] != "kalypso" {
			return next(ctx, args)
		}
		shell := interp.HandlerCtx(ctx)
		environ := map[string]string{}
		for name, variable := range shell.Env.Each {
			if variable.Exported {
				environ[name] = variable.String()
			}
		}
		host := cli.System()
		host.Stdout, host.Stderr = untilClosed{shell.Stdout}, shell.Stderr
		host.Env = func(name string) string { return environ[name] }
		host.Environ = func() []string {
			var all []string
			for name, value := range environ {
				all = append(all, name+"="+value)
			}
			return all
		}
		return interp.ExitStatus(uint8(runIn(shell.Dir, args[1:], host)))
	}
}

// untilClosed drops what is written to a pipe that nobody reads any more. That ends a real program without a message.
type untilClosed struct{ io.Writer }

func (w untilClosed) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		return len(p), nil
	}
	return n, err
}

// sessionEnvironment is the environment of a new machine: kalypso, git and the usual programs, without a network, an
// identity for Git or other configuration. The dates of commits are fixed.
func sessionEnvironment(t *testing.T) []string {
	t.Helper()
	home := t.TempDir()
	const nowhere = "http://127.0.0.1:9"
	const then = "2026-01-02T03:04:05Z"
	return []string{
		"PATH=" + makeShim(t) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + home, "TMPDIR=" + home, "TZ=UTC", "LC_ALL=C.UTF-8", "TERM=dumb", "NO_COLOR=1",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat",
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main",
		"GIT_CONFIG_KEY_1=advice.detachedHead", "GIT_CONFIG_VALUE_1=false",
		"GIT_CONFIG_KEY_2=user.useConfigOnly", "GIT_CONFIG_VALUE_2=true", // no identity, as on a new machine
		"GIT_AUTHOR_DATE=" + then, "GIT_COMMITTER_DATE=" + then,
		"http_proxy=" + nowhere, "https_proxy=" + nowhere, "HTTP_PROXY=" + nowhere, "HTTPS_PROXY=" + nowhere, "GIT_SSH_COMMAND=false",
	}
}

// makeShim returns a directory with a make that runs the demo with the program under test. What else it makes has steps of
// its own in CI.
func makeShim(t *testing.T) string {
	t.Helper()
	targets, err := makeTargets()
	require.NoError(t, err)
	dir := t.TempDir()
	script := "#!/bin/sh\nfor target; do\n  case $target in\n  demo) hack/demo.sh || exit 2 ;;\n  " +
		strings.Join(targets, " | ") + ") ;;\n  *)\n    echo \"make: there is no target $target\" >&2\n    exit 2\n    ;;\n  esac\ndone\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "make"), []byte(script), 0o700))
	return dir
}

// sessionFolder is where the session of a document begins: beside copies of what documents at the root of the repository,
// and those whose commands name testdata, speak of; for the others in an empty directory.
func sessionFolder(t *testing.T, file string, steps []docStep) string {
	t.Helper()
	dir := t.TempDir()
	named := slices.ContainsFunc(steps, func(step docStep) bool { return strings.Contains(step.command, "testdata/") })
	if strings.Contains(file, "/") && !named {
		return dir
	}
	for _, directory := range []string{"hack", "testdata/fleets"} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, directory), os.DirFS(filepath.Join("../..", directory))))
	}
	program, err := exec.LookPath("kalypso")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(program, filepath.Join(dir, "kalypso")))
	return dir
}

// commitID is the id of a commit, whole or as kalypso or git shorten it.
var commitID = regexp.MustCompile(`\b([0-9a-f]{40}|[0-9a-f]{12}|[0-9a-f]{7})\b`)

// anyID is the pattern of an id as long as this one.
func anyID(id string) string { return fmt.Sprintf("[0-9a-f]{%d}", len(id)) }

// shownBy reports whether a document may show an output as want.
func shownBy(want []string, got string) bool {
	var pattern strings.Builder
	pattern.WriteString("^")
	for _, line := range trimmed(strings.Join(want, "\n")) {
		if line == "…" {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		line = strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*")
		pattern.WriteString(commitID.ReplaceAllStringFunc(line, anyID) + "\n")
	}
	return regexp.MustCompile(pattern.String() + "$").MatchString(strings.Join(trimmed(got), "\n") + "\n")
}

// trimmed are the lines of a text, without blanks at their ends and without empty ones at its end.
func trimmed(text string) []string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	for len(lines) > 1 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// failedStep says which command has failed without the session asking for it, or was never reached.
func failedStep(steps []docStep, outputs []shellOutput) error {
	for i, step := range steps {
		switch {
		case i == len(outputs):
			return fmt.Errorf("%s\nit does not come to this", step.at())
		case outputs[i].status != 0 && !asksForStatus(steps, i+1):
			return fmt.Errorf("%s\nexit code %d\n%s", step.at(), outputs[i].status, outputs[i].text)
		}
	}
	return nil
}

// judgeSession says what a session does otherwise than its document shows.
func judgeSession(steps []docStep, outputs []shellOutput) error {
	for i, got := range outputs {
		if step := steps[i]; (got.status == 0 || asksForStatus(steps, i+1)) && !shownBy(step.want, got.text) {
			return fmt.Errorf("%s\n%s", step.at(), diff.Diff("shown", joined(step.want), "printed", joined(trimmed(got.text))))
		}
	}
	return failedStep(steps, outputs)
}

func joined(lines []string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

// rewriteSession puts the output of a session into its document, but for what is shown with "…".
func rewriteSession(t *testing.T, path string, steps []docStep, outputs []shellOutput) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	for i := len(outputs) - 1; i >= 0; i-- {
		step := steps[i]
		if shownBy(step.want, outputs[i].text) || strings.Contains(strings.Join(step.want, ""), "…") {
			continue
		}
		var printed []string
		if outputs[i].text != "" {
			printed = trimmed(outputs[i].text)
		}
		for j := range printed {
			printed[j] = strings.TrimRight(step.block.indent+printed[j], " ")
		}
		lines = slices.Replace(lines, step.block.line-1+step.begin, step.block.line-1+step.end, printed...)
	}
	if changed := strings.Join(lines, "\n"); changed != string(text) {
		require.NoError(t, os.WriteFile(path, []byte(changed), 0o644))
	}
}

// TestDocSessions types every console block of the documentation line by line: those of one document one after the other,
// in one shell. It may rewrite files that others read and changes the working directory, so it is not parallel.
func TestDocSessions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the sessions are of a Unix shell")
	}
	if raceDetector {
		t.Skip("other tests do at once what these sessions do")
	}
	sessions := map[string][]docStep{}
	for _, b := range readBlocks(t) {
		if b.lang == "console" {
			steps, err := sessionOf(b)
			require.NoError(t, err, b.at())
			sessions[b.file] = append(sessions[b.file], steps...)
		}
	}
	require.NotEmpty(t, sessions)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for file, steps := range sessions {
		t.Run(file, func(t *testing.T) {
			dir, environ := sessionFolder(t, file, steps), sessionEnvironment(t) // before another session changes the working directory
			t.Parallel()
			outputs := playSession(t, dir, environ, steps)
			if *update {
				require.NoError(t, failedStep(steps, outputs))
				rewriteSession(t, filepath.Join(root, filepath.FromSlash(file)), steps, outputs)
				return
			}
			require.NoError(t, judgeSession(steps, outputs))
		})
	}
}

// TestDocSessionsJudged shows what a session may look like, and which differences are found. It is not parallel either.
func TestDocSessionsJudged(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the sessions are of a Unix shell")
	}
	for _, test := range []struct{ text, want string }{
		{"$ echo hello\nhello\n", ""},
		{"$ echo hello; echo world >&2\nhello\nworld\n", ""},
		{"$ printf hello\nhello\n$ echo world\nworld\n", ""},
		{"$ a=1 &&\n>   mkdir sub\n$ cd sub\n$ echo $a ${PWD##*/}\n1 sub\n", ""},
		{"$ cat >f <<EOF\n> one\n>\n> two\n> EOF\n$ cat f\none\n\ntwo\n", ""},
		{"$ echo one \\\n    two\none two\n", ""},
		{"$ printf 'one  \\ntwo\\n\\n'\none\ntwo\n", ""},
		{"$ seq 9\n1\n…\n8\n9\n", ""},
		{"$ seq 9\n1\n…\n", ""},
		{"$ true\n…\n", ""},
		{"$ echo took 12 s\ntook … s\n", ""},
		{"$ false\n$ echo $?\n1\n", ""},
		{"$ kalypso version --help\n…\nUsage:\n  kalypso version [flags]\n…\n", ""},
		{"$ git config user.name || echo unset\nunset\n", ""},
		{"$ make build lint\n", ""},
		{"$ echo at 0123456789ab, once 89abcde\nat ffffffffffff, once 0000000\n", ""},

		{"$ echo hello\nhullo\n", "-hullo\n+hello"},
		{"$ echo hello\n", "+hello"},
		{"$ true\nhello\n", "-hello"},
		{"$ seq 9\n1\n…\n8\n", "+9"},
		{"$ seq 3\n1\n2\n", "+3"},
		{"$ echo took 12 s\ntook … ms\n", "+took 12 s"},
		{"$ echo a.c\na…d\n", "+a.c"},
		{"$ echo abc\na.c\n", "+abc"},
		{"$ echo at 0123456789a\nat ffffffffffff\n", "+at 0123456789a"},
		{"$ echo at nowhere\nat ffffffffffff\n", "+at nowhere"},
		{"$ echo why; false\nwhy\n$ echo more\nmore\n", "a.md:2: $ echo why; false\nexit code 1\nwhy"},
		{"$ false\n$ echo $?\n2\n", "-2\n+1"},
		{"$ echo why; false\nwho\n$ echo $?\n1\n", "-who\n+why"},
		{"$ exit 3\n$ echo $?\n3\n", "it does not come to this"},
		{"$ if\n", "exit code 2"},
		{"$ kalypso rander\n…\n", `unknown command "rander"`},
		{"$ make all\n…\n", "there is no target all"},
		{"$ git ls-remote https://github.com/kalypso-gitops/kalypso\n…\n", "exit code 128"},
	} {
		steps, err := sessionOf(docBlock{file: "a.md", line: 2, text: test.text})
		require.NoError(t, err)
		err = judgeSession(steps, playSession(t, t.TempDir(), sessionEnvironment(t), steps))
		if test.want == "" {
			assert.NoError(t, err, test.text)
		} else {
			assert.ErrorContains(t, err, test.want, test.text)
		}
	}
}
