package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// changedSince is a press whose environment was published, and has changed since.
func changedSince(t *testing.T, what func(p *press)) *press {
	t.Helper()
	p := newPress(t, acmeFleet(t))
	p.must()
	p.move(func() { what(p) })
	p.target("web", "api")
	p.set(nil)
	return p
}

// TestR9LeftBefore: what an earlier run has left, in whatever way it ended, is no obstacle. There is a new pull request, or the
// open one is brought up to date.
func TestR9LeftBefore(t *testing.T) {
	t.Parallel()
	matrix(t)
	for name, test := range map[string]struct {
		left func(p *press)
		// number is that of the pull request in the end.
		number int
	}{
		"open":                        {func(*press) {}, 1},
		"merged":                      {func(p *press) { p.repo.MergePull(1, "merge") }, 2},
		"squashed":                    {func(p *press) { p.repo.MergePull(1, "squash") }, 2},
		"rebased":                     {func(p *press) { p.repo.MergePull(1, "rebase") }, 2},
		"merged, and the branch gone": {func(p *press) { p.repo.MergePull(1, "merge"); p.repo.DeleteBranch("deployment/dev") }, 2},
		"closed":                      {func(p *press) { p.repo.Close(1) }, 2},
		"closed, and the branch gone": {func(p *press) { p.repo.Close(1); p.repo.DeleteBranch("deployment/dev") }, 2},
		"the branch gone":             {func(p *press) { p.repo.DeleteBranch("deployment/dev") }, 2},
	} {
		p := changedSince(t, test.left)
		p.must()
		p.assertRight(name)
		if open := p.repo.OpenPulls(); assert.Len(t, open, 1, name) {
			assert.Equal(t, test.number, open[0].Number, name)
		}
		p.set(nil)
		p.must()
		assert.Empty(t, p.writes(), name)
	}
}

// TestR9ClosedByAPerson: what somebody did not want is not proposed again, unless that is asked for.
func TestR9ClosedByAPerson(t *testing.T) {
	t.Parallel()
	p := newPress(t, acmeFleet(t))
	p.must()
	p.repo.Close(1)
	p.set(nil)
	got := p.must()
	assert.Contains(t, got.stdout, "--reopen")
	assert.Empty(t, p.writes())
	assert.Empty(t, p.repo.OpenPulls())
	p.must("--reopen")
	p.assertRight("reopened")
}

// TestR9ForeignCommits: what others have committed to the deployment branch stops a run, whatever was merged since; --force
// overwrites it. A merge of the GitOps branch is nobody's own.
func TestR9ForeignCommits(t *testing.T) {
	t.Parallel()
	matrix(t)
	p := changedSince(t, func(p *press) {
		p.commit("gitops", "deployment/dev", gitopstest.Files{"fix.txt": "By hand.\n"})
	})
	before := refsOf(p.dir("gitops"))
	cmd, left := p.process(usual)
	got := finish(t, cmd)
	p.heard(got)
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "[foreign-commits]")
	assert.Contains(t, got.stderr, "--force")
	assert.Empty(t, left())
	assert.Empty(t, p.writes())
	assert.Equal(t, before, refsOf(p.dir("gitops")))
	p.must("--force")
	p.assertRight("forced")

	p = changedSince(t, func(p *press) {
		p.commit("gitops", "dev", gitopstest.Files{"docs/more.md": "More.\n"})
		tree := p.git("gitops", "merge-tree", "--write-tree", "deployment/dev", "dev")
		merge := p.git("gitops", "commit-tree", tree, "-p", "deployment/dev", "-p", "dev", "-m", "Merge branch 'dev' into deployment/dev")
		p.git("gitops", "update-ref", "refs/heads/deployment/dev", merge)
	})
	p.must()
	p.assertRight("updated branch")
}

// TestR9AcceptedCommits: what others have committed to the deployment branch is not in the way once its pull request was
// merged, in whichever way, and whatever has become of it since. What came after the merge is.
func TestR9AcceptedCommits(t *testing.T) {
	t.Parallel()
	matrix(t)
	type event struct {
		name string
		does func(p *press)
	}
	since := []event{
		{"another commit", func(p *press) { p.commit("gitops", "dev", gitopstest.Files{"docs/more.md": "More.\n"}) }},
		{"a better fix", func(p *press) { p.commit("gitops", "dev", gitopstest.Files{"fix.txt": "Better.\n"}) }},
		{"nothing", func(*press) {}},
	}
	for i, method := range []string{"merge", "squash", "rebase"} {
		for _, event := range spread(since, i, len(since)) { // make test has each once
			p := changedSince(t, func(p *press) {
				p.commit("gitops", "deployment/dev", gitopstest.Files{"fix.txt": "By hand.\n"})
				p.repo.MergePull(1, method)
				event.does(p)
			})
			p.must()
			p.assertRight(method + ", then " + event.name)
			assert.Contains(t, p.files("gitops", "deployment/dev"), "fix.txt")
		}
		p := changedSince(t, func(p *press) {
			p.commit("gitops", "deployment/dev", gitopstest.Files{"fix.txt": "By hand.\n"})
			p.repo.MergePull(1, method)
			p.commit("gitops", "deployment/dev", gitopstest.Files{"late.txt": "After the merge.\n"})
		})
		before := refsOf(p.dir("gitops"))
		got := p.run()
		assert.Equal(t, cli.ExitModel, got.code, got.stderr)
		assert.Contains(t, got.stderr, "[foreign-commits]", method)
		assert.Equal(t, before, refsOf(p.dir("gitops")), method)
	}
}

// TestR15Meanwhile: a person merges, closes or deletes while a run is between two requests.
func TestR15Meanwhile(t *testing.T) {
	t.Parallel()
	matrix(t)
	from := changedSince(t, func(*press) {})
	steps := from.theSteps()
	for i, act := range []struct {
		name string
		do   func(p *press)
		// merged says that nothing is left to be published, if it came after the push.
		merged bool
	}{
		{"merged", func(p *press) { p.repo.MergePull(1, "merge") }, true},
		{"closed", func(p *press) { p.repo.Close(1) }, false},
		{"branch deleted", func(p *press) { p.repo.DeleteBranch("deployment/dev") }, false},
		{"closed and opened", func(p *press) { p.repo.Close(1); p.repo.Reopen(1) }, false},
	} {
		from.atSteps(spread(steps, i, 4), func(p *press, s step, last bool) { // make test has one act for each step
			which := act.name + ": " + s.String()
			p.set(atRequest(s.n, func() { p.move(func() { act.do(p) }) }))
			got := p.run()
			assert.Equal(t, cli.ExitDone, got.code, "%s: %s", which, got.stderr)
			p.assertNothingLost(which)
			p.set(nil)
			if last || !act.merged {
				p.must()
			}
			if act.merged && len(p.repo.OpenPulls()) == 0 {
				p.must()
				assert.Empty(t, p.writes(), which)
				assert.Equal(t, gitopstest.Files(p.files("gitops", "dev")), p.files("gitops", "deployment/dev"), which)
				return
			}
			if len(p.repo.OpenPulls()) == 0 { // it was closed when this tree was pushed: that is a decision against it
				p.must("--reopen")
			}
			p.assertRight(which)
		})
	}
}

// TestR15BaseMeanwhile: the GitOps branch goes away, or gets another history, while a run is under way.
func TestR15BaseMeanwhile(t *testing.T) {
	t.Parallel()
	matrix(t)
	from := changedSince(t, func(*press) {})
	for _, what := range []string{tipsStep, readStep, beforePush, pushStep, pullsStep} {
		p := from.another()
		p.set(at(what, 1, func() { p.move(func() { p.git("gitops", "update-ref", "-d", "refs/heads/dev") }) }))
		got := p.run()
		assert.NotEqual(t, cli.ExitDone, got.code, "%s: %s", what, got.stderr)
		assert.Contains(t, got.stderr, "--create-branch", what)
		p.assertNothingLost(what)

		p = from.another()
		p.set(at(what, 1, func() { p.rewrite() }))
		got = p.run()
		assert.Equal(t, cli.ExitModel, got.code, "%s: %s", what, got.stderr)
		assert.Contains(t, got.stderr, "[foreign-commits]", what) // of the old history: nobody knows whether they are to go
		p.assertNothingLost(what)
		p.must("--force")
		p.assertRight(what)
	}
	fresh := newPress(t, acmeFleet(t))
	for _, what := range []string{tipsStep, readStep, beforePush} {
		p := fresh.another()
		p.set(at(what, 1, func() { p.rewrite() }))
		p.must()
		p.assertRight(what)
	}
}

// rewrite gives the GitOps branch another history, of one commit.
func (p *press) rewrite() {
	p.point("gitops", "dev", p.git("gitops", "commit-tree", "dev^{tree}", "-m", "A new beginning"))
}
