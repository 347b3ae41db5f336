package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Mode is the form in which the progress of a run is shown.
type Mode int

const (
	// Off shows nothing.
	Off Mode = iota
	// Lines writes a line for each phase, for the log of a job.
	Lines
	// Live updates one line on a terminal.
	Live
	// Verbose is Lines with the duration of each phase.
	Verbose
)

const (
	// progressEvery is the minimum interval between updates of a live line during a phase.
	progressEvery = 100 * time.Millisecond
	// progressWidth is the maximum length of a live line: a line that wraps cannot be rewritten.
	progressWidth = 79
	// longWait is the minimum duration of a wait that is logged.
	longWait = 5 * time.Second
)

// progressMode returns Live on a terminal, under the same conditions as colour, and Lines in a job.
func (o IO) progressMode(color string) Mode {
	switch {
	case o.StderrTerminal && o.colourful(color, true):
		return Live
	case o.Env("CI") != "":
		return Lines
	default:
		return Off
	}
}

// Progress shows the progress of a run. A nil Progress shows nothing. It is safe for concurrent use.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	mode  Mode
	Now   func() time.Time
	doing string
	// began is the start of the phase.
	began time.Time
	// shown is the number of columns of the live line on the screen.
	shown int
	drawn time.Time
	// broken is true if another writer has left a line unfinished, which must not be overwritten.
	broken bool
}

// NewProgress returns progress on w.
func NewProgress(w io.Writer, mode Mode, now func() time.Time) *Progress {
	return &Progress{w: w, mode: mode, Now: now}
}

// Live reports whether the mode is Live.
func (p *Progress) Live() bool { return p != nil && p.mode == Live }

// Phase starts a phase of the run, for example "reading dev".
func (p *Progress) Phase(doing string) {
	p.show(func() {
		fresh := doing != p.doing
		if fresh {
			p.end()
			p.doing, p.began = doing, p.Now()
		}
		p.draw(doing, fresh)
	})
}

// Step shows the progress of the phase: "reading the repositories of dev: 31/120".
func (p *Progress) Step(done, total int) {
	if total < 2 {
		return // the phase is enough
	}
	p.show(func() {
		if done == total || p.Now().Sub(p.drawn) >= progressEvery {
			p.draw(fmt.Sprintf("%s: %d/%d", p.doing, done, total), false)
		}
	})
}

// Wait shows a pause and its reason: "waiting 30s as GitHub asks".
func (p *Progress) Wait(d time.Duration, why string) {
	p.show(func() {
		p.draw(strings.TrimSpace(fmt.Sprintf("waiting %v %s", d.Round(time.Second), why)), d >= longWait)
	})
}

// Status shows the current state, only on a live line.
func (p *Progress) Status(text string) {
	p.show(func() { p.draw(text, false) })
}

// Line writes a sanitized line, also in modes without lines for phases.
func (p *Progress) Line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(p.w, text)
}

// Done erases the live line before the result is printed.
func (p *Progress) Done() {
	p.show(func() {
		p.clear()
		p.end()
		p.doing = ""
	})
}

// end writes the duration of the phase.
func (p *Progress) end() {
	if p.mode == Verbose && p.doing != "" {
		fmt.Fprintf(p.w, "phase: %s (%v)\n", diag.Safe(p.doing), p.Now().Sub(p.began).Round(time.Millisecond))
	}
}

func (p *Progress) show(change func()) {
	if p == nil || p.mode == Off {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// draw rewrites the live line; without one it writes a line if worthALine is true. It uses only the carriage return of
// the terminal.
func (p *Progress) draw(text string, worthALine bool) {
	switch {
	case (p.mode == Lines || p.mode == Verbose) && worthALine:
		fmt.Fprintln(p.w, diag.Safe(text))
	case p.mode == Live && !p.broken:
		line := Word(text, progressWidth)
		columns := len([]rune(line))
		fmt.Fprint(p.w, "\r"+line+strings.Repeat(" ", max(0, p.shown-columns)))
		p.shown, p.drawn = columns, p.Now()
	}
}

func (p *Progress) clear() {
	if p.shown > 0 {
		fmt.Fprint(p.w, "\r"+strings.Repeat(" ", p.shown)+"\r")
		p.shown = 0
	}
}

// beside returns a writer to the same screen that erases the live line before it writes.
func (p *Progress) beside(w io.Writer) io.Writer {
	if !p.Live() {
		return w
	}
	return besideProgress{p, w}
}

type besideProgress struct {
	p *Progress
	w io.Writer
}

func (b besideProgress) Write(text []byte) (int, error) {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	b.p.clear()
	if len(text) > 0 {
		b.p.broken = text[len(text)-1] != '\n'
	}
	return b.w.Write(text)
}
