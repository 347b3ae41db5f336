package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// progressMode says how the progress of a run is shown.
type progressMode int

const (
	// progressOff shows nothing: nobody is looking, or wants to.
	progressOff progressMode = iota
	// progressLines writes a line for each phase, for the log of a job.
	progressLines
	// progressLive keeps one line on a terminal up to date.
	progressLive
)

const (
	// progressEvery is how often a live line changes at most while a phase goes on.
	progressEvery = 100 * time.Millisecond
	// progressWidth is the longest live line: one that wraps cannot be rewritten.
	progressWidth = 79
	// longWait is a wait that is worth a line in a log.
	longWait = 5 * time.Second
)

// progressMode is live on a terminal, under the same conditions as colour, and lines in a job.
func (e *edges) progressMode(color string) progressMode {
	switch {
	case e.stderrTerminal && e.colourful(color, true):
		return progressLive
	case e.env("CI") != "":
		return progressLines
	default:
		return progressOff
	}
}

// progress shows people what a run is doing. A nil progress shows nothing. It is safe for concurrent
// use.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	mode  progressMode
	now   func() time.Time
	doing string
	// text is what the live line should show, and shown how many columns of it are on the screen.
	text  string
	shown int
	drawn time.Time
	// frame are lines that stand in place of the live line; none if text is shown. above is how many lines on the
	// screen are above the cursor's.
	frame []string
	above int
	// broken says that another writer has left a line unfinished, which must not be written over.
	broken bool
}

// newProgress returns progress on w, for which people look at stderr.
func newProgress(w io.Writer, mode progressMode, now func() time.Time) *progress {
	return &progress{w: w, mode: mode, now: now}
}

// phase begins a part of the run, for example "reading dev".
func (p *progress) phase(doing string) {
	p.show(func() {
		repeated := doing == p.doing
		p.doing = doing
		if p.mode == progressLines && !repeated {
			fmt.Fprintln(p.w, diag.Safe(doing))
		}
		p.text = doing
		p.draw()
	})
}

// step says how much of the phase is done: "reading the repositories of dev: 31/120".
func (p *progress) step(done, total int) {
	if total < 2 {
		return // the phase says it already
	}
	p.show(func() {
		p.text = fmt.Sprintf("%s: %d/%d", p.doing, done, total)
		if done == total || p.now().Sub(p.drawn) >= progressEvery {
			p.draw()
		}
	})
}

// wait says that nothing will happen for a while, and why: "waiting 30s as GitHub asks".
func (p *progress) wait(d time.Duration, why string) {
	p.show(func() {
		p.text = strings.TrimSpace(fmt.Sprintf("waiting %v %s", d.Round(time.Second), why))
		if p.mode == progressLines && d >= longWait {
			fmt.Fprintln(p.w, diag.Safe(p.text))
		}
		p.draw()
	})
}

// done takes the live line away; the run is over, or prints its result.
func (p *progress) done() {
	p.show(func() {
		p.clear()
		p.doing, p.text, p.frame = "", "", nil
	})
}

func (p *progress) show(change func()) {
	if p == nil || p.mode == progressOff {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// draw rewrites the live line. It needs nothing of the terminal but the carriage return.
func (p *progress) draw() {
	if p.mode != progressLive {
		return
	}
	if p.frame != nil {
		p.clear()
		p.frame = nil
	}
	if p.broken {
		return
	}
	line := []rune(diag.ShortenCharacters(diag.Safe(p.text), progressWidth))
	fmt.Fprint(p.w, "\r"+string(line)+strings.Repeat(" ", max(0, p.shown-len(line))))
	p.shown, p.drawn = len(line), p.now()
}

func (p *progress) clear() {
	switch {
	case p.shown == 0:
	case p.frame != nil:
		fmt.Fprint(p.w, toTop(p.above)+clearBelow)
	default:
		fmt.Fprint(p.w, "\r"+strings.Repeat(" ", p.shown)+"\r")
	}
	p.above, p.shown = 0, 0
}

// What a frame asks of a terminal (ECMA-48, and DECAWM of the VT100).
const (
	clearLine  = "\x1b[K"
	clearBelow = "\x1b[J"
	// wrapOff keeps a line that is wider on this terminal than elsewhere from taking two.
	wrapOff, wrapOn = "\x1b[?7l", "\x1b[?7h"
)

// toTop moves to the start of a line above the cursor's; zero is its own.
func toTop(above int) string {
	if above == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", above)
}

// setFrame shows lines in place of the live line, until it is drawn again. They must fit on the screen, and hold no
// control characters but those of colours.
func (p *progress) setFrame(lines []string) {
	p.frame = lines
	p.drawFrame()
}

// drawFrame writes all lines at once, so that nothing flickers.
func (p *progress) drawFrame() {
	if p.mode != progressLive || p.broken || len(p.frame) == 0 {
		return
	}
	lines := strings.Join(p.frame, clearLine+"\n") + clearLine
	fmt.Fprint(p.w, toTop(p.above)+wrapOff+lines+clearBelow+wrapOn)
	p.above, p.shown, p.drawn = len(p.frame)-1, columnsOf(p.frame[0]), p.now()
}

// beside returns a writer to the same screen that takes the live line away before it writes.
func (p *progress) beside(w io.Writer) io.Writer {
	if p == nil || p.mode != progressLive {
		return w
	}
	return besideProgress{p, w}
}

type besideProgress struct {
	p *progress
	w io.Writer
}

func (b besideProgress) Write(text []byte) (int, error) {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	b.p.clear()
	if len(text) > 0 {
		b.p.broken = text[len(text)-1] != '\n'
	}
	n, err := b.w.Write(text)
	b.p.drawFrame()
	return n, err
}
