package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
)

// late does what is asked for, and lets a fault answer.
func late(fault aFault) aFault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		fault(w, r, next)
	}
}

// silent does not answer.
func silent(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body) // only then is it noticed that the client leaves
	<-r.Context().Done()
}

// hangUp resets the connection instead of an answer.
func hangUp(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// redirect sends to another host.
func redirect(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	http.Redirect(w, r, "http://127.0.0.2:1"+r.URL.Path, http.StatusTemporaryRedirect)
}

// gitFault is something that goes wrong with a request of git, once or from then on.
type gitFault struct {
	name  string
	fault aFault
	// code is how a run ends that does not try again; else 0.
	code int
}

func gitFaults() []gitFault {
	return []gitFault{
		{name: "500", fault: answers(http.StatusInternalServerError)},
		{name: "502", fault: answers(http.StatusBadGateway)},
		{name: "429", fault: answers(http.StatusTooManyRequests)},
		{name: "429, later", fault: answers(http.StatusTooManyRequests, "Retry-After", "60")},
		{name: "429, much later", fault: answers(http.StatusTooManyRequests, "Retry-After", "3600"), code: cli.ExitRemote},
		{name: "reset", fault: hangUp},
		{name: "reset half-way", fault: half(reset, func(whole, _ int) int { return whole })},
		{name: "half the answer", fault: half(func(http.ResponseWriter) {}, func(_, sent int) int { return sent })},
		{name: "silence", fault: silent},
		{name: "another host", fault: redirect, code: cli.ExitModel},
		{name: "401", fault: answers(http.StatusUnauthorized), code: cli.ExitRemote},
		{name: "403", fault: answers(http.StatusForbidden), code: cli.ExitRemote},
		{name: "404", fault: answers(http.StatusNotFound), code: cli.ExitRemote},
	}
}

// theGitSteps are the requests that git makes to the GitOps repository.
func (p *press) theGitSteps() []step {
	var all []step
	for _, s := range p.theSteps() {
		if s.git() {
			all = append(all, s)
		}
	}
	return all
}

// pushedAt is the number of the request that pushes.
func (p *press) pushedAt() int {
	for _, s := range p.theSteps() {
		if s.what == pushStep {
			return s.n
		}
	}
	return 0
}

// TestR10GitFaultOnce lets each request of git go wrong once, in each way. What is worth it is tried again, so that the run
// succeeds; else it fails and the next one succeeds. Of a push whose answer is lost it is read what became of it.
func TestR10GitFaultOnce(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := newPress(t, acmeFleet(t))
	type trial struct {
		step
		gitFault
	}
	var trials []trial
	steps, faults := template.theGitSteps(), gitFaults()
	for i, s := range steps {
		for j, f := range faults {
			if wantsWholeMatrix() || j%len(steps) == i { // else each fault at one step
				trials = append(trials, trial{s, f})
			}
		}
	}
	require.GreaterOrEqual(t, len(trials), len(faults))
	pushed := template.pushedAt()
	all(trials, func(o trial) {
		which := o.step.String() + ": " + o.name
		p := template.another()
		p.set(func(s step) aFault {
			if s.n == o.n {
				return o.fault
			}
			return nil
		})
		got := p.run()
		p.assertNothingLost(which)
		if o.what == pushStep && o.name[0] == 'h' || o.n > pushed {
			o.code = cli.ExitDone // the push was done, and reading tells; or it needs no more
		}
		assert.Equal(t, o.code, got.code, "%s: %s", which, got.stderr)
		if got.code != cli.ExitDone {
			p.set(nil)
			p.must()
		}
		p.assertRight(which)
		assert.Len(t, p.repo.Pulls(), 1)
	})
}

// TestR10GitFaultForever: a server that is down fails the run after a few tries; the run names it, and nothing wrong is
// published.
func TestR10GitFaultForever(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := newPress(t, acmeFleet(t))
	steps, pushed := template.theGitSteps(), template.pushedAt()
	together(steps, func(o step) {
		p := template.another()
		p.set(func(s step) aFault {
			if s.n >= o.n && s.git() {
				return answers(http.StatusServiceUnavailable)
			}
			return nil
		})
		got := p.run()
		if o.n > pushed {
			assert.Equal(t, cli.ExitDone, got.code, "%v: %s", o, got.stderr)
			assert.Contains(t, got.stderr, "[unverified-sources]", o)
		} else {
			assert.Equal(t, cli.ExitRemote, got.code, "%v: %s", o, got.stderr)
		}
		assert.Contains(t, got.stderr, acme("gitops"), o)
		assert.LessOrEqual(t, len(p.requests()), o.n+12, o)
		p.assertNothingLost(o.String())
		p.set(nil)
		p.must()
		p.assertRight(o.String())
	})
}

// TestR4AnswerToPushIsLost: the server has taken the push, but its answer does not arrive. That is found out by reading, and
// nothing is pushed twice.
func TestR4AnswerToPushIsLost(t *testing.T) {
	t.Parallel()
	template := newPress(t, acmeFleet(t))
	for _, f := range gitFaults() {
		if strings.HasPrefix(f.name, "half") || strings.HasSuffix(f.name, "half-way") {
			continue // these do what is asked for already
		}
		p := template.another()
		p.set(when(pushStep, 1, late(f.fault)))
		got := p.must()
		assert.Contains(t, got.stdout, "\npushed ", f.name)
		assert.Equal(t, 1, p.count(pushStep), f.name)
		assert.Equal(t, 1, p.count(createStep), f.name)
		p.assertRight(f.name)
	}
}

// TestR11ReadOnlyToken: a token that may not push ends the run, which says what is missing. No other way is tried.
func TestR11ReadOnlyToken(t *testing.T) {
	t.Parallel()
	p := newPress(t, acmeFleet(t))
	permissions := githubtest.AllPermissions()
	permissions["contents"] = "read"
	p.api.AddToken(tokenOf(usual), githubtest.Token{Name: usual, Permissions: permissions})
	got := p.run()
	assert.Equal(t, cli.ExitRemote, got.code)
	assert.Contains(t, got.stderr, "contents: write")
	assert.Equal(t, 1, p.count(beforePush))
	assert.Empty(t, p.writes())
	p.assertNothingLost("read-only")
	p.admit(usual)
	p.must()
	p.assertRight("now it may")
}

// TestR26SilentWhilePublishing: a run times out while a server does not answer. It reports that, and what it has done.
func TestR26SilentWhilePublishing(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := newPress(t, acmeFleet(t))
	for _, what := range []string{pushStep, createStep} {
		p := template.another()
		p.set(when(what, 0, silent))
		cmd, left := p.process(usual, "--timeout", "3s")
		got := finish(t, cmd)
		p.heard(got)
		assert.Equal(t, cli.ExitTimeUp, got.code, "%s: %s", what, got.stderr)
		assert.Contains(t, got.stderr, "timed out after 3s", what)
		if p.count(what) > 0 && what == createStep {
			assert.Contains(t, got.stderr, "not everything was published", what)
		}
		assert.Empty(t, left())
		p.set(nil)
		p.must()
		p.assertRight(what)
	}
}
