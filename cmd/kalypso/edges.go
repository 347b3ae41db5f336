package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/fatih/color"
	"github.com/mattn/go-isatty"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// edges are what a command sees of the machine it runs on.
type edges struct {
	// stdout is for results, stderr for everything else.
	stdout, stderr io.Writer
	// stdin is where answers to questions come from; nil for none.
	stdin io.Reader
	env   func(string) string
	// environ are all environment variables as NAME=VALUE, for programs that are started; nil has none.
	environ func() []string
	// stdoutTerminal and stderrTerminal tell whether a person is looking.
	stdoutTerminal, stderrTerminal bool
	// stdinTerminal tells whether a person can answer.
	stdinTerminal bool
	// stderrSize is that of the terminal that stderr is; nil, or zeros, if it is not known.
	stderrSize func() (columns, rows int)
	// workingDir is the folder that the command was started in.
	workingDir func() (string, error)
	// sleep waits, or until ctx is done, whose error it then returns.
	sleep func(ctx context.Context, d time.Duration) error
	now   func() time.Time
	// version is that of this program, and build what else is known of it.
	version string
	build   build
	// patience is how long GitHub is waited for; the zero value is as long as usual.
	patience github.Limits
	// limits bound what is asked of git servers; the zero value are the usual ones.
	limits gitops.Limits
	// workflow is the step of GitHub Actions that the run is; nil elsewhere.
	workflow *workflow
}

// system returns the edges of the process.
func system() *edges {
	this := thisBuild()
	return &edges{
		stdout: os.Stdout, stderr: os.Stderr, stdin: os.Stdin, stdinTerminal: isatty.IsTerminal(os.Stdin.Fd()), env: os.Getenv, environ: os.Environ,
		stdoutTerminal: isatty.IsTerminal(os.Stdout.Fd()), stderrTerminal: isatty.IsTerminal(os.Stderr.Fd()),
		stderrSize: terminalSize(os.Stderr.Fd()), workingDir: os.Getwd, sleep: retryafter.Sleep, now: time.Now,
		version: this.Version, build: this,
	}
}

// withProgress returns edges whose streams make room for the progress that is shown beside.
func (e *edges) withProgress(color string) (*edges, *progress) {
	p := newProgress(e.stderr, e.progressMode(color), e.now)
	beside := *e
	beside.stderr = p.beside(e.stderr)
	if e.stdoutTerminal {
		beside.stdout = p.beside(e.stdout)
	}
	return &beside, p
}

// colourful decides whether output is coloured: as --color says, else only on a terminal, and not
// where NO_COLOR, CI or a dumb terminal speak against it.
func (e *edges) colourful(flag string, terminal bool) bool {
	switch flag {
	case "always":
		return true
	case "never":
		return false
	}
	return terminal && e.env("NO_COLOR") == "" && e.env("CI") == "" && e.env("TERM") != "dumb"
}

// palette are the colours of one stream.
type palette struct {
	added, removed, changed, heading, faint func(string) string
}

func newPalette(on bool) palette {
	return palette{
		added: paint(on, color.FgGreen), removed: paint(on, color.FgRed), changed: paint(on, color.FgYellow),
		heading: paint(on, color.Bold), faint: paint(on, color.FgCyan),
	}
}

func paint(on bool, attributes ...color.Attribute) func(string) string {
	c := color.New(attributes...)
	c.DisableColor()
	if on {
		c.EnableColor()
	}
	return func(text string) string { return c.Sprint(text) }
}

// style is how diagnostics look on stderr.
func style(on bool) diag.Style {
	return diag.Style{
		Error: paint(on, color.FgRed, color.Bold), Warning: paint(on, color.FgYellow, color.Bold),
		Notice: paint(on, color.FgCyan), Place: paint(on, color.Bold), Hint: paint(on, color.FgGreen),
	}
}
