package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/promotion"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/fleetstatus"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// What a fleet may answer, beside what sees says.
const (
	// notNow is a fleet that cannot answer for the moment.
	notNow look = "echo 'dial tcp: no route to host' >&2; exit 1\n"
	// notEver is one that will not answer the next time either.
	notEver look = "echo '{\"clusters\": 3}'\n"
)

// TestC1NoClusters: where nothing is registered nothing is deployed, unless that is said to be fine.
func TestC1NoClusters(t *testing.T) {
	t.Parallel()
	template := aDueChain(t)
	c := template.another()
	c.asks(sees())
	got := c.run()
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "no cluster is registered after 5m0s [no-clusters]")
	assert.Contains(t, got.stderr, "--allow-no-clusters")
	assert.Equal(t, "failure Failed to deploy: no cluster is registered after 5m0s", c.state().Statuses["version 2 dev environment"])
	assert.Zero(t, c.promotions("stage"))
	assert.Equal(t, 5*time.Minute, c.waited(), "one may register yet")

	c.must("--allow-no-clusters")
	s := c.state()
	assert.Equal(t, "success Deployed: 0 of 0 clusters", s.Statuses["version 2 dev environment"])
	assert.Equal(t, "version 2", s.Promoted["stage"])

	c = template.another() // one registers late
	c.asks(sees(), sees(), sees("edge-1=pending@"), sees("edge-1"))
	c.must()
	assert.Equal(t, "success Deployed: 1 of 1 cluster", c.state().Statuses["version 2 dev environment"])
}

// waited is how long runs have waited for the fleet.
func (c *chain) waited() time.Duration {
	var sum time.Duration
	for _, d := range c.clock.sleeps() {
		if d > time.Second { // which is what GitHub asks for between two changes
			sum += d
		}
	}
	return sum
}

// TestC2WhoCounts: each cluster counts once, with the worst that is said of it; those that are expected and not seen
// are missing. All must have the commit for two looks.
func TestC2WhoCounts(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := aDueChain(t)
	before := template.git("gitops", "rev-parse", "dev~1")
	const nobodyHas = "0123456789012345678901234567890123456789"
	for name, test := range map[string]struct {
		flags []string
		looks []look
		// fails is how the status ends, or succeeds.
		fails, succeeds string
		code            int
	}{
		"half of them":                 {looks: []look{sees("edge-1", "edge-2=compliant@"+before)}, code: cli.ExitTimeUp, fails: "1 of 2 clusters after 5m0s"},
		"an older commit":              {looks: []look{sees("edge-1=compliant@" + before)}, code: cli.ExitTimeUp, fails: "0 of 1 cluster after 5m0s"},
		"a commit that nobody has":     {looks: []look{sees("edge-1=compliant@" + nobodyHas)}, code: cli.ExitTimeUp, fails: "0 of 1 cluster after 5m0s"},
		"a failure of an older commit": {looks: []look{sees("edge-1=failed@" + before + ":quota exceeded")}, code: cli.ExitTimeUp, fails: "0 of 1 cluster after 5m0s"},
		"it was failing before":        {looks: []look{sees("edge-1=failed@" + before + ":quota exceeded"), sees("edge-1")}, succeeds: "1 of 1 cluster"},
		"nothing was applied yet":      {looks: []look{sees("edge-1=pending@"), sees("edge-1=pending@"), sees("edge-1")}, succeeds: "1 of 1 cluster"},
		"pending for ever":             {looks: []look{sees("edge-1=pending:waiting for pods")}, code: cli.ExitTimeUp, fails: "0 of 1 cluster after 5m0s"},
		"it flips":                     {looks: []look{sees("edge-1"), sees("edge-1=pending"), sees("edge-1"), sees("edge-1")}, succeeds: "1 of 1 cluster"},
		"it never stays": {
			looks: flips(100, sees("edge-1"), sees("edge-1=failed:flapping")), code: cli.ExitTimeUp, fails: "0 of 1 cluster after 5m0s; edge-1: flapping",
		},
		"expected and not seen": {
			flags: []string{"--expect", "3"}, looks: []look{sees("edge-1", "edge-2")}, code: cli.ExitTimeUp, fails: "2 of 3 clusters; 1 not registered after 5m0s",
		},
		"expected, and more": {flags: []string{"--expect", "2"}, looks: []look{sees("edge-1", "edge-2", "edge-3")}, succeeds: "3 of 3 clusters"},
		"enough of them": {
			flags: []string{"--healthy", "66%"}, looks: []look{sees("edge-1", "edge-2", "edge-3=failed:no space")}, succeeds: "2 of 3 clusters",
		},
		"not enough of them": {
			flags: []string{"--healthy", "67%"}, looks: []look{sees("edge-1", "edge-2", "edge-3=failed:no space")},
			code: cli.ExitModel, fails: "2 of 3 clusters; edge-3: no space",
		},
		"a number of them": {
			flags: []string{"--healthy", "1"}, looks: []look{sees("edge-1", "edge-2=failed", "edge-3=pending@")}, succeeds: "1 of 3 clusters",
		},
		"less time": {
			flags: []string{"--timeout", "90s"}, looks: []look{sees("edge-1=pending")}, code: cli.ExitTimeUp, fails: "0 of 1 cluster after 1m30s",
		},
	} {
		c := template.another()
		c.asks(test.looks...)
		if len(test.looks) == 1 { // each look is a process, and all are alike
			test.flags = append(test.flags, "--interval", "1m")
		}
		got := c.run(test.flags...)
		assert.Equal(t, test.code, got.code, "%s: %s", name, got.stderr)
		s := c.state()
		if test.code == cli.ExitDone {
			assert.Equal(t, "success Deployed: "+test.succeeds, s.Statuses["version 2 dev environment"], name)
			assert.Equal(t, "version 2", s.Promoted["stage"], name)
			continue
		}
		assert.Regexp(t, "^failure Failed to deploy: .*"+test.fails+"$", s.Statuses["version 2 dev environment"], name)
		assert.Equal(t, "version 0", s.Promoted["stage"], name)
		assert.Zero(t, c.promotions("stage"), name)
		c.assertNothingLost(name)
	}
}

// flips is a fleet that says one thing and then another, again and again.
func flips(times int, one, other look) []look {
	var all []look
	for range times / 2 {
		all = append(all, one, other)
	}
	return all
}

// TestC3FailureMustLast: a temporary failure is ignored. A persistent one is reported, with the message of the cluster.
func TestC3FailureMustLast(t *testing.T) {
	t.Parallel()
	template := aDueChain(t)
	failed := sees("edge-1", "edge-2=failed:health check failed after 30s")
	c := template.another()
	c.asks(failed, failed, failed, failed, sees("edge-1", "edge-2")) // 21 seconds
	c.must()
	assert.Equal(t, "version 2", c.state().Promoted["stage"])

	c = template.another()
	c.asks(failed)
	got := c.run()
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "1 of 2 clusters; edge-2: health check failed after 30s [not-deployed]")
	assert.Equal(t, 35*time.Second, c.waited(), "the first look that is 30 seconds after the failure")
	c.asks(sees("edge-1", "edge-2")) // it is fixed, and the check runs again
	c.must()
	assert.Equal(t, "success Deployed: 2 of 2 clusters", c.state().Statuses["version 2 dev environment"])

	c = template.another()
	c.asks(failed)
	got = c.run("--failure-grace", "0s")
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Zero(t, c.waited())
}

// TestC4NewerCommit: a cluster that has a newer commit of the branch already has this one. What was merged after the check began
// counts too; what is on another branch does not.
func TestC4NewerCommit(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := aDueChain(t)
	checked := template.gitops("dev")
	template.check("dev", "--commit", checked)
	template.commit("gitops", "dev", gitopstest.Files{"docs/more.md": "More.\n"})
	newer := template.gitops("dev")
	c := template.another()
	c.asks(sees("edge-1=compliant@" + newer))
	c.must()
	assert.Equal(t, "version 2", c.state().Promoted["stage"])

	c = template.another() // it fails there: that is what is deployed now
	c.asks(sees("edge-1=failed@" + newer + ":no space"))
	got := c.run()
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Zero(t, c.promotions("stage"))

	c = template.another()
	c.asks(sees("edge-1=compliant@" + c.gitops("stage")))
	got = c.run()
	assert.Equal(t, cli.ExitTimeUp, got.code, got.stderr)
	assert.Zero(t, c.promotions("stage"))

	c = aDueChain(t)
	later := c.prepare("gitops", "dev", gitopstest.Files{"docs/more.md": "More.\n"})
	c.asks(sees("edge-1=pending"), sees("edge-1=pending"), sees("edge-1=compliant@"+later))
	c.clock.wake = func(d time.Duration) {
		if d == 7*time.Second {
			c.point("gitops", "dev", later)
		}
	}
	c.must()
	assert.Equal(t, "version 2", c.state().Promoted["stage"])
}

// TestC4Overtaken: a newer commit of main is merged while the fleet is still busy with this one, and then takes its time, or fails. This one
// is reported as superseded, not as a failure.
func TestC4Overtaken(t *testing.T) {
	t.Parallel()
	matrix(t)
	for name, busy := range map[string]string{"slow": "pending", "failing": "failed"} {
		c := aDueChain(t)
		checked, commit := c.gitops("dev"), c.push(gitopstest.Files{"version.txt": "3\n"})
		newer := c.prepare("gitops", "dev", trackingOf(commit))
		c.check("dev", "--commit", checked)
		c.asks(sees("edge-1=pending"), sees("edge-1="+busy+"@"+newer))
		c.clock.wake = func(d time.Duration) {
			if d == 7*time.Second {
				c.point("gitops", "dev", newer)
			}
		}
		got := c.run()
		assert.Equal(t, cli.ExitDone, got.code, "%s: %s", name, got.stderr)
		assert.Contains(t, got.stdout, "dev no longer deploys", name)
		s := c.state()
		assert.Equal(t, "error Superseded by "+commit[:7], s.Statuses["version 2 dev environment"], name)
		assert.Zero(t, c.promotions("stage"), name)
		c.has("dev", commit)
		c.check("dev", "--commit", newer)
		c.asks(sees("edge-1"))
		c.must()
		assert.Equal(t, "version 3", c.state().Promoted["stage"], name)
	}
}

// TestC5FleetFaults: a fleet that cannot be asked for a while is asked again; one that never can, or not any more, is the
// fault of a remote, and never a success.
func TestC5FleetFaults(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := aDueChain(t)
	for name, test := range map[string]struct {
		looks  []look
		code   int
		say    string
		status string
	}{
		"at first":   {looks: []look{notNow, notNow, notNow, sees("edge-1")}, status: "success Deployed: 1 of 1 cluster"},
		"in between": {looks: []look{sees("edge-1"), notNow, sees("edge-1"), notNow, sees("edge-1")}, status: "success Deployed: 1 of 1 cluster"},
		"always": {
			looks: []look{notNow}, code: cli.ExitRemote, say: "no route to host",
			status: "failure Failed to deploy: no cluster state available after 5m0s; command:",
		},
		"in the end": {
			looks: []look{sees("edge-1=pending"), notNow}, code: cli.ExitRemote, say: "no route to host",
			status: "failure Failed to deploy: no cluster state available after 5m0s; command:",
		},
		"for good":       {looks: []look{notEver}, code: cli.ExitRemote, say: "clusters must not be a JSON number", status: "failure Failed to deploy: the fleet cannot be queried"},
		"for good, then": {looks: []look{sees("edge-1"), notEver}, code: cli.ExitRemote, say: "clusters must not be a JSON number", status: "failure Failed to deploy: the fleet cannot be queried"},
	} {
		c := template.another()
		c.asks(test.looks...)
		got := c.run()
		assert.Equal(t, test.code, got.code, "%s: %s", name, got.stderr)
		assert.Contains(t, got.stderr, test.say, name)
		s := c.state()
		assert.True(t, strings.HasPrefix(s.Statuses["version 2 dev environment"], test.status), "%s: %s", name, s.Statuses["version 2 dev environment"])
		if test.code != cli.ExitDone {
			assert.Contains(t, got.stderr, "[fleet-unreachable]", name)
			assert.NotContains(t, got.stdout, "registered", "nobody has said so")
			assert.Zero(t, c.promotions("stage"), name)
		}
		c.asks(sees("edge-1"))
		c.must()
		assert.Equal(t, "version 2", c.state().Promoted["stage"], name)
		c.assertNothingLost(name)
	}
}

// TestC5TwoFleets: each cluster of each fleet counts. While one cannot be asked nothing is decided.
func TestC5TwoFleets(t *testing.T) {
	t.Parallel()
	template := aDueChain(t)
	for name, test := range map[string]struct {
		second look
		code   int
		say    string
	}{
		"both":         {sees("edge-1", "edge-2"), cli.ExitDone, "Deployed: 3 of 3 clusters"},
		"one fails":    {sees("edge-1", "edge-2=failed:no space"), cli.ExitModel, "2 of 3 clusters; edge-2: no space"},
		"one is away":  {notNow, cli.ExitRemote, "no route to host"},
		"one is wrong": {notEver, cli.ExitRemote, "clusters must not be a JSON number"},
	} {
		c := template.another()
		c.asks(test.second)
		second := c.flags
		c.asks(sees("edge-1"))
		got := c.run(second...)
		assert.Equal(t, test.code, got.code, "%s: %s", name, got.stderr)
		assert.Contains(t, got.stdout+got.stderr, test.say, name)
		want := 0
		if test.code == cli.ExitDone {
			want = 1
		}
		assert.Equal(t, want, c.promotions("stage"), name)
	}
}

// TestC7ThreeThousandClusters: the log has a line a look, the failures by name and not all of them; JSON has all clusters.
func TestC7ThreeThousandClusters(t *testing.T) {
	t.Parallel()
	const total = 3000
	fleet := func(failed int) look {
		all := make([]string, total)
		for i := range all {
			all[i] = fmt.Sprintf("edge-%04d", i)
			switch {
			case i < failed:
				all[i] += "=failed:no space left"
			case i%10 == 9:
				all[i] += "=pending"
			}
		}
		return sees(all...)
	}
	c := aDueChain(t)
	c.asks(fleet(2), fleet(500))
	got := c.run("--failure-grace", "0s", "--healthy", "88%")
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "0s: 2,698 of 3,000 clusters deployed (2,640 needed), 300 progressing, 2 failed\n")
	assert.LessOrEqual(t, strings.Count(got.stderr, "\n"), 60)
	assert.LessOrEqual(t, strings.Count(got.stdout, "\n"), 100)

	assert.Equal(t, fleetstatus.MaxReportedFailures, strings.Count(got.stderr, "  cluster edge-"), got.stderr)
	assert.Contains(t, got.stderr, "  and 480 more failed\n")

	got = c.run("--failure-grace", "0s", "-o", "json")
	var result struct{ Check promotion.CheckResult }
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &result))
	assert.Len(t, result.Check.Fleet.Clusters, total)
	assert.Equal(t, 3000, result.Check.Fleet.Counts.Clusters)
}
