package fleetstatus

import (
	"fmt"
	"time"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

const (
	// watchEvery is the longest time without a line in a log while the command polls.
	watchEvery = time.Minute
	// MaxReportedFailures is how many failing clusters are named in all.
	MaxReportedFailures = 20
)

// Watch shows people the progress of a rollout: the counts, on a terminal in a line that is kept up
// to date, else in a line whenever they have changed; and each cluster that fails. It must not be used concurrently.
type Watch struct {
	progress *term.Progress
	// timeout is how long is waited in all; zero for as long as it takes.
	timeout time.Duration
	began   time.Time
	// reported and last are when the last line was written, and what it last; for a log.
	reported time.Time
	last     watchState
	// failures are the clusters whose failure was reported or counted.
	failures map[clusterKey]bool
}

// watchState is what is worth a line in a log when it changes.
type watchState struct {
	promote.Counts
	need        int
	queryErrors bool
}

type clusterKey struct{ fleet, name string }

// NewWatch returns a watch that begins now. A nil progress shows nothing; one that is not live gets lines, also where
// phases get none, because a check can take many minutes.
func NewWatch(p *term.Progress, timeout time.Duration) *Watch {
	w := &Watch{progress: p, timeout: timeout, failures: map[clusterKey]bool{}}
	if p != nil {
		w.began = p.Now()
	}
	return w
}

// Show shows what was seen last.
func (w *Watch) Show(snapshot promote.Snapshot) {
	if w.progress == nil {
		return
	}
	now := w.progress.Now()
	state, failed := watchState{snapshot.Counts, snapshot.Need, snapshot.QueryErrors != ""}, w.newFailures(snapshot)
	if w.progress.Live() {
		w.reportFailures(snapshot, failed)
		w.progress.Status(w.times(now.Sub(w.began)) + ": " + countsLine(snapshot))
		return
	}
	line := fmt.Sprintf("%v: %s", now.Sub(w.began).Round(time.Second), countsLine(snapshot))
	if !w.reported.IsZero() && state == w.last && len(failed) == 0 {
		if now.Sub(w.reported) < watchEvery {
			return
		}
		line = w.times(now.Sub(w.began)) + ": no change"
	}
	if !w.reported.IsZero() || state.queryErrors || state.Deployed < snapshot.Total() || snapshot.Total() == 0 { // the result repeats it
		w.progress.Line(line)
	}
	w.reported, w.last = now, state
	w.reportFailures(snapshot, failed)
}

// times returns the elapsed and the remaining time: "12s, 4m48s left".
func (w *Watch) times(elapsed time.Duration) string {
	text := elapsed.Round(time.Second).String()
	if w.timeout > 0 {
		text += fmt.Sprintf(", %v left", max(0, w.timeout-elapsed).Round(time.Second))
	}
	return text
}

// newFailures returns the clusters that have failed and were not reported of, by fleet and name, and notes them.
func (w *Watch) newFailures(snapshot promote.Snapshot) []promote.Cluster {
	var failed []promote.Cluster
	for _, c := range snapshot.Clusters {
		key := clusterKey{c.Fleet, c.Name}
		if c.State == promote.Broken && !w.failures[key] {
			w.failures[key] = true
			failed = append(failed, c)
		}
	}
	return failed
}

// reportFailures writes a line for each cluster that has failed since, as long as they are few.
func (w *Watch) reportFailures(snapshot promote.Snapshot, failed []promote.Cluster) {
	room := min(max(0, MaxReportedFailures-(len(w.failures)-len(failed))), len(failed))
	several := severalFleets(snapshot.Clusters)
	for _, c := range failed[:room] {
		w.progress.Line("  " + failureLine(c, several))
	}
	if more := len(failed) - room; more > 0 {
		w.progress.Line(fmt.Sprintf("  and %s more failed", thousands(more)))
	}
}

// failureLine returns the reason why a cluster failed: "cluster edge-7 failed: health check timed out".
func failureLine(c promote.Cluster, several bool) string {
	line := "cluster " + term.Word(c.Name, term.MaxName)
	if several {
		line += " (" + term.Word(c.Fleet, term.MaxName) + ")"
	}
	line += " failed"
	if message := term.Line(c.Message, term.MaxMessage); message != "" {
		line += ": " + message
	}
	return line
}
