//go:build unix

package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
)

// TestC6KilledAtAnyStep: whatever a promotion was doing when it was killed, the next run makes it good. Killed between the
// push and the status, the next one sets that.
func TestC6KilledAtAnyStep(t *testing.T) {
	t.Parallel()
	matrix(t)
	stoppedWhilePromoting(t, syscall.SIGKILL)
}

// TestC6TerminatedAtAnyStep: the same, and it ends at once, with 143, and says what it has pushed.
func TestC6TerminatedAtAnyStep(t *testing.T) {
	t.Parallel()
	matrix(t)
	stoppedWhilePromoting(t, syscall.SIGTERM)
}

func stoppedWhilePromoting(t *testing.T, signal syscall.Signal) {
	t.Helper()
	for name, template := range ways(t) {
		want := template.rehearse()
		steps := slices.DeleteFunc(template.stopSteps(signal), func(o stopStep) bool { return !isOwn(name, o.n) })
		together(steps, func(o stopStep) {
			p := template.another()
			o.stop(p)
			p.assertNothingLost(name + ": " + o.String())
			p.set(nil)
			p.must()
			p.assertPromoted(want, name+": "+o.String())
		})
	}
}

// TestC6SaysWhatItPushed: a run that is interrupted before it could set the status reports it.
func TestC6SaysWhatItPushed(t *testing.T) {
	t.Parallel()
	matrix(t)
	for name, template := range ways(t) {
		branch := map[string]string{"pushed": "stage", "proposed": proposedStage}[name]
		for _, o := range template.stopSteps(syscall.SIGTERM) {
			if !strings.Contains(o.what, "/statuses/") {
				continue
			}
			p := template.another()
			o.stop(p)
			assert.Contains(t, strings.Join(p.said, ""), "kalypso: pushed "+p.tip(branch)[:12]+" to "+branch+" of "+p.url+"/acme/control-plane; the next run continues\n")
		}
	}
}

// TestC6TimeIsUp: a run times out while a server does not answer. It reports that, and what it has done so far.
func TestC6TimeIsUp(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := newStages(t)
	want := template.rehearse()
	for what, left := range map[string]string{stagePush: "nothing was promoted", template.setStatus(): "not everything was promoted"} {
		p := template.another()
		p.set(when(what, 0, silent))
		cmd, remains := p.process(usual, "--timeout", "3s")
		got := finish(t, cmd)
		p.heard(got)
		assert.Equal(t, cli.ExitTimeUp, got.code, "%s: %s", what, got.stderr)
		assert.Contains(t, got.stderr, "timed out after 3s, while promoting to stage", what)
		if p.count(what) > 0 { // on a slow machine the time may be up before
			assert.Contains(t, got.stderr, left, what)
		}
		assert.Empty(t, remains())
		p.set(nil)
		p.must()
		p.assertPromoted(want, what)
	}
}

// TestC6RollbackStoppedAtAnyStep: the same for a rollback. The next run tells both commits, also the one that was taken back.
func TestC6RollbackStoppedAtAnyStep(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := newStages(t)
	template.must("--commit", template.versions[1])
	template.say(template.versions[1], stageStatus, "success", "Deployed: 2 of 2 clusters")
	template.must()
	template.flags = []string{"--rollback", "--commit", template.versions[1]}
	want := template.rehearse()
	assert.Equal(t, "error Rolled back to "+template.versions[1][:7], strings.TrimPrefix(want.Statuses[template.versions[2]][2], stageStatus+": "))
	var steps []stopStep
	for _, o := range template.stopSteps(syscall.SIGKILL) {
		if o.writes() {
			steps = append(steps, o)
		}
	}
	assert.Len(t, steps, 6)
	together(steps, func(o stopStep) {
		p := template.another()
		o.stop(p)
		p.set(nil)
		p.must()
		p.assertPromoted(want, o.String())
		p.set(nil)
		p.must()
		assert.Empty(t, p.writes(), o)
	})
}
