package fleetstatus

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

func TestWatchLive(t *testing.T) {
	t.Parallel()
	l := newLogged(term.Live)
	clusters := someClusters()
	l.after(0, snapshotOf(clusters...))
	assert.Equal(t, "  cluster paris-2 failed: Deployment shop/cart: not ready\n\r0s, 5m0s left: 1 of 4 clusters deployed, 1 progressing, 1 behind, 1 failed", l.out.String())
	clusters[3].State = promote.Deployed
	l.after(12*time.Second, snapshotOf(clusters...))
	assert.Equal(t, "12s, 4m48s left: 2 of 4 clusters deployed, 1 behind, 1 failed", l.liveLine())
	clusters[1].State = promote.Deployed
	l.after(5*time.Second, snapshotOf(clusters...))
	assert.Equal(t, "17s, 4m43s left: 3 of 4 clusters deployed, 1 failed", l.liveLine())
	assert.Equal(t, 1, strings.Count(l.out.String(), "\n"), "a failure is reported once")
}

func TestC7WatchIsALine(t *testing.T) {
	t.Parallel()
	l := newLogged(term.Live)
	clusters := manyClusters(3000)
	l.after(time.Minute, snapshotOf(clusters...))
	assert.Equal(t, "1m0s, 4m0s left: 2,835 of 3,000 clusters deployed, 150 behind, 15 failed", l.liveLine())
	l.after(time.Minute, snapshotOf(clusters...))
	assert.Equal(t, 15, strings.Count(l.out.String(), "\n"))
}

// logged is a watch that writes to a log.
type logged struct {
	*Watch
	out bytes.Buffer
	now time.Time
}

// liveLine is what was written last over the live line.
func (l *logged) liveLine() string {
	text := l.out.String()
	return strings.TrimRight(text[strings.LastIndexByte(text, '\r')+1:], " ")
}

func newLogged(mode term.Mode) *logged {
	l := &logged{now: time.Unix(1000, 0)}
	l.Watch = NewWatch(term.NewProgress(&l.out, mode, func() time.Time { return l.now }), 5*time.Minute)
	return l
}

func (l *logged) after(d time.Duration, snapshot promote.Snapshot) {
	l.now = l.now.Add(d)
	l.Show(snapshot)
}

func TestWatchInALog(t *testing.T) {
	t.Parallel()
	for _, mode := range []term.Mode{term.Lines, term.Off} {
		l := newLogged(mode)
		clusters := someClusters()[:2]
		l.after(0, snapshotOf(clusters...))
		l.after(5*time.Second, snapshotOf(clusters...))
		clusters[1].Message = "another message is no news"
		l.after(5*time.Second, snapshotOf(clusters...))
		l.after(49*time.Second, snapshotOf(clusters...))
		l.after(time.Second, snapshotOf(clusters...))
		l.after(55*time.Second, snapshotOf(clusters...))
		clusters[1].State = promote.Progressing
		l.after(2*time.Second, snapshotOf(clusters...))
		l.after(59*time.Second, snapshotOf(clusters...))
		l.after(time.Second, snapshotOf(clusters...))
		clusters[1].State = promote.Deployed
		l.after(time.Second, snapshotOf(clusters...))
		l.progress.Done()
		assert.Equal(t, `0s: 1 of 2 clusters deployed, 1 behind
1m0s, 4m0s left: no change
1m57s: 1 of 2 clusters deployed, 1 progressing
2m57s, 2m3s left: no change
2m58s: 2 of 2 clusters deployed
`, l.out.String())
	}
}

func TestWatchInALogTellsWhenAFleetCannotBeAsked(t *testing.T) {
	t.Parallel()
	l := newLogged(term.Lines)
	snapshot := snapshotOf(someClusters()[0])
	l.after(0, snapshot)
	snapshot.QueryErrors = "argocd: connection refused"
	l.after(5*time.Second, snapshot)
	snapshot.QueryErrors = "argocd: 503"
	l.after(5*time.Second, snapshot)
	snapshot.QueryErrors = ""
	l.after(5*time.Second, snapshot)
	assert.Equal(t, `5s: 1 of 1 cluster deployed; argocd: connection refused
15s: 1 of 1 cluster deployed
`, l.out.String())
}

func TestWatchInALogNamesFailures(t *testing.T) {
	t.Parallel()
	l := newLogged(term.Off)
	clusters := someClusters()
	l.after(0, snapshotOf(clusters...))
	l.after(5*time.Second, snapshotOf(clusters...))
	clusters[2].State, clusters[3].State, clusters[3].Message = promote.Progressing, promote.Broken, ""
	l.after(5*time.Second, snapshotOf(clusters...))
	clusters[0].Fleet, clusters[0].State = "argocd", promote.Broken
	l.after(5*time.Second, snapshotOf(clusters...))
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
	l := newLogged(term.Lines)
	clusters := manyClusters(3000)
	l.after(0, snapshotOf(clusters...))
	assert.Equal(t, 1+15, strings.Count(l.out.String(), "\n"))
	for i := range clusters {
		clusters[i].State = promote.Broken
	}
	l.out.Reset()
	l.after(time.Second, snapshotOf(clusters...))
	lines := strings.Split(l.out.String(), "\n")
	assert.Len(t, lines, 1+5+1+1)
	assert.Equal(t, "  and 2,980 more failed", lines[6])
	l.out.Reset()
	clusters = append(clusters, promote.Cluster{Name: "late", Fleet: "azure-resource-graph", State: promote.Broken})
	l.after(time.Second, snapshotOf(clusters...))
	assert.Equal(t, "2s: 0 of 3,001 clusters deployed, 3,001 failed\n  and 1 more failed\n", l.out.String())
	l.out.Reset()
	for i := range clusters { // all flap
		for _, state := range []promote.ClusterState{promote.Behind, promote.Broken} {
			clusters[i].State = state
		}
	}
	l.after(time.Second, snapshotOf(clusters...))
	assert.Empty(t, l.out.String(), "each failure is reported once")
}

func TestU18WatchIsInert(t *testing.T) {
	t.Parallel()
	snapshot := snapshotOf(hostileClusters()...)
	snapshot.QueryErrors = strings.Join(hostileTexts(), "")
	for i := range snapshot.Clusters {
		snapshot.Clusters[i].State = promote.Broken
	}
	live := newLogged(term.Live)
	live.after(0, snapshot)
	assertHarmless(t, strings.ReplaceAll(live.out.String(), "\r", ""))
	l := newLogged(term.Lines)
	l.after(0, snapshot)
	assertHarmless(t, l.out.String())
	assert.Equal(t, 1+len(snapshot.Clusters), strings.Count(l.out.String(), "\n"))
	for line := range strings.Lines(l.out.String()) {
		assert.NotRegexp(t, `^\s*::`, line)
	}
	var guarded bytes.Buffer
	_, err := term.NewGuard(&guarded).Write(l.out.Bytes())
	require.NoError(t, err)
	assert.False(t, term.HoldsCommand(guarded.Bytes()))
}

func TestNoWatch(t *testing.T) {
	t.Parallel()
	NewWatch(nil, 0).Show(snapshotOf(someClusters()...))
}

func TestWatchTimes(t *testing.T) {
	t.Parallel()
	w := NewWatch(nil, 5*time.Minute)
	assert.Equal(t, "0s, 5m0s left", w.times(0))
	assert.Equal(t, "12s, 4m48s left", w.times(12*time.Second+300*time.Millisecond))
	assert.Equal(t, "1h0m12s, 0s left", w.times(time.Hour+12*time.Second))
	w.timeout = 0
	assert.Equal(t, "1h0m12s", w.times(time.Hour+12*time.Second))
}
