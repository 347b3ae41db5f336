package term

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// fakeClock is a clock that tests advance.
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
		want     Mode
	}{
		"terminal":                  {true, "auto", nil, Live},
		"no terminal":               {false, "auto", nil, Off},
		"no terminal, but coloured": {false, "always", nil, Off},
		"no colour":                 {true, "never", nil, Off},
		"NO_COLOR":                  {true, "auto", map[string]string{"NO_COLOR": "1"}, Off},
		"CLICOLOR":                  {true, "auto", map[string]string{"CLICOLOR": "0"}, Off},
		"dumb":                      {true, "auto", map[string]string{"TERM": "dumb"}, Off},
		"job":                       {false, "auto", map[string]string{"CI": "true"}, Lines},
		"job with a terminal":       {true, "auto", map[string]string{"CI": "true"}, Lines},
	} {
		o := IO{StderrTerminal: test.terminal, Env: func(name string) string { return test.env[name] }}
		assert.Equal(t, test.want, o.progressMode(test.color), name)
	}
}

func TestProgressLive(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	clock := &fakeClock{}
	p := NewProgress(&out, Live, clock.now)
	see := func(want ...string) {
		t.Helper()
		assert.Equal(t, want, screen(out.String()))
	}
	p.Phase("reading dev")
	see("reading dev")
	p.Step(1, 120)
	see("reading dev") // too soon
	clock.pass(progressEvery)
	p.Step(31, 120)
	see("reading dev: 31/120")
	p.Step(120, 120)
	see("reading dev: 120/120")
	p.Wait(30*time.Second, "as GitHub asks")
	see("waiting 30s as GitHub asks")
	fmt.Fprint(p.beside(&out), "notice: x\n")
	see("notice: x", "")
	p.Phase("pushing")
	see("notice: x", "pushing")
	p.Done()
	see("notice: x", "")
	p.Done()
	assert.NotContains(t, out.String(), "\x1b")
}

func TestProgressLeavesUnfinishedLinesAlone(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := NewProgress(&out, Live, (&fakeClock{}).now)
	w := p.beside(&out)
	p.Phase("reading")
	fmt.Fprint(w, "half ")
	p.Phase("rendering")
	fmt.Fprint(w, "a line\n")
	assert.Equal(t, []string{"half a line", ""}, screen(out.String()))
	p.Phase("pushing")
	assert.Equal(t, []string{"half a line", "pushing"}, screen(out.String()))
}

func TestProgressLineIsSafeAndShort(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := NewProgress(&out, Live, (&fakeClock{}).now)
	p.Phase("reading \x1b[31m\n" + strings.Repeat("long ", 40))
	assert.NotContains(t, out.String(), "\x1b")
	assert.NotContains(t, out.String(), "\n")
	assert.Len(t, []rune(strings.TrimPrefix(out.String(), "\r")), progressWidth)
}

func TestProgressLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	clock := &fakeClock{}
	p := NewProgress(&out, Lines, clock.now)
	p.Phase("reading dev")
	p.Phase("reading dev")
	for i := range 120 {
		clock.pass(time.Second)
		p.Step(i+1, 120)
	}
	p.Wait(time.Second, "to try again")
	p.Wait(30*time.Second, "as GitHub asks")
	fmt.Fprintln(p.beside(&out), "notice")
	p.Phase("pushing\r::error::x")
	p.Done()
	assert.Equal(t, "reading dev\nwaiting 30s as GitHub asks\nnotice\npushing\\r::error::x\n", out.String())
}

func TestNoProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, p := range []*Progress{nil, NewProgress(&out, Off, nil)} {
		p.Phase("reading")
		p.Step(1, 2)
		p.Wait(time.Hour, "")
		p.Done()
		assert.Equal(t, &out, p.beside(&out))
	}
	assert.Empty(t, out.String())
}

func TestProgressOfManyAtOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	clock := &fakeClock{}
	p := NewProgress(&out, Live, clock.now)
	w := p.beside(&out)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			p.Phase("reading")
			p.Step(i, 20)
			clock.pass(progressEvery)
			fmt.Fprintln(w, "line")
		})
	}
	all.Wait()
	p.Done()
	lines := screen(out.String())
	assert.Len(t, lines, 21)
	for _, line := range lines[:20] {
		assert.Equal(t, "line", line)
	}
}
