package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
)

// TestC6GitFaultOnce lets each request of git go wrong once while a promotion is on its way. The run, or the next one, ends as
// if nothing had happened.
func TestC6GitFaultOnce(t *testing.T) {
	t.Parallel()
	wholeMatrix(t)
	for name, template := range ways(t) {
		want := template.rehearse()
		type trial struct {
			step
			gitFault
		}
		var trials []trial
		for _, s := range template.ownSteps(name) {
			for _, f := range gitFaults() {
				if s.git() {
					trials = append(trials, trial{s, f})
				}
			}
		}
		require.GreaterOrEqual(t, len(trials), 26, name)
		together(trials, func(o trial) {
			which := name + ": " + o.step.String() + ": " + o.name
			p := template.another()
			p.set(nth(o.n, o.fault))
			got := p.run()
			p.assertNothingLost(which)
			if o.what == stagePush && strings.HasPrefix(o.name, "half") {
				o.code = cli.ExitDone // the push was done, and reading tells
			}
			if o.n <= 3 && o.code == cli.ExitModel {
				o.code = cli.ExitUsage // the command line names what cannot be read
			}
			assert.Equal(t, o.code, got.code, "%s: %s", which, got.stderr)
			if got.code != cli.ExitDone {
				assert.Contains(t, got.stderr, ": nothing was promoted\n", which)
				p.set(nil)
				p.must()
			}
			p.assertPromoted(want, which)
		})
	}
}

// nth lets a fault happen to the nth request of a run.
func nth(n int, fault aFault) gate {
	return func(s step) aFault {
		if s.n == n {
			return fault
		}
		return nil
	}
}

// theAPISteps are the requests that a promotion makes to the API, as the API sees them.
func (p *press) theAPISteps() []githubtest.Request {
	p.t.Helper()
	other := p.another()
	other.must()
	return other.api.Requests()
}

// TestC6EveryRequestMayFail lets every request to the API fail in every way that passes. The run ends as if nothing had
// happened: nothing is promoted, proposed or said twice.
func TestC6EveryRequestMayFail(t *testing.T) {
	t.Parallel()
	matrix(t)
	for name, template := range ways(t) {
		want := template.rehearse()
		type trial struct {
			githubtest.Request
			fault string
		}
		var trials []trial
		for _, request := range template.theAPISteps() {
			for fault := range passingFaults(time.Time{}) {
				trials = append(trials, trial{request, fault})
			}
		}
		together(trials, func(o trial) {
			which := fmt.Sprintf("%s: %s: request %d, %s", name, o.fault, o.Number, o.Request)
			p := template.another()
			for _, fault := range passingFaults(time.Now())[o.fault].faults {
				p.api.Inject(fault, githubtest.First(1, func(r githubtest.Request) bool {
					return r.Number >= o.Number && r.String() == o.Request.String()
				}))
			}
			got := p.run()
			assert.Equal(t, cli.ExitDone, got.code, "%s: %s", which, got.stderr)
			p.assertPromoted(want, which)
		})
	}
}

// TestC6SilentGitHub: GitHub takes a request and never answers, at each of them.
func TestC6SilentGitHub(t *testing.T) {
	t.Parallel()
	matrix(t)
	for name, template := range ways(t) {
		template.timeouts.Request = time.Second
		want := template.rehearse()
		together(template.theAPISteps(), func(request githubtest.Request) {
			which := name + ": " + request.String()
			p := template.another()
			p.api.Inject(githubtest.Hang(), githubtest.Nth(request.Number))
			got := p.run()
			assert.Equal(t, cli.ExitDone, got.code, "%s: %s", which, got.stderr)
			p.assertPromoted(want, which)
		})
	}
}

// TestC6RefusedForGood refuses each request to the API in each way that no retry passes. The run ends at once, says what
// it has done by then, and the next one ends as if nothing had happened.
func TestC6RefusedForGood(t *testing.T) {
	t.Parallel()
	wholeMatrix(t)
	for name, template := range ways(t) {
		want := template.rehearse()
		type trial struct {
			githubtest.Request
			status        int
			message, says string
		}
		var trials []trial
		for _, request := range template.theAPISteps() {
			for _, refusal := range refusals {
				if refusal.status == http.StatusNotFound && (strings.Contains(request.Path, "/labels/") || strings.Contains(request.Path, "/git/ref/")) {
					continue // that is a state, not an error
				}
				trials = append(trials, trial{request, refusal.status, refusal.message, refusal.say})
			}
		}
		together(trials, func(o trial) {
			which := fmt.Sprintf("%s: %s: %d", name, o.Request, o.status)
			p := template.another()
			p.api.Inject(githubtest.Refusal(o.status, o.message), githubtest.On(o.Method, o.Path))
			got := p.run()
			assert.Equal(t, cli.ExitRemote, got.code, "%s: %s", which, got.stderr)
			assert.Contains(t, got.stderr, "promote to stage: ", which)
			if !strings.Contains(o.Path, "/status") || o.status != http.StatusNotFound { // a commit that it has not
				assert.Contains(t, got.stderr, o.says, which)
			}
			p.assertNothingLost(which)
			p.api.Heal()
			p.must()
			p.assertPromoted(want, which)
		})
	}
}

// TestC6ServerIsDown: a server that is down from some request on fails the run after a few tries, and nothing wrong is
// promoted.
func TestC6ServerIsDown(t *testing.T) {
	t.Parallel()
	matrix(t)
	for name, template := range ways(t) {
		want := template.rehearse()
		together(template.ownSteps(name), func(o step) {
			which := name + ": " + o.String()
			p := template.another()
			p.set(func(s step) aFault {
				if s.n >= o.n {
					return answers(http.StatusServiceUnavailable)
				}
				return nil
			})
			got := p.run()
			assert.Equal(t, cli.ExitRemote, got.code, "%s: %s", which, got.stderr)
			assert.Regexp(t, `(?m)^1 error: `, got.stderr, which)
			assert.LessOrEqual(t, len(p.requests()), o.n+12, which)
			p.assertNothingLost(which)
			p.set(nil)
			p.must()
			p.assertPromoted(want, which)
		})
	}
}

// TestC6AnswerToPushIsLost: the server has taken the push, but its answer does not arrive. That is found out by reading.
func TestC6AnswerToPushIsLost(t *testing.T) {
	t.Parallel()
	for name, template := range ways(t) {
		want := template.rehearse()
		for _, f := range gitFaults() {
			if strings.HasPrefix(f.name, "half") || strings.HasSuffix(f.name, "half-way") {
				continue // these do what is asked for already
			}
			which := name + ": " + f.name
			p := template.another()
			p.set(when(stagePush, 1, late(f.fault)))
			got := p.must()
			assert.Contains(t, got.stdout, "\npushed ", which)
			assert.Equal(t, 1, p.count(stagePush), which)
			p.assertPromoted(want, which)
		}
	}
}
