package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
)

// undisturbed is where a chain stands after a run that nothing disturbs.
func (c *chain) undisturbed() promotionState {
	c.t.Helper()
	other := c.another()
	other.must()
	return other.state()
}

// assertHonest makes sure that nothing was said or promoted that is not so: the fleet has deployed the commit of a
// success, and what is promoted was deployed.
func (c *chain) assertHonest(which string) {
	c.t.Helper()
	s := c.state()
	status := s.Statuses["version 2 dev environment"]
	if s.Promoted["stage"] == "version 2" {
		assert.Equal(c.t, "success Deployed: 1 of 1 cluster", status, which)
	}
	assert.NotContains(c.t, status, "failure", which)
	assert.LessOrEqual(c.t, c.promotions("stage"), 1, which)
	assert.Equal(c.t, "version 0", s.Promoted["prod"], which)
}

// assertHeals makes sure that the next run ends in the same place as one that nothing has disturbed, and that the one
// after it changes nothing.
func (c *chain) assertHeals(want promotionState, which string) {
	c.t.Helper()
	c.assertNothingLost(which)
	c.assertHonest(which)
	c.set(nil)
	got := c.run()
	assert.Equal(c.t, cli.ExitDone, got.code, "%s: %s", which, got.stderr)
	c.assertChecked(want, which)
	assert.Equal(c.t, 1, c.promotions("stage"), which)
	c.set(nil)
	got = c.run()
	assert.Contains(c.t, got.stdout, "dev has deployed ", which)
	assert.Empty(c.t, c.writes(), which)
}

// TestFaultsCheckCancelled: a run is cancelled at any request. The next one ends in the same place.
func TestFaultsCheckCancelled(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := aDueChain(t)
	want := template.undisturbed()
	template.eachStop(func(c *chain, n int, late bool, which string) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		c.set(stops(n, late, cancel))
		got := c.runAs(ctx, usual)
		assert.Equal(t, 143, got.code, "%s: %s", which, got.stderr)
		assert.Contains(t, got.stderr, "kalypso: interrupted\n", which)
		c.assertHeals(want, which)
	})
}

// TestFaultsCheckGit lets each request of git go wrong, once. What is worth it is tried again; else the next run ends
// in the same place.
func TestFaultsCheckGit(t *testing.T) {
	t.Parallel()
	wholeMatrix(t)
	template := aDueChain(t)
	want := template.undisturbed()
	type trial struct {
		step
		gitFault
	}
	var trials []trial
	for i, s := range template.theSteps() {
		for k, f := range gitFaults() {
			// A read that goes wrong in one way is like another that does: three faults for each of them.
			if s.git() && (!strings.HasSuffix(s.what, " fetch") || (i+k)%4 == 0) {
				trials = append(trials, trial{s, f})
			}
		}
	}
	require.Greater(t, len(trials), 70)
	together(trials, func(o trial) {
		which := o.step.String() + ": " + o.name
		c := template.another()
		c.set(atFault(o.n, o.fault))
		got := c.run()
		if strings.HasSuffix(o.what, " push") && o.name[0] == 'h' {
			o.code = cli.ExitDone // the push was done, and reading tells
		}
		if o.name == "another host" && got.code != cli.ExitDone {
			o.code = got.code // it is of a server that fails, or of an address that is wrong
		}
		assert.Equal(t, o.code, got.code, "%s: %s", which, got.stderr)
		if got.code == cli.ExitDone {
			c.assertChecked(want, which)
		}
		c.assertHeals(want, which)
	})
}

// atFault lets the nth request go wrong.
func atFault(n int, fault aFault) gate {
	return func(s step) aFault {
		if s.n == n {
			return fault
		}
		return nil
	}
}

// TestFaultsCheckGitDown: a git server that is down from some request on fails the run, which names it.
func TestFaultsCheckGitDown(t *testing.T) {
	t.Parallel()
	wholeMatrix(t)
	template := aDueChain(t)
	want := template.undisturbed()
	together(template.theSteps(), func(o step) {
		if !o.git() {
			return
		}
		c := template.another()
		var mu sync.Mutex
		var down []string // not always the one of o: requests to several repositories are under way at once
		c.set(func(s step) aFault {
			if s.n < o.n || !s.git() {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			down = append(down, "/acme/"+strings.Fields(s.what)[1])
			return answers(http.StatusServiceUnavailable)
		})
		got := c.run()
		assert.Equal(t, cli.ExitRemote, got.code, "%v: %s", o, got.stderr)
		assert.True(t, slices.ContainsFunc(down, func(repo string) bool { return strings.Contains(got.stderr, repo) }), "%v: %v: %s", o, down, got.stderr)
		c.assertHeals(want, o.String())
	})
}

// theAPISteps are the requests to the API of a run that nothing disturbs.
func (c *chain) theAPISteps() []githubtest.Request {
	c.t.Helper()
	other := c.another()
	other.must()
	return other.api.Requests()
}

// TestFaultsCheckAPI lets each request to GitHub go wrong in every way that passes. The run waits, and ends as if nothing
// had happened.
func TestFaultsCheckAPI(t *testing.T) {
	t.Parallel()
	wholeMatrix(t)
	template := aDueChain(t)
	want := template.undisturbed()
	type trial struct {
		githubtest.Request
		name string
	}
	var trials []trial
	for _, r := range template.theAPISteps() {
		for name := range passingFaults(time.Time{}) {
			trials = append(trials, trial{r, name})
		}
	}
	require.Greater(t, len(trials), 30)
	together(trials, func(o trial) {
		which := fmt.Sprintf("request %d, %s: %s", o.Number, o.Request, o.name)
		c := template.another()
		f := passingFaults(c.clock.now())[o.name]
		inject(c.api, f.faults, o.Request)
		got := c.run("--timeout", "1h")
		assert.Equal(t, cli.ExitDone, got.code, "%s: %s", which, got.stderr)
		c.assertChecked(want, which)
		assert.GreaterOrEqual(t, c.clock.longest(), f.min, which)
		assert.Len(t, c.statusesOf(c.commits[2], "stage"), 1, which)
		c.api.Heal()
		c.assertHeals(want, which)
	})
}

// statusesOf are all statuses that a commit ever had for an environment.
func (c *chain) statusesOf(commit, environment string) []githubtest.Status {
	var found []githubtest.Status
	for _, s := range c.control.Statuses(commit) {
		if s.Context == environment+" environment" {
			found = append(found, s)
		}
	}
	return found
}

// TestFaultsCheckAPIRefuses refuses each request in each way that no retry passes. The run ends with 3, at
// once, and the next one ends in the same place.
func TestFaultsCheckAPIRefuses(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := aDueChain(t)
	want := template.undisturbed()
	type trial struct {
		githubtest.Request
		status  int
		message string
		say     string
	}
	var trials []trial
	for _, r := range template.theAPISteps() {
		for _, refusal := range refusals {
			trials = append(trials, trial{r, refusal.status, refusal.message, refusal.say})
		}
	}
	together(trials, func(o trial) {
		which := fmt.Sprintf("request %d, %s: %d", o.Number, o.Request, o.status)
		c := template.another()
		c.api.Inject(githubtest.Refusal(o.status, o.message), githubtest.Nth(o.Number))
		got := c.run()
		assert.Equal(t, cli.ExitRemote, got.code, "%s: %s", which, got.stderr)
		assert.Contains(t, got.stderr, "["+session.RuleGitHubFailed+"]", which)
		assert.Contains(t, got.stderr, o.say, which)
		c.api.Heal()
		c.assertHeals(want, which)
	})
}

// TestFaultsCheckAPIDown: GitHub is down for good from some request on, or limits for longer than anybody waits.
func TestFaultsCheckAPIDown(t *testing.T) {
	t.Parallel()
	wholeMatrix(t)
	template := aDueChain(t)
	want := template.undisturbed()
	together(template.theAPISteps(), func(o githubtest.Request) {
		for name, fault := range map[string]githubtest.Fault{
			"502": githubtest.HTTPError(http.StatusBadGateway), "reset": githubtest.Reset(), "lost answers": githubtest.LostAnswer(),
			"limited for long": githubtest.PrimaryRateLimit(http.StatusForbidden, time.Now().Add(5*time.Hour)),
		} {
			which := fmt.Sprintf("request %d, %s: %s", o.Number, o, name)
			c := template.another()
			c.api.Inject(fault, func(r githubtest.Request) bool { return r.Number >= o.Number })
			got := c.run()
			assert.Equal(t, cli.ExitRemote, got.code, "%s: %s", which, got.stderr)
			c.api.Heal()
			c.assertHeals(want, which)
		}
	})
}
