package main

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// inTwoRepos lets dev be in two GitOps repositories, the second of which has not got the commit yet.
func inTwoRepos(t *testing.T) *chain {
	t.Helper()
	c := newChain(t, devToProd(), 3)
	c.replace("gitops", "dev-west", trackingOf(c.commits[0]))
	c.commit("control-plane", "dev", gitopstest.Files{
		"west.yaml": acmeObject("GitOpsRepo", "west", "spec: {repo: "+acme("gitops")+", branch: dev-west}"),
	})
	c.has("dev", c.commits[2])
	return c
}

// TestCheckSeveralGitOpsRepos: the check after the first merge has nothing to do yet. The one after the last merge counts, in
// whichever order they come, and waits for the clusters of all.
func TestCheckSeveralGitOpsRepos(t *testing.T) {
	t.Parallel()
	template := inTwoRepos(t)
	for _, order := range [][]string{{"dev", "dev-west"}, {"dev-west", "dev"}} {
		c := template.another()
		names := map[string]string{"dev": "dev", "dev-west": "west"}
		first := c.merged(order[0], c.commits[2])
		c.set(nil)
		got := c.must("--commit", first)
		assert.Contains(t, got.stdout, fmt.Sprintf("GitOpsRepo %q does not have %.12s yet: run the check again when all GitOpsRepos have it", names[order[1]], c.commits[2]), order)
		assert.Empty(t, c.writes(), order)

		second := c.merged(order[1], c.commits[2])
		got = c.must("--commit", second)
		assert.Contains(t, got.stdout, "dev has deployed "+c.commits[2][:12], order)
		assert.Equal(t, "version 2", c.state().Promoted["stage"], order)
		c.set(nil)
		c.must("--commit", first) // once more
		assert.Empty(t, c.writes(), order)
	}

	c := template.another() // the clusters of one of them are behind
	c.merged("dev", c.commits[2])
	behind := c.gitops("dev-west")
	c.merged("dev-west", c.commits[2])
	c.asks(look(`case $KALYPSO_FLEET_BRANCH in
dev) echo '{"clusters":[{"name":"east-1","state":"compliant","commit":"'$KALYPSO_FLEET_COMMIT'"}]}' ;;
*) echo '{"clusters":[{"name":"west-1","state":"compliant","commit":"` + behind + `"}]}' ;;
esac
`))
	got := c.run()
	assert.Equal(t, cli.ExitTimeUp, got.code, got.stderr)
	assert.Equal(t, "failure Failed to deploy: 1 of 2 clusters after 5m0s", c.state().Statuses["version 2 dev environment"])
}

// TestCheckGitOpsRepoByName: --gitops-repo says which branch --commit is of.
func TestCheckGitOpsRepoByName(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := inTwoRepos(t)
	east, west := template.merged("dev", template.commits[2]), template.merged("dev-west", template.commits[2])
	template.another().must("--commit", west, "--gitops-repo", "west")
	c := template.another()
	got := c.run("--commit", east, "--gitops-repo", "west")
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "[not-on-gitops-branch]")
	got = c.run("--commit", east, "--gitops-repo", "wast")
	assert.Equal(t, cli.ExitUsage, got.code, got.stderr)
	assert.Contains(t, got.stderr, `did you mean "west"`)
	assert.Empty(t, c.statusesOf(c.commits[2], "dev"))
}

// TestCheckOneGitOpsRepoIsBroken: nobody knows what is deployed where one of the GitOpsRepos cannot be read. The others do not stand
// for it.
func TestCheckOneGitOpsRepoIsBroken(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := inTwoRepos(t)
	template.merged("dev", template.commits[2])
	for name, broken := range map[string]string{
		"a value":    acmeObject("GitOpsRepo", "west", "spec: {repo: "+acme("gitops")+", branch: [west]}"),
		"a field":    acmeObject("GitOpsRepo", "west", "spec: {repo: "+acme("gitops")+", brnch: dev-west}"),
		"the file":   "kind: GitOpsRepo\n  name: {",
		"its branch": acmeObject("GitOpsRepo", "west", "spec: {repo: "+acme("gitops")+", branch: nowhere}"),
	} {
		c := template.another()
		c.commit("control-plane", "dev", gitopstest.Files{"west.yaml": broken})
		got := c.run()
		assert.NotEqual(t, cli.ExitDone, got.code, "%s: %s%s", name, got.stdout, got.stderr)
		assert.Contains(t, got.stderr, "west", name)
		assert.Empty(t, c.statusesOf(c.commits[2], "dev"), name)
		assert.Zero(t, c.promotions("stage"), name)
	}
}

// TestCheckGitOpsRepoWithPath: the output, with the tracking file, lies below the path.
func TestCheckGitOpsRepoWithPath(t *testing.T) {
	t.Parallel()
	matrix(t)
	c := newChain(t, devToProd(), 3)
	c.commit("control-plane", "dev", gitopstest.Files{
		"gitops.yaml": acmeObject("GitOpsRepo", "dev", "spec: {repo: "+acme("gitops")+", branch: dev, path: fleets/dev}"),
	})
	c.has("dev", c.commits[2])
	below := gitopstest.Files{}
	for name, content := range trackingOf(c.commits[2]) {
		below["fleets/dev/"+name] = content
	}
	c.commit("gitops", "dev", below)
	c.asks(look(`echo '{"clusters":[{"name":"in '$KALYPSO_FLEET_PATH'","state":"compliant","commit":"'$KALYPSO_FLEET_COMMIT'"}]}'` + "\n"))
	got := c.must()
	assert.Contains(t, got.stdout, "in fleets/dev")
	assert.Equal(t, "version 2", c.state().Promoted["stage"])
}

// TestCheckFanOut: from dev a commit goes to both that come next. One that is protected does not stop the other.
func TestCheckFanOut(t *testing.T) {
	t.Parallel()
	template := newChain(t, map[string]string{"dev": "{next: [eu, us]}", "eu": "{next: [prod]}", "us": "{next: [prod]}", "prod": "{}"}, 2)
	template.has("dev", template.commits[1])
	template.merged("dev", template.commits[1])
	c := template.another()
	c.must()
	assert.Equal(t, map[string]string{"dev": "version 1", "eu": "version 1", "us": "version 1", "prod": "version 0"}, c.state().Promoted)
	for _, environment := range []string{"eu", "us"} {
		assert.Equal(t, "pending Promoted", c.state().Statuses["version 1 "+environment+" environment"])
		assert.Equal(t, 1, c.promotions(environment))
	}

	for _, protected := range []string{"eu", "us"} {
		c := template.another()
		c.control.Protect(protected)
		other := map[string]string{"eu": "us", "us": "eu"}[protected]
		got := c.run()
		assert.Equal(t, cli.ExitRemote, got.code, got.stderr)
		assert.Contains(t, got.stderr, "promote to "+protected+": ")
		assert.Contains(t, got.stderr, "--pull-request")
		assert.Contains(t, got.stdout, other+": ")
		s := c.state()
		assert.Equal(t, "success Deployed: 1 of 1 cluster", s.Statuses["version 1 dev environment"])
		assert.Equal(t, "pending Promoted", s.Statuses["version 1 "+other+" environment"])
		assert.Empty(t, s.Statuses["version 1 "+protected+" environment"])
		assert.Equal(t, "version 1", s.Promoted[other])
		assert.Equal(t, "version 0", s.Promoted[protected])

		c.must("--pull-request") // as the hint says
		assert.Regexp(t, `^pending Promotion proposed in #\d+$`, c.state().Statuses["version 1 "+protected+" environment"])
		require.Len(t, c.control.OpenPulls(), 1)
		assert.Equal(t, "promotion/"+protected+" -> "+protected, c.control.OpenPulls()[0].Head+" -> "+c.control.OpenPulls()[0].Base)
		assert.Equal(t, 1, c.promotions(other), "it has it already")
	}
}

// TestCheckFanIn: before prod both environments must have deployed a commit. The check of the first waits for the second, and
// says so; that is no failure.
func TestCheckFanIn(t *testing.T) {
	t.Parallel()
	template := newChain(t, map[string]string{"dev": "{next: [eu, us]}", "eu": "{next: [prod]}", "us": "{next: [prod]}", "prod": "{}"}, 2)
	for _, environment := range []string{"eu", "us"} {
		template.has(environment, template.commits[1])
		template.merged(environment, template.commits[1])
		template.say(template.commits[1], environment, "pending", "Promoted")
	}
	for _, order := range [][]string{{"eu", "us"}, {"us", "eu"}} {
		c := template.another()
		c.check(order[0])
		got := c.must()
		assert.Contains(t, got.stdout, "prod: "+c.commits[1][:12]+" waits for other environments")
		assert.Contains(t, got.stdout, fmt.Sprintf("must be deployed in %s before prod", order[1]))
		assert.Equal(t, "version 0", c.state().Promoted["prod"])
		c.must() // again: it waits still
		assert.Equal(t, "version 0", c.state().Promoted["prod"])

		c.check(order[1])
		got = c.must()
		assert.Contains(t, got.stdout, "prod: ")
		assert.Equal(t, "version 1", c.state().Promoted["prod"])
		assert.Equal(t, 1, c.promotions("prod"))
		for _, environment := range order {
			c.set(nil)
			c.check(environment)
			got = c.must()
			assert.Contains(t, got.stdout, environment+" has deployed ")
			assert.Empty(t, c.writes())
		}
	}

	c := template.another() // one of them has failed
	c.say(c.commits[1], "us", "failure", "Failed to deploy: 0 of 1 cluster")
	c.check("eu")
	got := c.must()
	assert.Contains(t, got.stdout, "waits for other environments")
	assert.Equal(t, "version 0", c.state().Promoted["prod"])
}

// TestCheckTwoAtOnce: two checks of the same commit run at the same time. It is promoted once.
func TestCheckTwoAtOnce(t *testing.T) {
	t.Parallel()
	template := aDueChain(t)
	want := template.undisturbed()
	for _, what := range []string{"GET control-plane refs for push", "POST control-plane push"} {
		c := template.another()
		other := c.args()
		var second outcome
		c.set(when(what, 1, nil))
		c.set(at(what, 1, func() {
			c.admit("other")
			second = c.start(t.Context(), "other", other)
		}))
		got := c.run()
		assert.Equal(t, cli.ExitDone, got.code, "%s: %s", what, got.stderr)
		assert.Equal(t, cli.ExitDone, second.code, "%s: %s", what, second.stderr)
		assert.Equal(t, want.Promoted, c.state().Promoted, what)
		assert.Equal(t, want.Statuses, c.state().Statuses, what)
		assert.Equal(t, 1, c.promotions("stage"), what)
		c.assertNothingLost(what)
	}
}

// TestCheckEnvironmentMoves: somebody commits to the branch of the next environment, or to main, at any request. Nothing of theirs is
// lost, and the commit is promoted.
func TestCheckEnvironmentMoves(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := aDueChain(t)
	theirs := map[string]string{
		"stage": template.prepare("control-plane", "stage", gitopstest.Files{"theirs.yaml": "# Somebody's.\n"}),
		"main":  template.prepare("control-plane", "main", gitopstest.Files{"theirs.yaml": "# Somebody's.\n"}),
	}
	steps := template.theSteps()
	for branch, commit := range theirs {
		together(steps, func(s step) {
			which := branch + ": " + s.String()
			c := template.another()
			moved := false
			c.set(atRequest(s.n, func() {
				// What comes after the promotion lies on top of it.
				if c.promotions("stage") == 0 {
					c.point("control-plane", branch, commit)
					moved = true
				}
			}))
			got := c.run()
			assert.Equal(t, cli.ExitDone, got.code, "%s: %s", which, got.stderr)
			assert.Equal(t, "version 2", c.state().Promoted["stage"], which)
			if moved && branch == "stage" {
				assert.Equal(t, "# Somebody's.", c.git("control-plane", "show", "stage:theirs.yaml"), which)
			}
			assert.Equal(t, 1, c.promotions("stage"), which)
			assert.Equal(t, "pending Promoted", c.state().Statuses["version 2 stage environment"], which)
		})
	}
}

// withChecks is a chain in which dev says this of its checks.
func withChecks(t *testing.T, checks string) *chain {
	t.Helper()
	environments := maps.Clone(devToProd())
	environments["dev"] = "{next: [stage], checks: " + checks + "}"
	c := newChain(t, environments, 2)
	c.has("dev", c.commits[1])
	c.merged("dev", c.commits[1])
	return c
}

// TestCheckSaysTheEnvironment: who is asked, for how long, and how many must be healthy is in the Environment; flags go before it.
func TestCheckSaysTheEnvironment(t *testing.T) {
	t.Parallel()
	matrix(t)
	for name, test := range map[string]struct {
		checks string
		flags  []string
		look   look
		code   int
		status string
	}{
		"healthy":           {checks: "{healthy: 50%}", look: sees("edge-1", "edge-2=pending"), status: "success Deployed: 1 of 2 clusters"},
		"healthy, flag":     {checks: "{healthy: 50%}", flags: []string{"--healthy", "100%"}, look: sees("edge-1", "edge-2=pending"), code: cli.ExitTimeUp, status: "failure Failed to deploy: 1 of 2 clusters after 5m0s"},
		"expect":            {checks: "{expect: 2}", look: sees("edge-1"), code: cli.ExitTimeUp, status: "failure Failed to deploy: 1 of 2 clusters; 1 not registered after 5m0s"},
		"expect, flag":      {checks: "{expect: 2}", flags: []string{"--expect", "1"}, look: sees("edge-1"), status: "success Deployed: 1 of 1 cluster"},
		"timeout":           {checks: "{timeout: 1m}", look: sees("edge-1=pending"), code: cli.ExitTimeUp, status: "failure Failed to deploy: 0 of 1 cluster after 1m0s"},
		"timeout, flag":     {checks: "{timeout: 1m}", flags: []string{"--timeout", "2m"}, look: sees("edge-1=pending"), code: cli.ExitTimeUp, status: "failure Failed to deploy: 0 of 1 cluster after 2m0s"},
		"one that counts":   {checks: "{clusterTypeSelector: {labelSelector: {matchLabels: {tier: canary}}}}", look: seesTypes("edge-1 canary compliant", "edge-2 edge failed"), status: "success Deployed: 1 of 1 cluster"},
		"one that does not": {checks: "{clusterTypeSelector: {labelSelector: {matchLabels: {tier: canary}}}}", look: seesTypes("edge-1 canary pending", "edge-2 edge compliant"), code: cli.ExitTimeUp, status: "failure Failed to deploy: 0 of 1 cluster after 5m0s"},
		"none that counts":  {checks: "{clusterTypeSelector: {labelSelector: {matchLabels: {tier: canary}}}}", look: seesTypes("edge-2 edge compliant"), code: cli.ExitModel, status: "failure Failed to deploy: no cluster is registered after 5m0s"},
	} {
		c := withChecks(t, test.checks)
		c.commit("control-plane", "dev", gitopstest.Files{
			"canary.yaml": strings.Replace(acmeObject("ClusterType", "canary", "spec: {reconciler: flux, namespaceService: default}"), "{name: canary}", "{name: canary, labels: {tier: canary}}", 1),
		})
		c.asks(test.look)
		got := c.run(append(test.flags, "--interval", "30s")...) // each look is a process, and all are alike
		assert.Equal(t, test.code, got.code, "%s: %s", name, got.stderr)
		assert.Equal(t, test.status, c.state().Statuses["version 1 dev environment"], name)
	}
}

// seesTypes is a look at clusters "NAME TYPE STATE".
func seesTypes(clusters ...string) look {
	var all []string
	for _, text := range clusters {
		f := strings.Fields(text)
		all = append(all, fmt.Sprintf(`{"name":%q,"clusterType":%q,"state":%q,"commit":"$KALYPSO_FLEET_COMMIT"}`, f[0], f[1], f[2]))
	}
	return saying(`{"clusters":[` + strings.Join(all, ",") + "]}")
}

// TestCheckSelectsClusterTypes: cluster types are read where rendering reads them, in the branch of the environment and in its
// base. While one of them cannot be read nobody knows who counts.
func TestCheckSelectsClusterTypes(t *testing.T) {
	t.Parallel()
	matrix(t)
	of := func(name, labels string) string {
		return strings.Replace(acmeObject("ClusterType", name, "spec: {reconciler: flux, namespaceService: default}"), "{name: "+name+"}", "{name: "+name+", labels: "+labels+"}", 1)
	}
	template := withChecks(t, "{clusterTypeSelector: {labelSelector: {matchLabels: {tier: canary}}}}")
	template.commit("control-plane", "dev", gitopstest.Files{"other.yaml": of("other", "{tier: canary}")})
	template.asks(seesTypes("edge-1 canary failed", "edge-2 other compliant"))

	c := template.another()
	c.commit("control-plane", "dev", gitopstest.Files{"canary.yaml": of("canary", "{tier: [canary]}")})
	got := c.run()
	assert.Equal(t, cli.ExitModel, got.code, got.stdout+got.stderr)
	assert.Contains(t, got.stderr, "@dev:canary.yaml:3:")
	assert.Zero(t, c.promotions("stage"))
	assert.Empty(t, c.statusesOf(c.commits[1], "dev"))

	c = template.another()
	commit := c.push(gitopstest.Files{"canary.yaml": of("canary", "{tier: canary}")})
	c.has("dev", commit)
	c.merged("dev", commit)
	got = c.run()
	assert.Equal(t, cli.ExitModel, got.code, got.stdout+got.stderr)
	assert.Contains(t, got.stderr, "1 of 2 clusters; edge-1 [not-deployed]")
	assert.Zero(t, c.promotions("stage"))
}
