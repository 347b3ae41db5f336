package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// watched is a watch on a terminal.
type watched struct {
	*watch
	*terminal
	clock *fakeClock
	// other is another writer to the terminal.
	other io.Writer
}

func newWatched(t *testing.T, columns, rows int) *watched {
	t.Helper()
	clock := &fakeClock{at: time.Unix(1000, 0)}
	m := newTerminal(t, columns, rows)
	p := newProgress(m, progressLive, clock.now)
	options := watchOptions{timeout: 5 * time.Minute, size: m.size, palette: newPalette(true)}
	return &watched{newWatch(p, options), m, clock, p.beside(m)}
}

// after looks again.
func (w *watched) after(d time.Duration, clusters ...promote.Cluster) {
	w.clock.pass(d)
	w.look(lookOf(clusters...))
}

func (w *watched) see(want ...string) {
	w.t.Helper()
	assert.Equal(w.t, want, w.text())
}

func TestWatchLive(t *testing.T) {
	t.Parallel()
	w := newWatched(t, 80, 24)
	w.after(0, someClusters()...)
	w.see("0s, 5m0s left: 1 of 4 clusters deployed, 1 progressing, 1 behind, 1 failed",
		"  paris-2  large  failed       111111111111  Deployment shop/cart: not ready",
		"  oslo     drone  behind       222222222222",
		"  rome     large  progressing  111111111111  reconciling")
	clusters := someClusters()
	clusters[2].Standing, clusters[2].Message = promote.Deployed, ""
	clusters[3].Standing, clusters[3].Message = promote.Deployed, ""
	w.after(12*time.Second, clusters...)
	w.see("12s, 4m48s left: 3 of 4 clusters deployed, 1 behind", "  oslo  drone  behind  222222222222")
	clusters[1].Standing = promote.Deployed
	w.after(5*time.Second, clusters...)
	w.see("17s, 4m43s left: 4 of 4 clusters deployed")
	w.after(5*time.Second, someClusters()...)
	assert.Len(t, w.text(), 4)
	w.done()
	w.see("")
	w.done()
	w.see("")
	fmt.Fprint(w.other, "the end\n")
	w.see("the end", "")
}

func TestWatchIsDrawnAtOnce(t *testing.T) {
	t.Parallel()
	var writes [][]byte
	record := writerFunc(func(text []byte) (int, error) {
		writes = append(writes, bytes.Clone(text))
		return len(text), nil
	})
	w := newWatch(newProgress(record, progressLive, (&fakeClock{}).now), watchOptions{palette: newPalette(false)})
	w.look(lookOf(someClusters()...))
	w.look(lookOf(someClusters()...))
	assert.Len(t, writes, 2, "else it flickers")
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(text []byte) (int, error) { return f(text) }

func TestWatchBesideOtherOutput(t *testing.T) {
	t.Parallel()
	w := newWatched(t, 80, 24)
	fmt.Fprint(w.other, "before\n")
	oslo := someClusters()[1]
	w.after(0, oslo)
	frame := []string{"0s, 5m0s left: 0 of 1 cluster deployed, 1 behind", "  oslo  drone  behind  222222222222"}
	w.see(append([]string{"before"}, frame...)...)
	fmt.Fprint(w.other, "notice: one\nnotice: two\n")
	w.see(append([]string{"before", "notice: one", "notice: two"}, frame...)...)
	fmt.Fprint(w.other, "half ")
	w.see("before", "notice: one", "notice: two", "half")
	w.progress.phase("reading")
	w.see("before", "notice: one", "notice: two", "half")
	w.after(0, oslo)
	w.see("before", "notice: one", "notice: two", "half")
	fmt.Fprint(w.other, "a line\n")
	w.see(append([]string{"before", "notice: one", "notice: two", "half a line"}, frame...)...)
	w.done()
	w.see("before", "notice: one", "notice: two", "half a line", "")
}

func TestWatchGivesWayToPhases(t *testing.T) {
	t.Parallel()
	w := newWatched(t, 80, 24)
	w.progress.phase("reading dev")
	w.see("reading dev")
	w.after(0, someClusters()...)
	assert.Len(t, w.text(), 4)
	w.progress.wait(30*time.Second, "as GitHub asks")
	w.see("waiting 30s as GitHub asks")
	fmt.Fprint(w.other, "notice\n")
	w.see("notice", "")
	w.after(0, someClusters()[1])
	w.see("notice", "0s, 5m0s left: 0 of 1 cluster deployed, 1 behind", "  oslo  drone  behind  222222222222")
	w.progress.phase("promoting to stage")
	w.see("notice", "promoting to stage")
	w.progress.done()
	w.see("notice", "")
}

func TestWatchFitsTheTerminal(t *testing.T) {
	t.Parallel()
	clusters := append(manyClusters(300), hostileClusters()...)
	for columns := 10; columns < 130; columns += 17 {
		for rows := 1; rows < 20; rows += 3 {
			w := newWatched(t, columns, rows)
			fmt.Fprint(w.other, "before\n")
			for i := range 5 {
				w.after(time.Second, clusters[i*10:]...)
				assert.LessOrEqual(t, len(w.text())-1, max(1, rows-1), "%d × %d", columns, rows)
				assert.LessOrEqual(t, len(w.text())-1, 1+maxWorst+1)
			}
			w.done()
			w.see("before", "")
		}
	}
}

func TestC7WatchShowsTheWorst(t *testing.T) {
	t.Parallel()
	clusters := manyClusters(3000)
	w := newWatched(t, 60, 24)
	w.after(time.Minute, clusters...)
	w.see("1m0s, 4m0s left: 2,835 of 3,000 clusters deployed, 150 beh…",
		"  edge-0011  type-2  failed  111111111111  disk full",
		"  edge-0211  type-1  failed  111111111111  disk full",
		"  edge-0411  type-0  failed  111111111111  disk full",
		"  edge-0611  type-2  failed  111111111111  disk full",
		"  edge-0811  type-1  failed  111111111111  disk full",
		"  edge-1011  type-0  failed  111111111111  disk full",
		"  edge-1211  type-2  failed  111111111111  disk full",
		"  edge-1411  type-1  failed  111111111111  disk full",
		"  edge-1611  type-0  failed  111111111111  disk full",
		"  edge-1811  type-2  failed  111111111111  disk full",
		"  … and 155 more")
	for rows, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 3, 5: 4, 12: 11, 13: 12, 14: 12, 100: 12, 0: 12} {
		w := newWatched(t, 100, rows)
		w.after(0, clusters...)
		assert.Len(t, w.text(), want, "%d rows", rows)
	}
}

func TestWatchOnATerminalOfUnknownSize(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]func() (int, int){"no function": nil, "no terminal": terminalSize(math.MaxUint16)} {
		m := newTerminal(t, 80, 24)
		w := newWatch(newProgress(m, progressLive, (&fakeClock{}).now), watchOptions{size: size, palette: newPalette(false)})
		w.look(lookOf(append(manyClusters(100), hostileClusters()...)...))
		assert.Len(t, m.text(), 1+maxWorst+1, name)
		w.done()
		assert.Equal(t, []string{""}, m.text(), name)
	}
}

func TestWatchOnATerminalWithOtherWidths(t *testing.T) {
	t.Parallel()
	w := newWatched(t, 80, 24)
	w.cells = func(rune) int { return 2 }
	fmt.Fprint(w.other, "before\n")
	for range 3 {
		w.after(time.Second, someClusters()...)
		assert.Len(t, w.text(), 1+4, "no line takes two")
	}
	w.after(time.Second, someClusters()[0])
	assert.Len(t, w.text(), 1+1)
	w.done()
	w.see("before", "")
}

func TestWatchOnAResizedTerminal(t *testing.T) {
	t.Parallel()
	w := newWatched(t, 100, 24)
	fmt.Fprint(w.other, "before\n")
	w.after(0, manyClusters(300)...)
	w.columns = 30
	w.after(time.Second, manyClusters(300)[5:15]...)
	w.see("before", "1s, 4m59s left: 8 of 10 clus…", "  edge-0011  type-2  failed", "  edge-0007  type-1  behind")
	w.columns = 100
	w.after(time.Second, someClusters()[1])
	w.see("before", "2s, 4m58s left: 0 of 1 cluster deployed, 1 behind", "  oslo  drone  behind  222222222222")
	w.done()
	w.see("before", "")

	w.after(0, manyClusters(300)...)
	w.rows = 5 // most of the frame scrolls away, and cannot be reached any more
	w.after(time.Second, manyClusters(300)...)
	w.done()
	lines := w.text()
	assert.Len(t, lines, 1+(1+maxWorst+1)-5+1)
	for _, stale := range lines[1 : len(lines)-1] {
		assert.Regexp(t, "^2s|^  edge", stale)
	}
}

// logged is a watch that writes to a log.
type logged struct {
	*watch
	out   bytes.Buffer
	clock *fakeClock
}

func newLogged(mode progressMode) *logged {
	l := &logged{clock: &fakeClock{at: time.Unix(1000, 0)}}
	l.watch = newWatch(newProgress(&l.out, mode, l.clock.now), watchOptions{timeout: 5 * time.Minute, palette: newPalette(false)})
	return l
}

func (l *logged) after(d time.Duration, look promote.Look) {
	l.clock.pass(d)
	l.look(look)
}

func TestWatchInALog(t *testing.T) {
	t.Parallel()
	for _, mode := range []progressMode{progressLines, progressOff} {
		l := newLogged(mode)
		clusters := someClusters()[:2]
		l.after(0, lookOf(clusters...))
		l.after(5*time.Second, lookOf(clusters...))
		clusters[1].Message = "another message is no news"
		l.after(5*time.Second, lookOf(clusters...))
		l.after(20*time.Second, lookOf(clusters...))
		l.after(25*time.Second, lookOf(clusters...))
		clusters[1].Standing = promote.Progressing
		l.after(2*time.Second, lookOf(clusters...))
		l.after(29*time.Second, lookOf(clusters...))
		l.after(time.Second, lookOf(clusters...))
		clusters[1].Standing = promote.Deployed
		l.after(time.Second, lookOf(clusters...))
		l.done()
		assert.Equal(t, `0s: 1 of 2 clusters deployed, 1 behind
30s: 1 of 2 clusters deployed, 1 behind
57s: 1 of 2 clusters deployed, 1 progressing
1m27s: 1 of 2 clusters deployed, 1 progressing
1m28s: 2 of 2 clusters deployed
`, l.out.String())
	}
}

func TestWatchInALogTellsWhenAFleetCannotBeAsked(t *testing.T) {
	t.Parallel()
	l := newLogged(progressLines)
	look := lookOf(someClusters()[0])
	l.after(0, look)
	look.Unasked = "argocd: connection refused"
	l.after(5*time.Second, look)
	look.Unasked = "argocd: 503"
	l.after(5*time.Second, look)
	look.Unasked = ""
	l.after(5*time.Second, look)
	assert.Equal(t, `0s: 1 of 1 cluster deployed
5s: 1 of 1 cluster deployed; argocd: connection refused
15s: 1 of 1 cluster deployed
`, l.out.String())
}

func TestWatchInALogNamesFailures(t *testing.T) {
	t.Parallel()
	l := newLogged(progressOff)
	clusters := someClusters()
	l.after(0, lookOf(clusters...))
	l.after(5*time.Second, lookOf(clusters...))
	clusters[2].Standing, clusters[3].Standing, clusters[3].Message = promote.Progressing, promote.Broken, ""
	l.after(5*time.Second, lookOf(clusters...))
	clusters[0].Fleet, clusters[0].Standing = "argocd", promote.Broken
	l.after(5*time.Second, lookOf(clusters...))
	assert.Equal(t, `0s: 1 of 4 clusters deployed, 1 progressing, 1 behind, 1 failed
  cluster paris-2 failed: Deployment shop/cart: not ready
10s: 1 of 4 clusters deployed, 1 progressing, 1 behind, 1 failed
  cluster rome failed
15s: 0 of 4 clusters deployed, 1 progressing, 1 behind, 2 failed
  cluster berlin (argocd) failed
`, l.out.String())
}

func TestC7WatchInALogIsBounded(t *testing.T) {
	t.Parallel()
	l := newLogged(progressLines)
	clusters := manyClusters(3000)
	l.after(0, lookOf(clusters...))
	assert.Equal(t, 1+15, strings.Count(l.out.String(), "\n"))
	for i := range clusters {
		clusters[i].Standing = promote.Broken
	}
	l.out.Reset()
	l.after(time.Second, lookOf(clusters...))
	lines := strings.Split(l.out.String(), "\n")
	assert.Len(t, lines, 1+5+1+1)
	assert.Equal(t, "  and 2,980 more failed", lines[6])
	l.out.Reset()
	clusters = append(clusters, promote.Cluster{Name: "late", Fleet: "azure-resource-graph", Standing: promote.Broken})
	l.after(time.Second, lookOf(clusters...))
	assert.Equal(t, "2s: 0 of 3,001 clusters deployed, 3,001 failed\n  and 1 more failed\n", l.out.String())
	l.out.Reset()
	for i := range clusters { // all flap
		for _, standing := range []promote.Standing{promote.Behind, promote.Broken} {
			clusters[i].Standing = standing
		}
	}
	l.after(time.Second, lookOf(clusters...))
	assert.Empty(t, l.out.String(), "each failure is told once")
}

func TestU18WatchIsInert(t *testing.T) {
	t.Parallel()
	look := lookOf(hostileClusters()...)
	look.Unasked = strings.Join(hostileTexts(), "")
	for i := range look.Clusters {
		look.Clusters[i].Standing = promote.Broken
	}
	l := newLogged(progressLines)
	l.after(0, look)
	assertHarmless(t, l.out.String())
	assert.Equal(t, 1+len(look.Clusters), strings.Count(l.out.String(), "\n"))
	for line := range strings.Lines(l.out.String()) {
		assert.NotRegexp(t, `^\s*::`, line)
	}
	var guarded bytes.Buffer
	_, err := guardCommands(&guarded).Write(l.out.Bytes())
	require.NoError(t, err)
	assert.False(t, holdsCommand(guarded.Bytes()))

	w := newWatched(t, 80, 40) // which refuses control characters
	w.look(look)
	for _, line := range w.text() {
		assertHarmless(t, line)
	}
}

func TestNoWatch(t *testing.T) {
	t.Parallel()
	w := newWatch(nil, watchOptions{})
	w.look(lookOf(someClusters()...))
	w.done()
}

func TestWatchTimes(t *testing.T) {
	t.Parallel()
	clock := &fakeClock{at: time.Unix(1000, 0)}
	w := newWatch(newProgress(nil, progressLive, clock.now), watchOptions{timeout: 5 * time.Minute})
	assert.Equal(t, "0s, 5m0s left", w.times())
	clock.pass(12*time.Second + 300*time.Millisecond)
	assert.Equal(t, "12s, 4m48s left", w.times())
	clock.pass(time.Hour)
	assert.Equal(t, "1h0m12s, 0s left", w.times())
	w.timeout = 0
	assert.Equal(t, "1h0m12s", w.times())
}
