package main

import (
	"fmt"
	"time"

	"golang.org/x/term"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

const (
	// watchEvery is how long a log says nothing at most while looks go on.
	watchEvery = 30 * time.Second
	// maxToldFailures is how many failing clusters a log names in all.
	maxToldFailures = 20
	// watchIndent sets clusters off from the counts.
	watchIndent = "  "
)

// watch shows people how a fleet comes along while it is waited for: on a terminal the counts and the worst clusters,
// kept up to date, else a line whenever something has changed. It must not be used concurrently.
type watch struct {
	watchOptions
	progress *progress
	began    time.Time
	// told and said are when the last line was written, and what it said; for a log.
	told time.Time
	said watchState
	// failures are the clusters whose failure was told, or counted.
	failures map[clusterKey]bool
}

// watchOptions say how a watch looks.
type watchOptions struct {
	// timeout is how long is waited in all; zero for as long as it takes.
	timeout time.Duration
	// size is that of the terminal; nil, or zeros, if it is not known.
	size    func() (columns, rows int)
	palette palette
}

// watchState is what is worth a line in a log when it changes.
type watchState struct {
	promote.Counts
	need    int
	unasked bool
}

type clusterKey struct{ fleet, name string }

// newWatch returns a watch that begins now. A nil progress shows nothing; one that is not live gets lines, also where
// phases get none: nobody should wait for minutes without a word.
func newWatch(p *progress, o watchOptions) *watch {
	w := &watch{watchOptions: o, progress: p, failures: map[clusterKey]bool{}}
	if p != nil {
		w.began = p.now()
	}
	return w
}

// terminalSize asks the terminal behind a file descriptor; zeros if it is none.
func terminalSize(fd uintptr) func() (columns, rows int) {
	return func() (int, int) {
		columns, rows, err := term.GetSize(int(fd))
		if err != nil {
			return 0, 0
		}
		return columns, rows
	}
}

// look shows what was seen last.
func (w *watch) look(look promote.Look) {
	p := w.progress
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == progressLive {
		p.setFrame(w.frame(look))
		return
	}
	w.log(look)
}

// done takes what is shown off the terminal. It may be called more than once.
func (w *watch) done() { w.progress.done() }

// frame is as many lines as the terminal has room for: the counts, and the worst clusters that are not deployed.
func (w *watch) frame(look promote.Look) []string {
	columns, rows := 0, 0
	if w.size != nil {
		columns, rows = w.size()
	}
	room := progressWidth
	if columns > 0 {
		room = max(1, columns-1) // the last column is left free: some terminals wrap when it is written
	}
	below := maxWorst + 1
	if rows > 0 {
		below = min(below, rows-2) // without the counts, and a line for what was said before
	}
	lines := []string{cut(w.times()+": "+countsLine(look), room)}
	waiting, _ := undeployed(look.Clusters)
	shown := min(len(waiting), maxWorst)
	if len(waiting) > min(maxWorst, below) {
		shown = min(maxWorst, below-1)
	}
	if shown <= 0 {
		return lines
	}
	o := tableOptions{palette: w.palette, room: max(1, room-len(watchIndent))}
	for _, line := range newClusterGrid(waiting[:shown], o).lines(o, false) {
		lines = append(lines, watchIndent+line)
	}
	if more := len(waiting) - shown; more > 0 {
		lines = append(lines, cut(fmt.Sprintf("%s… and %s more", watchIndent, thousands(more)), room))
	}
	return lines
}

// times says how long it has been, and how long it may be yet: "12s, 4m48s left".
func (w *watch) times() string {
	elapsed := w.progress.now().Sub(w.began)
	text := elapsed.Round(time.Second).String()
	if w.timeout > 0 {
		text += fmt.Sprintf(", %v left", max(0, w.timeout-elapsed).Round(time.Second))
	}
	return text
}

// log writes a line if there is news, or it has been quiet for long, and one for each cluster that has failed since.
func (w *watch) log(look promote.Look) {
	now := w.progress.now()
	state := watchState{look.Counts, look.Need, look.Unasked != ""}
	failed := w.newFailures(look)
	if !w.told.IsZero() && state == w.said && len(failed) == 0 && now.Sub(w.told) < watchEvery {
		return
	}
	w.told, w.said = now, state
	fmt.Fprintf(w.progress.w, "%v: %s\n", now.Sub(w.began).Round(time.Second), countsLine(look))
	room := max(0, maxToldFailures-(len(w.failures)-len(failed)))
	several := severalFleets(look.Clusters)
	for _, c := range failed[:min(room, len(failed))] {
		fmt.Fprintln(w.progress.w, watchIndent+failureLine(c, several))
	}
	if more := len(failed) - room; more > 0 {
		fmt.Fprintf(w.progress.w, "%sand %s more failed\n", watchIndent, thousands(more))
	}
}

// newFailures returns the clusters that have failed and were not told of, by fleet and name, and notes them.
func (w *watch) newFailures(look promote.Look) []promote.Cluster {
	var failed []promote.Cluster
	for _, c := range look.Clusters {
		key := clusterKey{c.Fleet, c.Name}
		if c.Standing == promote.Broken && !w.failures[key] {
			w.failures[key] = true
			failed = append(failed, c)
		}
	}
	return failed
}

// failureLine says why a cluster failed: "cluster edge-7 failed: health check timed out".
func failureLine(c promote.Cluster, several bool) string {
	line := "cluster " + wordOf(c.Name, maxNameColumns)
	if several {
		line += " (" + wordOf(c.Fleet, maxNameColumns) + ")"
	}
	line += " failed"
	if message := lineOf(c.Message, maxMessageColumns); message != "" {
		line += ": " + message
	}
	return line
}
