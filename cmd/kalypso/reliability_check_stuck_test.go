package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// The tests named TestStuck… let a commit get stuck in one of the ways in which it would never reach the next
// environment if the check looked at what the last merge has changed.

// do runs another command, which must succeed.
func (c *chain) do(command ...string) outcome {
	c.t.Helper()
	check, flags := c.command, c.flags
	defer func() { c.command, c.flags = check, flags }()
	c.command, c.flags = command, nil
	return c.must()
}

// push adds a commit to main.
func (c *chain) push(files gitopstest.Files) (commit string) {
	c.commit("control-plane", "main", files)
	commit = refsOf(c.dir("control-plane"))["refs/heads/main"]
	c.commits = append(c.commits, commit)
	return commit
}

// propose promotes a commit to dev and opens a pull request with what is made from it, or brings it up to date. It
// returns the number.
func (c *chain) propose(commit string) int {
	c.t.Helper()
	c.do("promote", "--env", "dev", "--commit", commit)
	return c.render()
}

// render publishes dev.
func (c *chain) render() int {
	c.t.Helper()
	c.do("render", "--env", "dev")
	open := c.repo.OpenPulls()
	require.Len(c.t, open, 1)
	return open[0].Number
}

// merge merges a pull request, and lets runs check what came of it, as the workflow does.
func (c *chain) merge(number int, method string) {
	c.move(func() { c.repo.MergePull(number, method) })
	c.check("dev", "--commit", c.gitops("dev"))
}

// assertStage makes sure that a commit is deployed in dev and was promoted to stage, once.
func (c *chain) assertStage(commit string) {
	c.t.Helper()
	s := c.state()
	assert.Regexp(c.t, "^success Deployed", s.Statuses[c.version(commit)+" dev environment"])
	assert.Equal(c.t, "pending Promoted", s.Statuses[c.version(commit)+" stage environment"])
	assert.Equal(c.t, c.version(commit), s.Promoted["stage"])
	assert.Equal(c.t, 1, c.promotions("stage"))
	c.assertNothingLost(commit)
}

// TestStuckHealedByConfig: a commit fails on dev. What heals it is no new commit of main, but a change of dev's own
// configuration, after which Promoted_Commit_Id is what it was.
func TestStuckHealedByConfig(t *testing.T) {
	t.Parallel()
	c := newChain(t, devToProd(), 1)
	commit := c.push(gitopstest.Files{"version.txt": "1\n"})
	c.merge(c.propose(commit), "squash")
	c.asks(sees("edge-1", "edge-2=failed:no space left on device"))
	got := c.run("--failure-grace", "0s")
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Equal(t, "failure Failed to deploy: 1 of 2 clusters; edge-2: no space left on device", c.state().Statuses["version 1 dev environment"])
	assert.Zero(t, c.promotions("stage"))

	c.commit("control-plane", "dev", gitopstest.Files{"policy.yaml": acmeObject("SchedulingPolicy", "one", "spec: {deploymentTargetSelector: {workspace: app-1}}")})
	c.merge(c.render(), "squash")
	changed := c.git("gitops", "diff", "--name-only", "dev~1", "dev")
	require.NotContains(t, changed, trackingFile)
	require.NotEmpty(t, changed)
	c.asks(sees("edge-1", "edge-2"))
	c.must()
	c.assertStage(commit)
}

// TestStuckRebaseMerge: the commit that changes the tracking file is not the last one of the push that merges it.
func TestStuckRebaseMerge(t *testing.T) {
	t.Parallel()
	c := newChain(t, devToProd(), 1)
	commit := c.push(gitopstest.Files{"version.txt": "1\n"})
	number := c.propose(commit)
	c.commit("gitops", "deployment/dev", gitopstest.Files{"docs/notes.md": "Somebody has added this to the pull request.\n"})
	before := c.gitops("dev")
	c.merge(number, "rebase")
	require.Equal(t, "2", c.git("gitops", "rev-list", "--count", before+"..dev"))
	require.Equal(t, "docs/notes.md", c.git("gitops", "diff", "--name-only", "dev~1", "dev"))
	c.must()
	c.assertStage(commit)
}

// TestStuckTrackingOnly: what is promoted changes no manifest, so that nothing but the tracking file is merged.
func TestStuckTrackingOnly(t *testing.T) {
	t.Parallel()
	c := newChain(t, devToProd(), 1)
	c.merge(c.propose(c.commits[0]), "merge")
	c.must()
	commit := c.push(gitopstest.Files{"docs.md": "Nothing that is compiled.\n"})
	c.merge(c.propose(commit), "squash")
	require.Equal(t, trackingFile, c.git("gitops", "diff", "--name-only", "dev~1", "dev"))
	c.must()
	c.assertStage(commit)
}

// TestStuckOvertaken: before the pull request is merged, a newer commit comes into it. The older one gets a status.
func TestStuckOvertaken(t *testing.T) {
	t.Parallel()
	c := newChain(t, devToProd(), 1)
	older := c.push(gitopstest.Files{"version.txt": "1\n"})
	first := c.propose(older)
	newer := c.push(gitopstest.Files{"version.txt": "2\n"})
	require.Equal(t, first, c.propose(newer), "the same pull request")
	require.Equal(t, "pending Promoted", c.state().Statuses["version 1 dev environment"])
	c.merge(first, "merge")
	got := c.must()
	assert.Contains(t, got.stdout, older[:12]+" was superseded before it was deployed")
	c.assertStage(newer)
	assert.Equal(t, "error Superseded by "+newer[:7], c.state().Statuses["version 1 dev environment"])
}

// TestStuckMergeQueue: a merge queue takes two promotions for one group, which is one push and starts one check. The
// older one gets a status, and the newer is promoted. (The second pull request lies on top of the first, so squashing them is a
// conflict.)
func TestStuckMergeQueue(t *testing.T) {
	t.Parallel()
	matrix(t)
	for _, method := range []string{"merge", "rebase"} {
		c := newChain(t, devToProd(), 1)
		older := c.push(gitopstest.Files{"version.txt": "1\n"})
		first := c.propose(older)
		newer := c.push(gitopstest.Files{"version.txt": "2\n"})
		c.do("promote", "--env", "dev", "--commit", newer)
		c.point("gitops", "second", c.gitops("deployment/dev"))
		c.commit("gitops", "second", gitopstest.Files{trackingFile: newer + "\n"})
		second := c.repo.OpenPull(githubtest.Pull{Issue: githubtest.Issue{Title: "The next one"}, Head: "second", Base: "dev"}).Number
		c.move(func() { c.repo.MergeQueue(method, first, second) })
		c.check("dev", "--commit", c.gitops("dev"))
		c.must()
		c.assertStage(newer)
		assert.Equal(t, "error Superseded by "+newer[:7], c.state().Statuses["version 1 dev environment"], method)
	}
}

// stops ends the nth request of a run, and the run with it, as a runner ends a job that is cancelled. late lets the
// server do first what it is asked for.
func stops(n int, late bool, cancel context.CancelCauseFunc) gate {
	return func(s step) aFault {
		if s.n != n {
			return nil
		}
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			answer := silent
			if late {
				answer = lateSilence
			}
			cancel(session.SignalError{Signal: syscall.SIGTERM})
			answer(w, r, next)
		}
	}
}

// lateSilence does what is asked for, and then says nothing.
var lateSilence = late(silent)

// TestStuckCancelled: the check of a commit is cancelled at any request, as a concurrency group does when a newer
// commit is merged. The check of that one promotes it, and the older one gets a status or was promoted before.
func TestStuckCancelled(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := aDueChain(t)
	newer := template.push(gitopstest.Files{"version.txt": "3\n"})
	template.eachStop(func(c *chain, n int, late bool, which string) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		c.set(stops(n, late, cancel))
		c.runAs(ctx, usual)
		c.set(nil)
		c.has("dev", newer)
		c.merged("dev", newer)
		got := c.run()
		assert.Equal(t, cli.ExitDone, got.code, "%s: %s", which, got.stderr)
		s := c.state()
		assert.Equal(t, "version 3", s.Promoted["stage"], which)
		assert.Equal(t, "success Deployed: 1 of 1 cluster", s.Statuses["version 3 dev environment"], which)
		assert.Equal(t, "pending Promoted", s.Statuses["version 3 stage environment"], which)
		assert.Contains(t, []string{"error Superseded by " + newer[:7], "success Deployed: 1 of 1 cluster"}, s.Statuses["version 2 dev environment"], which)
		assert.LessOrEqual(t, c.promotions("stage"), 2, which)
		c.assertNothingLost(which)
	})
}

// eachStop lets do stop a run at each request in turn, before and, if it changes something, after the server has done
// what it is asked for.
func (c *chain) eachStop(do func(c *chain, n int, late bool, which string)) {
	c.t.Helper()
	type stop struct {
		step
		late bool
	}
	var all []stop
	for _, s := range c.theSteps() {
		all = append(all, stop{s, false})
		if s.writes() {
			all = append(all, stop{s, true})
		}
	}
	require.Greater(c.t, len(all), 20)
	together(all, func(o stop) {
		do(c.another(), o.n, o.late, strings.TrimSpace(fmt.Sprintf("%v, late %v", o.step, o.late)))
	})
}

// theSteps are the requests of a run that nothing disturbs.
func (c *chain) theSteps() []step {
	c.t.Helper()
	other := c.another()
	other.must()
	return other.requests()
}
