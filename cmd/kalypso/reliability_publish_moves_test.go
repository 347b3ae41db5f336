package main

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/render"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// another is a press with the same repositories, open pull requests and statuses. Both know what a run makes of the
// same repositories.
func (p *press) another() *press {
	p.t.Helper()
	other := newPress(p.t, p.root, p.served[:len(p.served)-1]...)
	other.books, other.command, other.flags, other.variables = p.books, p.command, p.flags, p.variables
	other.home, other.versions, other.timeouts, other.moves = p.home, p.versions, p.timeouts, p.moves
	other.repo = other.api.Repo("acme/" + p.home)
	other.commits.Store(p.commits.Load())
	other.move(func() {})
	if p.clock != nil {
		other.clock = newClock()
	}
	for _, name := range p.served {
		for _, status := range p.api.Repo("acme/" + name).AllStatuses() {
			other.api.Repo("acme/" + name).SetStatus(status)
		}
	}
	for _, pull := range p.repo.OpenPulls() {
		other.repo.OpenPull(githubtest.Pull{
			Issue: githubtest.Issue{Title: pull.Title, Body: pull.Body, Author: pull.Author, Labels: pull.Labels}, Head: pull.Head, Base: pull.Base,
		})
	}
	return other
}

// theSteps are the requests of a run that nothing disturbs.
func (p *press) theSteps() []step {
	p.t.Helper()
	other := p.another()
	other.must()
	return other.requests()
}

// eachStep does something at each request of a run in turn, each on a press of its own. The last requests list all
// repositories once more, at once; what happens then may come too late.
func (p *press) eachStep(do func(p *press, s step, last bool)) {
	p.t.Helper()
	p.atSteps(share(p.theSteps()), do)
}

// atSteps does something at each of these requests of a run.
func (p *press) atSteps(steps []step, do func(p *press, s step, last bool)) {
	p.t.Helper()
	requests := len(p.theSteps())
	require.Greater(p.t, requests, 10)
	all(steps, func(s step) { do(p.another(), s, s.n > requests-len(p.served)) })
}

// together does something to the share of the items that make test has time for, some at once.
func together[T any](items []T, do func(T)) { all(share(items), do) }

// all does something to all items, some at once.
func all[T any](items []T, do func(T)) {
	var wait sync.WaitGroup
	limit := make(chan struct{}, 4)
	for _, item := range items {
		limit <- struct{}{}
		wait.Go(func() {
			defer func() { <-limit }()
			do(item)
		})
	}
	wait.Wait()
}

// share is a tenth of the items and at least four, from the first to the last at equal distances, or all of them if make
// ci-full asks for it.
func share[T any](items []T) []T {
	const few, part = 4, 10
	if n := max(few, len(items)/part); n < len(items) && !wantsWholeMatrix() {
		chosen := make([]T, n)
		for i := range chosen {
			chosen[i] = items[i*(len(items)-1)/(n-1)]
		}
		return chosen
	}
	return items
}

// spread is the share of the items for the ith of many that try the same ones: every nth, so that n of the many together try
// each item, or all of them if make ci-full asks for it.
func spread[T any](items []T, i, n int) []T {
	if wantsWholeMatrix() {
		return items
	}
	var chosen []T
	for k := i % n; k < len(items); k += n {
		chosen = append(chosen, items[k])
	}
	return chosen
}

// atRequest acts at the nth request of a run.
func atRequest(n int, do func()) gate {
	return func(s step) aFault {
		if s.n == n {
			do()
		}
		return nil
	}
}

// TestR8GitOpsBranchMovesOnce: somebody commits to the GitOps branch at any moment. What is published lies on
// top of it.
func TestR8GitOpsBranchMovesOnce(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := newPress(t, acmeFleet(t))
	more := template.prepare("gitops", "dev", gitopstest.Files{"docs/more.md": "More.\n"})
	template.eachStep(func(p *press, s step, _ bool) {
		p.set(atRequest(s.n, func() { p.point("gitops", "dev", more) }))
		got := p.run()
		assert.Equal(t, cli.ExitDone, got.code, "%v: %s", s, got.stderr)
		p.assertRight(s.String())
	})
}

// TestR8ControlPlaneMovesOnce: a change of the control plane that comes at any moment is published.
func TestR8ControlPlaneMovesOnce(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := newPress(t, acmeFleet(t), "control-plane")
	fresh := template.prepare("control-plane", "main", acmeTemplates("new"))
	template.eachStep(func(p *press, s step, last bool) {
		p.set(atRequest(s.n, func() { p.point("control-plane", "main", fresh) }))
		got := p.run()
		assert.Equal(t, cli.ExitDone, got.code, "%v: %s", s, got.stderr)
		if last {
			p.must()
		}
		p.assertRight(s.String())
	})
}

// acmeTemplates is a change of the control plane that changes each target.
func acmeTemplates(version string) gitopstest.Files {
	templates := acmeMain()["templates.yaml"]
	return gitopstest.Files{"templates.yaml": strings.Replace(templates, "data: {branch:", "data: {version: "+version+", branch:", 1)}
}

// TestR8ApplicationMovesOnce: the same for an application.
func TestR8ApplicationMovesOnce(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := newPress(t, acmeFleet(t), "app-1")
	fresh := template.prepare("app-1", "main", gitopstest.Files{"workload/workload.yaml": workloadWith("web", "api")})
	template.eachStep(func(p *press, s step, last bool) {
		p.set(atRequest(s.n, func() { p.point("app-1", "main", fresh) }))
		got := p.run()
		assert.Equal(t, cli.ExitDone, got.code, "%v: %s", s, got.stderr)
		if last {
			p.must()
		}
		p.assertRight(s.String())
	})
}

// TestR9DeploymentBranchMovesOnce: somebody commits to the deployment branch at any moment. The commit stays,
// and a run that comes after it stops.
func TestR9DeploymentBranchMovesOnce(t *testing.T) {
	t.Parallel()
	matrix(t)
	p := newPress(t, acmeFleet(t))
	p.must()
	theirs := p.prepare("gitops", "deployment/dev", gitopstest.Files{"fix.txt": "By hand.\n"})
	p.target("web", "api")
	p.eachStep(func(p *press, s step, _ bool) {
		p.set(atRequest(s.n, func() { p.point("gitops", "deployment/dev", theirs) }))
		got := p.run()
		if got.code != cli.ExitDone {
			assert.Contains(t, got.stderr, "[foreign-commits]", s)
		}
		assert.Equal(t, theirs, p.git("gitops", "rev-parse", "deployment/dev"), s)
		p.assertNothingLost(s.String())
		p.set(nil)
		got = p.run()
		assert.Equal(t, cli.ExitModel, got.code, got.stderr)
		assert.Contains(t, got.stderr, "--force", s)
		assert.Equal(t, theirs, p.git("gitops", "rev-parse", "deployment/dev"), s)
		p.must("--force")
		p.assertRight(s.String())
	})
}

// TestR8LostRaces loses four races in a row, and then wins; or all.
func TestR8LostRaces(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := newPress(t, acmeFleet(t), "control-plane")
	type race struct {
		step, repo, branch string
		always             bool
	}
	var races []race
	for _, always := range []bool{false, true} {
		races = append(races, race{beforePush, "gitops", "dev", always}, race{pullsStep, "control-plane", "main", always})
	}
	together(races, func(r race) {
		p := template.another()
		lost := 0
		p.set(at(r.step, 0, func() {
			if lost++; r.always || lost < render.MaxRaces {
				p.commit(r.repo, r.branch, gitopstest.Files{"docs/notes.md": string(rune('a' + lost))})
			}
		}))
		got := p.run()
		if !r.always {
			assert.Equal(t, cli.ExitDone, got.code, "%v: %s", r, got.stderr)
			p.assertRight(r.step)
			return
		}
		assert.Equal(t, cli.ExitRemote, got.code, "%v: %s", r, got.stderr)
		assert.Contains(t, got.stderr, "[lost-races]", r)
		p.assertNothingLost(r.step)
		assert.Empty(t, p.repo.Pulls(), r)
		assert.Empty(t, p.git("gitops", "for-each-ref", "refs/heads/deployment/"), r)
		p.set(nil)
		p.must()
		p.assertRight(r.step)
	})
}
