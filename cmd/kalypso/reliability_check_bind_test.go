package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// TestS17CommitOfAnotherPlace: --commit names a commit of the GitOps branch of this environment, and nothing else. All others are
// refused before anything is said or promoted.
func TestS17CommitOfAnotherPlace(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := aDueChain(t)
	unmerged := template.prepare("gitops", "dev", trackingOf(template.commits[2]))
	tip := template.gitops("dev")
	for name, test := range map[string]struct {
		commit string
		code   int
		say    string
	}{
		"of the control plane":       {template.commits[2], cli.ExitModel, "not a commit of the control plane"},
		"of another environment":     {template.gitops("stage"), cli.ExitModel, "not-on-gitops-branch"},
		"of an application":          {template.git("app-1", "rev-parse", "main"), cli.ExitModel, "not-on-gitops-branch"},
		"not merged":                 {unmerged, cli.ExitModel, "not-on-gitops-branch"},
		"of nothing":                 {strings.Repeat("0", 39) + "1", cli.ExitModel, "not-on-gitops-branch"},
		"a tree":                     {template.git("gitops", "rev-parse", "dev^{tree}"), cli.ExitModel, "not-on-gitops-branch"},
		"a file":                     {template.git("gitops", "rev-parse", "dev:"+trackingFile), cli.ExitModel, "not-on-gitops-branch"},
		"a branch":                   {"dev", cli.ExitUsage, "must be a commit SHA"},
		"HEAD":                       {"HEAD", cli.ExitUsage, "must be a commit SHA"},
		"too short":                  {tip[:6], cli.ExitUsage, "must be a commit SHA"},
		"too long":                   {tip + "0", cli.ExitUsage, "must be a commit SHA"},
		"an option":                  {"--upload-pack=touch", cli.ExitUsage, "must be a commit SHA"},
		"the beginning of none":      {"0123456789abcdef", cli.ExitModel, "not-on-gitops-branch"},
		"an expression":              {tip + "^", cli.ExitUsage, "must be a commit SHA"},
		"a commit and something":     {tip + "\n::error::", cli.ExitUsage, "must be a commit SHA"},
		"of nobody, in capitals":     {strings.Repeat("A", 40), cli.ExitModel, "not-on-gitops-branch"},
		"the commit of nobody, zero": {strings.Repeat("0", 40), cli.ExitModel, "not-on-gitops-branch"},
	} {
		c := template.another()
		before := c.state()
		got := c.run("--commit", test.commit)
		assert.Equal(t, test.code, got.code, "%s: %s", name, got.stderr)
		assert.Contains(t, got.stderr, test.say, name)
		assert.NotContains(t, got.stdout, "nothing to do", name)
		assert.Equal(t, before, c.state(), name)
		assert.Empty(t, c.writes(), name)
	}
}

// TestS17CommitInOtherForms: the beginning of an id, or one in capitals, means the same commit.
func TestS17CommitInOtherForms(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := aDueChain(t)
	tip := template.gitops("dev")
	want := template.undisturbed()
	for _, commit := range []string{tip, tip[:7], strings.ToUpper(tip), strings.ToUpper(tip[:12])} {
		c := template.another()
		c.must("--commit", commit)
		c.assertChecked(want, commit)
	}
}

// TestS17OlderCommit: a check that comes late, for a commit that has been overtaken long since, takes nothing back.
func TestS17OlderCommit(t *testing.T) {
	t.Parallel()
	matrix(t)
	c := aDueChain(t)
	older := c.gitops("dev")
	newest := c.push(gitopstest.Files{"version.txt": "3\n"})
	c.has("dev", newest)
	newer := c.merged("dev", newest)
	c.must("--commit", newer)
	want := c.state()
	require.Equal(t, "version 3", want.Promoted["stage"])
	c.asks(sees("edge-1=compliant@" + newer))
	c.must("--commit", older)
	got := c.state()
	assert.Equal(t, "success Deployed: 1 of 1 cluster", got.Statuses["version 2 dev environment"], "newer commits have it")
	delete(got.Statuses, "version 2 dev environment")
	delete(want.Statuses, "version 2 dev environment")
	assert.Equal(t, want, got)
}

// TestS17TrackingFile: the tracking file is untrusted. Only a commit of the base branch is ever promoted.
func TestS17TrackingFile(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := aDueChain(t)
	unmerged := template.prepare("control-plane", "main", gitopstest.Files{"version.txt": "not merged\n"})
	for name, test := range map[string]struct {
		text string
		code int
		say  string
	}{
		"empty":              {"", cli.ExitModel, "[invalid-tracking]"},
		"garbage":            {"::error::boom\x1b[31m\n", cli.ExitModel, "[invalid-tracking]"},
		"a branch":           {"main\n", cli.ExitModel, "[invalid-tracking]"},
		"abbreviated":        {template.commits[2][:12] + "\n", cli.ExitModel, "[invalid-tracking]"},
		"two of them":        {template.commits[2] + "\n" + template.commits[1] + "\n", cli.ExitModel, "[invalid-tracking]"},
		"large":              {strings.Repeat("a", 1<<20), cli.ExitModel, "[invalid-tracking]"},
		"of the environment": {template.git("control-plane", "rev-parse", "dev"), cli.ExitModel, "[not-on-base]"},
		"not merged":         {unmerged, cli.ExitModel, "[not-on-base]"},
		"of nothing":         {strings.Repeat("0", 39) + "1", cli.ExitRemote, "commit not found"},
		"of GitOps":          {template.gitops("dev"), cli.ExitRemote, "commit not found"},
	} {
		c := template.another()
		c.commit("gitops", "dev", gitopstest.Files{trackingFile: test.text})
		before := c.state()
		c.set(nil)
		got := c.run()
		assert.Equal(t, test.code, got.code, "%s: %s", name, got.stderr)
		assert.Contains(t, got.stderr, test.say, name)
		assert.NotContains(t, got.stderr+got.stdout, "\x1b", name)
		assert.NotContains(t, got.stdout, "nothing to do", name)
		assert.Equal(t, before.Promoted, c.state().Promoted, name)
	}
}

// TestS17NeverPromoted: a GitOps branch without a tracking file has nothing to report on.
func TestS17NeverPromoted(t *testing.T) {
	t.Parallel()
	c := aDueChain(t)
	c.replace("gitops", "dev", gitopstest.Files{"docs/notes.md": "Somebody wrote this.\n"})
	got := c.must()
	assert.Contains(t, got.stdout, "dev: nothing to do\n")
	assert.Contains(t, got.stdout, "nothing is published in dev yet")
	assert.Empty(t, c.writes())
}

// TestS17GitOpsBranchForced: somebody gives the GitOps branch another history, before the check or while it waits.
func TestS17GitOpsBranchForced(t *testing.T) {
	t.Parallel()
	matrix(t)
	c := aDueChain(t)
	gone := c.gitops("dev")
	c.point("gitops", "dev", c.git("gitops", "commit-tree", "dev^{tree}", "-m", "A new beginning"))
	got := c.run("--commit", gone)
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "[not-on-gitops-branch]")
	assert.Empty(t, c.writes())
	c.must() // what the branch has is what the clusters get
	assert.Equal(t, "version 2", c.state().Promoted["stage"])

	c = aDueChain(t)
	checked := c.gitops("dev")
	other := c.git("gitops", "commit-tree", "dev~1^{tree}", "-m", "A new beginning") // with the commit before
	c.check("dev", "--commit", checked)
	c.asks(sees("edge-1=pending"), sees("edge-1=compliant@"+other))
	c.clock.wake = func(d time.Duration) {
		if d == 7*time.Second {
			c.point("gitops", "dev", other)
		}
	}
	got = c.run()
	assert.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.Equal(t, "error Superseded by "+c.commits[0][:7], c.state().Statuses["version 2 dev environment"], "as by a rollback")
	assert.Zero(t, c.promotions("stage"))
}

// TestS17MainForced: somebody gives main another history. What it has lost is not promoted any further.
func TestS17MainForced(t *testing.T) {
	t.Parallel()
	matrix(t)
	c := aDueChain(t)
	c.point("control-plane", "main", c.commits[1])
	got := c.run()
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "[not-on-base]")
	assert.Zero(t, c.promotions("stage"))
}
