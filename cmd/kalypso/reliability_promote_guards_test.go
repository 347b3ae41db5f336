package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// mustRefuse runs with arguments that are refused, and nothing may be written.
func (p *press) mustRefuse(code int, says string, more ...string) outcome {
	p.t.Helper()
	p.set(nil)
	got := p.run(more...)
	assert.Equal(p.t, code, got.code, "%v: %s", more, got.stderr)
	assert.Contains(p.t, got.stderr, says, more)
	p.assertUnpromoted(fmt.Sprint(more))
	return got
}

// TestC6OlderAfterNewer: a promotion that comes late does not take back a newer one, unless that is meant; then the newer
// commit gets a status, deployed or not: its gate is closed, and no check promotes it again.
func TestC6OlderAfterNewer(t *testing.T) {
	t.Parallel()
	template := newStages(t)
	template.must()
	older, newest := template.versions[1], template.versions[2]
	rolledBack := "error Rolled back to " + older[:7]
	for _, said := range []string{
		"pending Promoted", "pending Deploying", "pending Deployed", "success Deployed: 2 of 2 clusters", "failure Failed to deploy: 1 of 2",
	} {
		p := template.another()
		if said != "pending Promoted" {
			state, description, _ := strings.Cut(said, " ")
			p.say(newest, stageStatus, state, description)
		}
		p.mustRefuse(cli.ExitModel, "[older-commit]", "--commit", older)
		assert.Contains(t, p.run("--commit", older[:8]).stderr, "stage has commit "+newest[:12]+", which is newer than "+older[:12])
		assert.Empty(t, p.saidOf(older, stageStatus))

		got := p.must("--commit", older, "--rollback")
		assert.Contains(t, got.stdout, "stage: "+newest[:12]+" -> "+older[:12]+", promoted\n")
		assert.Equal(t, older, commitOf(p.files("control-plane", "stage")[stageBase]))
		assert.Equal(t, "Roll stage back to "+older[:12], p.git("control-plane", "log", "-1", "--format=%s", "stage"))
		assert.Equal(t, []string{"pending Promoted"}, p.saidOf(older, stageStatus))
		assert.Equal(t, rolledBack, p.statusSaid())
		want := p.promotedEnd()
		p.set(nil)
		p.must("--commit", older, "--rollback")
		assert.Empty(t, p.writes())

		p.must() // and forth again
		assert.Equal(t, "pending Promoted", p.statusSaid())
		assert.NotEqual(t, want, p.promotedEnd())
		p.assertNothingLost(said)
	}
}

// TestC6NotOnBase: a commit of another branch, one that a force-push has taken away, and one that never was.
func TestC6NotOnBase(t *testing.T) {
	t.Parallel()
	p := newStages(t)
	gone := p.versions[2]
	p.point("control-plane", "main", p.versions[1]) // forced back
	p.say(gone, devStatus, "success", "Deployed")
	p.mustRefuse(cli.ExitModel, "[not-on-base]", "--commit", gone)
	p.mustRefuse(cli.ExitModel, "hint: merge it first; kalypso promote --unmerged promotes it anyway", "--commit", gone)
	p.mustRefuse(cli.ExitModel, "[commit-not-found]", "--commit", gone[:9])
	p.mustRefuse(cli.ExitModel, "[commit-not-found]", "--commit", gone[:9], "--unmerged")
	never := strings.Repeat("0a", 20)
	p.mustRefuse(cli.ExitModel, "[not-on-base]", "--commit", never)
	p.mustRefuse(cli.ExitModel, "[commit-not-found]", "--commit", never, "--unmerged")
	p.mustRefuse(cli.ExitModel, "not found", "--commit", "mian")
	p.must("--commit", gone, "--unmerged")
	assert.Equal(t, gone, commitOf(p.files("control-plane", "stage")[stageBase]))
	assert.Equal(t, "pending Promoted", p.statusSaid())
}

// TestC6ForcedBase: stage has a commit that main has lost. What is on main now is promoted, and the run says that it could
// not compare them.
func TestC6ForcedBase(t *testing.T) {
	t.Parallel()
	p := newStages(t)
	p.must()
	p.move(func() {
		ids, err := gitopstest.Add(p.dir("control-plane"), gitopstest.Commit{Branch: "other", Files: stagedMain(7), Time: 1_700_100_000})
		require.NoError(t, err)
		p.git("control-plane", "update-ref", "refs/heads/main", ids[0])
		p.git("control-plane", "update-ref", "-d", "refs/heads/other")
		p.versions = append(p.versions, ids[0])
	})
	p.say(p.versions[3], devStatus, "success", "Deployed")
	got := p.must()
	assert.Contains(t, got.stderr, `stage has commit `+p.versions[2][:12]+`, which is no longer on "main"`)
	assert.Equal(t, p.versions[3], commitOf(p.files("control-plane", "stage")[stageBase]))
	assert.Equal(t, "pending Promoted", p.statusSaid())
	p.assertNothingLost("forced")
}

// TestC6Gates: a commit is promoted from dev if its status there is deployed, whoever set it.
func TestC6Gates(t *testing.T) {
	t.Parallel()
	matrix(t)
	root, commits := stagedFleet(t)
	template := newStagesOf(t, root, commits)
	newest := commits[2]
	for _, c := range []struct {
		context, state, description string
		open                        bool
	}{
		{"", "", "", false},
		{devStatus, "pending", "Promoted", false},
		{devStatus, "pending", "Deploying", false},
		{devStatus, "pending", "Promotion proposed in #3", false},
		{devStatus, "pending", "Deployed", true}, // as the seeds have it
		{devStatus, "pending", "Deployed?", false},
		{devStatus, "failure", "Failed to deploy: 1 of 2 clusters", false},
		{devStatus, "failure", "Deployed", false},
		{devStatus, "error", "Superseded by 1234567", false},
		{devStatus, "success", "", true},
		{devStatus, "success", "I have looked at it.", true},
		{"Dev Environment", "success", "Deployed", true}, // one and the same to GitHub
		{"dev", "success", "Deployed", false},
		{"ci", "success", "passed", false},
		{stageStatus, "success", "Deployed", false},
		{"prod-dev environment", "success", "Deployed", false},
	} {
		which := fmt.Sprintf("%s: %s %s", c.context, c.state, c.description)
		p := template.another()
		if c.state != "" {
			p.say(newest, c.context, c.state, c.description)
		}
		p.say(commits[1], devStatus, "success", "Deployed") // of another commit
		if c.open {
			p.must()
			continue
		}
		got := p.mustRefuse(cli.ExitModel, "[gate-closed]")
		assert.Contains(t, got.stderr, newest[:12]+" must be deployed in dev before stage", which)
		if c.context == devStatus {
			assert.Contains(t, got.stderr, "is "+c.state+" ("+c.description+")", which)
		}
		got = p.must("--skip-gates")
		assert.Contains(t, got.stderr, "promoting "+newest[:12]+" to stage although", which)
	}
}

// TestC6LastWordCounts: of several statuses of one context the last one counts.
func TestC6LastWordCounts(t *testing.T) {
	t.Parallel()
	p := newStages(t)
	p.say(p.versions[2], devStatus, "failure", "Failed to deploy")
	p.mustRefuse(cli.ExitModel, "[gate-closed]")
	p.say(p.versions[2], "DEV environment", "success", "Mended.")
	p.must()
}

// TestC6SeveralGates: after several environments all must have deployed the commit, and the run names each that has not.
func TestC6SeveralGates(t *testing.T) {
	t.Parallel()
	root, commits := stagedFleet(t)
	files := stagedMain(3)
	files[".environments/qa.yaml"] = acmeObject("Environment", "qa", "spec: {controlPlane: {repo: "+acme("control-plane")+", branch: qa}, promotion: {next: [stage]}}")
	commits = append(commits, addRepo(t, root, "control-plane", gitopstest.Commit{Files: files})...)
	p := newStagesOf(t, root, commits)
	got := p.mustRefuse(cli.ExitModel, "before stage")
	assert.Equal(t, 2, strings.Count(got.stderr, "[gate-closed]"))
	p.say(commits[3], devStatus, "success", "Deployed")
	got = p.mustRefuse(cli.ExitModel, "must be deployed in qa before stage")
	assert.Equal(t, 1, strings.Count(got.stderr, "[gate-closed]"))
	p.say(commits[3], "qa environment", "pending", "Deployed")
	p.must()
}

// TestC6NoPermission: a token that must not read or set statuses ends the run, which says which permission is missing.
func TestC6NoPermission(t *testing.T) {
	t.Parallel()
	template := newStages(t)
	want := template.rehearse()
	for _, c := range []struct{ permission, access, says string }{
		{"statuses", "", "statuses: read"},
		{"statuses", "read", "statuses: write"},
		{"contents", "read", "contents: write"},
	} {
		p := template.another()
		permissions := githubtest.AllPermissions()
		delete(permissions, c.permission)
		if c.access != "" {
			permissions[c.permission] = c.access
		}
		p.api.AddToken(tokenOf(usual), githubtest.Token{Name: usual, Permissions: permissions})
		got := p.run()
		assert.Equal(t, cli.ExitRemote, got.code, got.stderr)
		assert.Contains(t, got.stderr, c.says)
		p.assertNothingLost(c.says)
		p.admit(usual)
		p.must()
		p.assertPromoted(want, c.says)
	}
}

// TestC6NoGitHub: a control plane without statuses promotes to the first environment, says that it sets none, and to others
// only if that is said: whether dev has the commit nobody knows.
func TestC6NoGitHub(t *testing.T) {
	t.Parallel()
	root, commits := stagedFleet(t)
	bare := filepath.Join(root, "control-plane.git")
	args := func(environment string, more ...string) []string {
		return append([]string{"promote", "--env", environment, "--control-plane", bare}, more...)
	}
	stage := refsOf(bare)["refs/heads/stage"]
	got := kalypso(t, args("stage")...)
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "[gate-unknown]")
	assert.Contains(t, got.stderr, "is not on GitHub")
	assert.Contains(t, got.stderr, "hint: kalypso check-promote --env dev promotes it if it is deployed; --skip-gates promotes it anyway")
	assert.Equal(t, stage, refsOf(bare)["refs/heads/stage"])

	got = mustRun(t, args("dev", "--commit", commits[1], "--rollback")...)
	assert.Contains(t, got.stdout, "notice: no status is set on the commit: ")
	got = mustRun(t, args("dev")...)
	assert.Contains(t, got.stdout, "dev: "+commits[1][:12]+" -> "+commits[2][:12]+", promoted\n")
	mustRun(t, args("stage", "--skip-gates")...)
	after := refsOf(bare)["refs/heads/stage"]
	content, err := gitopstest.Git(bare, "show", "stage:"+stageBase)
	require.NoError(t, err)
	assert.Equal(t, stageBaseAt(commits[2]), content)
	mustRun(t, args("stage", "--skip-gates")...)
	assert.Equal(t, after, refsOf(bare)["refs/heads/stage"])
	got = kalypso(t, args("stage", "--skip-gates", "--commit", commits[0])...)
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "[older-commit]")
}
