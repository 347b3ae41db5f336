// Package term is what a command sees of the machine and shows on it: streams, environment and clock, colours, tables, lines of
// text that are safe to show, and the progress of a run.
package term

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
)

// IO is what a command sees of the machine it runs on.
type IO struct {
	// Stdout is for results, stderr for everything else.
	Stdout, Stderr io.Writer
	// Stdin is where answers to questions come from; nil for none.
	Stdin io.Reader
	Env   func(string) string
	// Environ are all environment variables as NAME=VALUE, for programs that are started; nil has none.
	Environ func() []string
	// StdoutTerminal and StderrTerminal tell whether a person is looking.
	StdoutTerminal, StderrTerminal bool
	// StdinTerminal reports whether a person can answer.
	StdinTerminal bool
	// WorkingDir is the folder that the command was started in.
	WorkingDir func() (string, error)
	// Sleep waits, or until ctx is done, whose error it then returns.
	Sleep func(ctx context.Context, d time.Duration) error
	Now   func() time.Time
}

// System returns the machine as the process sees it.
func System() IO {
	return IO{
		Stdout: os.Stdout, Stderr: os.Stderr, Stdin: os.Stdin, Env: os.Getenv, Environ: os.Environ,
		StdinTerminal: isatty.IsTerminal(os.Stdin.Fd()), StdoutTerminal: isatty.IsTerminal(os.Stdout.Fd()), StderrTerminal: isatty.IsTerminal(os.Stderr.Fd()),
		WorkingDir: os.Getwd, Sleep: retryafter.Sleep, Now: time.Now,
	}
}

// WithProgress returns streams that make room for the progress that is shown beside them.
func (o IO) WithProgress(color string) (IO, *Progress) {
	p := NewProgress(o.Stderr, o.progressMode(color), o.Now)
	o.Stderr = p.beside(o.Stderr)
	if o.StdoutTerminal {
		o.Stdout = p.beside(o.Stdout)
	}
	return o, p
}

// colourful reports whether output is coloured: as --color says; else not with NO_COLOR or CLICOLOR=0, always with
// CLICOLOR_FORCE, as gh reads them; else on a terminal that is not dumb, outside of CI.
func (o IO) colourful(flag string, terminal bool) bool {
	switch flag {
	case "always":
		return true
	case "never":
		return false
	}
	if o.Env("NO_COLOR") != "" || o.Env("CLICOLOR") == "0" {
		return false
	}
	if force := o.Env("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	return terminal && o.Env("CI") == "" && o.Env("TERM") != "dumb"
}

// OutPalette are the colours of stdout, if --color and the machine allow any.
func (o IO) OutPalette(flag string) Palette { return NewPalette(o.colourful(flag, o.StdoutTerminal)) }

// ErrPalette are those of stderr.
func (o IO) ErrPalette(flag string) Palette { return NewPalette(o.colourful(flag, o.StderrTerminal)) }

// Variables are all environment variables, for programs that are started.
func (o IO) Variables() []string {
	if o.Environ == nil {
		return nil
	}
	return o.Environ()
}
