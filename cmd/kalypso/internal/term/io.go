// Package term is the interface of a command to the machine: streams, environment and clock, colours, tables, sanitized
// lines of text, and the progress of a run.
package term

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
)

// IO is the interface of a command to the machine.
type IO struct {
	// Stdout is for results, stderr for everything else.
	Stdout, Stderr io.Writer
	// Stdin is the source of answers to questions; nil for none.
	Stdin io.Reader
	Env   func(string) string
	// Environ returns all environment variables as NAME=VALUE, for child processes; nil for none.
	Environ func() []string
	// StdoutTerminal and StderrTerminal are true if the stream is a terminal.
	StdoutTerminal, StderrTerminal bool
	// StdinTerminal is true if a person can answer.
	StdinTerminal bool
	// WorkingDir returns the directory in which the command was started.
	WorkingDir func() (string, error)
	// Sleep waits for a duration. It returns the error of ctx if that is done before.
	Sleep func(ctx context.Context, d time.Duration) error
	Now   func() time.Time
}

// System returns the IO of the process.
func System() IO {
	return IO{
		Stdout: os.Stdout, Stderr: os.Stderr, Stdin: os.Stdin, Env: os.Getenv, Environ: os.Environ,
		StdinTerminal: isatty.IsTerminal(os.Stdin.Fd()), StdoutTerminal: isatty.IsTerminal(os.Stdout.Fd()), StderrTerminal: isatty.IsTerminal(os.Stderr.Fd()),
		WorkingDir: os.Getwd, Sleep: retryafter.Sleep, Now: time.Now,
	}
}

// WithProgress returns a progress, and streams that erase its live line before they write.
func (o IO) WithProgress(color string) (IO, *Progress) {
	p := NewProgress(o.Stderr, o.progressMode(color), o.Now)
	o.Stderr = p.beside(o.Stderr)
	if o.StdoutTerminal {
		o.Stdout = p.beside(o.Stdout)
	}
	return o, p
}

// colourful reports whether output is coloured: by the flag --color; else not with NO_COLOR or CLICOLOR=0, always with
// CLICOLOR_FORCE, as in gh; else on a terminal that is not dumb, outside CI.
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

// OutPalette returns the colours of stdout, none if colourful is false.
func (o IO) OutPalette(flag string) Palette { return NewPalette(o.colourful(flag, o.StdoutTerminal)) }

// ErrPalette returns the colours of stderr.
func (o IO) ErrPalette(flag string) Palette { return NewPalette(o.colourful(flag, o.StderrTerminal)) }

// Variables returns all environment variables, for child processes.
func (o IO) Variables() []string {
	if o.Environ == nil {
		return nil
	}
	return o.Environ()
}
