package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// fakeClock moves when told to.
type fakeClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *fakeClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *fakeClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// screen is what a terminal shows after some output: \r goes back to the start of the line.
func screen(output string) []string {
	var lines []string
	for line := range strings.SplitSeq(output, "\n") {
		var cells []rune
		column := 0
		for _, r := range line {
			if r == '\r' {
				column = 0
				continue
			}
			if column == len(cells) {
				cells = append(cells, r)
			} else {
				cells[column] = r
			}
			column++
		}
		lines = append(lines, strings.TrimRight(string(cells), " "))
	}
	return lines
}

func TestProgressMode(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		terminal bool
		color    string
		env      map[string]string
		want     progressMode
	}{
		"terminal":                  {true, "auto", nil, progressLive},
		"no terminal":               {false, "auto", nil, progressOff},
		"no terminal, but coloured": {false, "always", nil, progressOff},
		"no colour":                 {true, "never", nil, progressOff},
		"NO_COLOR":                  {true, "auto", map[string]string{"NO_COLOR": "1"}, progressOff},
		"dumb":                      {true, "auto", map[string]string{"TERM": "dumb"}, progressOff},
		"job":                       {false, "auto", map[string]string{"CI": "true"}, progressLines},
		"job with a terminal":       {true, "auto", map[string]string{"CI": "true"}, progressLines},
	} {
		e := &edges{stderrTerminal: test.terminal, env: func(name string) string { return test.env[name] }}
		assert.Equal(t, test.want, e.progressMode(test.color), name)
	}
}

func TestProgressLive(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	clock := &fakeClock{}
	p := newProgress(&out, progressLive, clock.now)
	see := func(want ...string) {
		t.Helper()
		assert.Equal(t, want, screen(out.String()))
	}
	p.phase("reading dev")
	see("reading dev")
	p.step(1, 120)
	see("reading dev") // too soon
	clock.pass(progressEvery)
	p.step(31, 120)
	see("reading dev: 31/120")
	p.step(120, 120)
	see("reading dev: 120/120")
	p.wait(30*time.Second, "as GitHub asks")
	see("waiting 30s as GitHub asks")
	fmt.Fprint(p.beside(&out), "notice: x\n")
	see("notice: x", "")
	p.phase("pushing")
	see("notice: x", "pushing")
	p.done()
	see("notice: x", "")
	p.done()
	assert.NotContains(t, out.String(), "\x1b")
}

func TestProgressLeavesUnfinishedLinesAlone(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newProgress(&out, progressLive, (&fakeClock{}).now)
	w := p.beside(&out)
	p.phase("reading")
	fmt.Fprint(w, "half ")
	p.phase("rendering")
	fmt.Fprint(w, "a line\n")
	assert.Equal(t, []string{"half a line", ""}, screen(out.String()))
	p.phase("pushing")
	assert.Equal(t, []string{"half a line", "pushing"}, screen(out.String()))
}

func TestProgressLineIsSafeAndShort(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newProgress(&out, progressLive, (&fakeClock{}).now)
	p.phase("reading \x1b[31m\n" + strings.Repeat("long ", 40))
	assert.NotContains(t, out.String(), "\x1b")
	assert.NotContains(t, out.String(), "\n")
	assert.Len(t, []rune(strings.TrimPrefix(out.String(), "\r")), progressWidth)
}

func TestProgressLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	clock := &fakeClock{}
	p := newProgress(&out, progressLines, clock.now)
	p.phase("reading dev")
	p.phase("reading dev")
	for i := range 120 {
		clock.pass(time.Second)
		p.step(i+1, 120)
	}
	p.wait(time.Second, "to try again")
	p.wait(30*time.Second, "as GitHub asks")
	fmt.Fprintln(p.beside(&out), "notice")
	p.phase("pushing\r::error::x")
	p.done()
	assert.Equal(t, "reading dev\nwaiting 30s as GitHub asks\nnotice\npushing\\r::error::x\n", out.String())
}

func TestNoProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, p := range []*progress{nil, newProgress(&out, progressOff, nil)} {
		p.phase("reading")
		p.step(1, 2)
		p.wait(time.Hour, "")
		p.done()
		assert.Equal(t, &out, p.beside(&out))
	}
	assert.Empty(t, out.String())
}

func TestProgressOfManyAtOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	clock := &fakeClock{}
	p := newProgress(&out, progressLive, clock.now)
	w := p.beside(&out)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			p.phase("reading")
			p.step(i, 20)
			clock.pass(progressEvery)
			fmt.Fprintln(w, "line")
		})
	}
	all.Wait()
	p.done()
	lines := screen(out.String())
	assert.Len(t, lines, 21)
	for _, line := range lines[:20] {
		assert.Equal(t, "line", line)
	}
}
