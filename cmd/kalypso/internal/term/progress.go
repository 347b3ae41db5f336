package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Mode says how the progress of a run is shown.
type Mode int

const (
	// Off shows nothing: nobody is looking, or wants to.
	Off Mode = iota
	// Lines writes a line for each phase, for the log of a job.
	Lines
	// Live keeps one line on a terminal up to date.
	Live
	// Verbose is Lines with the duration of each phase.
	Verbose
)

const (
	// progressEvery is how often a live line changes at most while a phase goes on.
	progressEvery = 100 * time.Millisecond
	// progressWidth is the longest live line: one that wraps cannot be rewritten.
	progressWidth = 79
	// longWait is a wait that is worth a line in a log.
	longWait = 5 * time.Second
)

// Mode is live on a terminal, under the same conditions as colour, and lines in a job.
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

// Progress shows people what a run is doing. A nil progress shows nothing. It is safe for concurrent
// use.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	mode  Mode
	Now   func() time.Time
	doing string
	// began is when the phase did.
	began time.Time
	// shown is how many columns of a live line are on the screen.
	shown int
	drawn time.Time
	// broken says that another writer has left a line unfinished, which must not be written over.
	broken bool
}

// NewProgress returns progress on w.
func NewProgress(w io.Writer, mode Mode, now func() time.Time) *Progress {
	return &Progress{w: w, mode: mode, Now: now}
}

// Live reports whether there is a line on a terminal that is kept up to date.
func (p *Progress) Live() bool { return p != nil && p.mode == Live }

// Phase begins a part of the run, for example "reading dev".
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

// Step says how much of the phase is done: "reading the repositories of dev: 31/120".
func (p *Progress) Step(done, total int) {
	if total < 2 {
		return // the phase says it already
	}
	p.show(func() {
		if done == total || p.Now().Sub(p.drawn) >= progressEvery {
			p.draw(fmt.Sprintf("%s: %d/%d", p.doing, done, total), false)
		}
	})
}

// Wait says that nothing will happen for a while, and why: "waiting 30s as GitHub asks".
func (p *Progress) Wait(d time.Duration, why string) {
	p.show(func() {
		p.draw(strings.TrimSpace(fmt.Sprintf("waiting %v %s", d.Round(time.Second), why)), d >= longWait)
	})
}

// Status shows how things stand, on a live line only.
func (p *Progress) Status(text string) {
	p.show(func() { p.draw(text, false) })
}

// Line writes a line that is harmless to show, also where phases get none.
func (p *Progress) Line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(p.w, text)
}

// Done takes the live line away; the run is over, or prints its result.
func (p *Progress) Done() {
	p.show(func() {
		p.clear()
		p.end()
		p.doing = ""
	})
}

// end writes how long the phase took.
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

// draw rewrites the live line; where there is none it writes one, if the text is worth it. It needs nothing of the
// terminal but the carriage return.
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

// beside returns a writer to the same screen that takes the live line away before it writes.
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
