package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/render"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// TestC6OlderNeverLast lets the promotions of an older and of a newer commit get in each other's way: each makes so many
// requests before the other continues. The older one is first or is refused; it is never what stage has in the end.
func TestC6OlderNeverLast(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := newStages(t)
	steps := len(template.theSteps())
	type trial struct {
		old, new int
		seed     uint64
	}
	var trials []trial
	for old := lastRead; old <= steps; old++ {
		for _, fresh := range []int{0, 9, 12, 13} {
			trials = append(trials, trial{old, fresh, 0})
		}
	}
	for seed := range uint64(10) {
		trials = append(trials, trial{lastRead, lastRead, seed + 1})
	}
	older, newer := template.versions[1], template.versions[2]
	together(trials, func(o trial) {
		p := template.another()
		r := newRace(p)
		r.start("old", "--commit", older)
		r.steps("old", o.old)
		r.start("new", "--commit", newer)
		r.steps("new", o.new)
		chance := rand.New(rand.NewPCG(o.seed, 0))
		for o.seed != 0 && r.cars["old"].next != nil && r.cars["new"].next != nil {
			r.steps([]string{"old", "new"}[chance.IntN(2)], 1+chance.IntN(3))
		}
		r.end("old", "new")
		which := fmt.Sprintf("%+v:\n%s", o, strings.Join(r.trace, "\n"))
		p.assertNothingLost(which)
		late, early := r.cars["old"].got, r.cars["new"].got
		assert.Equal(t, cli.ExitDone, early.code, "%s: %s", early.stderr, which)
		history := p.history(which)
		assert.Equal(t, newer, history[0], which)
		if late.code == cli.ExitDone {
			assert.Equal(t, []string{newer, older, template.versions[0]}, history, which)
			assert.Equal(t, []string{"pending Promoted"}, p.saidOf(older, stageStatus), which)
		} else {
			assert.Equal(t, cli.ExitModel, late.code, "%s: %s", late.stderr, which)
			assert.Contains(t, late.stderr, "[older-commit]", which)
			assert.Equal(t, []string{newer, template.versions[0]}, history, which)
			assert.Empty(t, p.saidOf(older, stageStatus), which)
		}
		assert.Equal(t, []string{"pending Promoted"}, p.saidOf(newer, stageStatus), which)
	})
}

// end lets all requests through, the runs in the order given, however they end.
func (r *race) end(order ...string) {
	for _, who := range order {
		for r.step(who) {
		}
	}
}

// history are the commits that stage has had, the newest first. Each commit of the branch changes nothing but that.
func (p *press) history(which string) (had []string) {
	p.t.Helper()
	commits := strings.Fields(p.git("control-plane", "rev-list", "stage"))
	for i, commit := range commits {
		had = append(had, commitOf(p.files("control-plane", commit)[stageBase]))
		if i > 0 {
			p.assertPromotes(commits[i-1], commit, had[i], had[i-1], which)
		}
	}
	return had
}

// commitOf is the commit that a BaseRepo has, as stageBaseAt writes it.
func commitOf(base string) string {
	_, after, _ := strings.Cut(base, `commit:   "`)
	commit, _, _ := strings.Cut(after, `"`)
	return commit
}

// TestC6SameCommitAtOnce: several promotions of one commit that are all about to push end in one commit and, but for those
// that read the statuses before, one status.
func TestC6SameCommitAtOnce(t *testing.T) {
	t.Parallel()
	for name, template := range ways(t) {
		want := template.rehearse()
		untils := []string{"GET control-plane refs", template.readStatus(), stageRefs, stagePush}
		for i, n := range []int{2, 5} {
			for _, until := range spread(untils, i, 2) { // make test has one number of runs for each
				which := fmt.Sprint(name, ", ", n, " runs: ", until)
				p := template.another()
				r := newRace(p)
				var names []string
				for i := range n {
					names = append(names, fmt.Sprintf("run%d", i))
					r.start(names[i])
					for c := r.cars[names[i]]; c.next != nil && c.next.what != until; {
						r.step(names[i])
					}
				}
				chance := rand.New(rand.NewPCG(uint64(n), 0))
				for slices.ContainsFunc(names, func(who string) bool { return r.cars[who].next != nil }) {
					r.step(names[chance.IntN(n)])
				}
				r.finish(names...)
				p.assertNothingLost(which)
				end := p.promotedEnd()
				for _, statuses := range end.Statuses {
					assert.LessOrEqual(t, len(statuses), 1+n, which)
				}
				for commit, statuses := range end.Statuses {
					end.Statuses[commit] = slices.Compact(statuses)
				}
				assert.Equal(t, want, end, which)
			}
		}
	}
}

// TestC6StageMovesOnce: somebody else pushes to the branch of the environment at any moment. What he does stays, and the
// promotion is on top of it.
func TestC6StageMovesOnce(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := newStages(t)
	from, newest := template.versions[0], template.versions[2]
	was := template.files("control-plane", "stage")
	with := func(change func(gitopstest.Files)) gitopstest.Files {
		files := gitopstest.Files{}
		for name, content := range was {
			files[name] = content
		}
		change(files)
		return files
	}
	for _, c := range []struct {
		name  string
		files gitopstest.Files
		// file has the commit in the end, and holds what the branch before has of it with the commit for what it had.
		file, had string
	}{
		{"another file", with(func(f gitopstest.Files) { f["docs/more.md"] = "More.\n" }), stageBase, from},
		{"a comment", with(func(f gitopstest.Files) { f[stageBase] += "# Ask before you touch it.\n" }), stageBase, from},
		{"by hand to something else", with(func(f gitopstest.Files) { f[stageBase] = stageBaseAt(template.versions[1]) }), stageBase, template.versions[1]},
		{"moved", with(func(f gitopstest.Files) { f["common/base.yml"] = f[stageBase]; delete(f, stageBase) }), "common/base.yml", from},
		{"deleted", with(func(f gitopstest.Files) { delete(f, stageBase) }), stageBase, ""},
		{"promoted by hand", with(func(f gitopstest.Files) { f[stageBase] = stageBaseAt(newest) }), stageBase, newest},
	} {
		prepared := template.another()
		before := prepared.tip("stage")
		prepared.replace("control-plane", "stage", c.files)
		theirs := prepared.tip("stage")
		prepared.point("control-plane", "stage", before)
		steps := prepared.theSteps()
		require.Len(t, steps, 14)
		together(steps[lastRead-1:lastAlike+1], func(s step) { // then it is ours that comes first
			which := c.name + " at " + s.String()
			p := prepared.another()
			p.set(atRequest(s.n, func() { p.point("control-plane", "stage", theirs) }))
			got := p.run()
			assert.Equal(t, cli.ExitDone, got.code, "%s: %s", which, got.stderr)
			p.assertNothingLost(which)
			assert.Equal(t, []string{"pending Promoted"}, p.saidOf(newest, stageStatus), which)
			files := p.files("control-plane", "stage")
			want := with(func(f gitopstest.Files) {
				clear(f)
				for name, content := range c.files {
					f[name] = content
				}
			})
			if c.had == newest {
				assert.Equal(t, theirs, p.tip("stage"), which)
				return
			}
			assert.Equal(t, theirs, p.git("control-plane", "rev-parse", "stage^"), which)
			if c.had == "" {
				assert.Contains(t, files[stageBase], "\n  commit: "+newest+"\n", which)
				want[stageBase] = files[stageBase]
			} else {
				want[c.file] = strings.Replace(want[c.file], c.had, newest, 1)
			}
			assert.Equal(t, want, files, which)
		})
	}
}

// TestC6LostRaces loses four races in a row, and then wins; or all; or the server is gone after the first.
func TestC6LostRaces(t *testing.T) {
	t.Parallel()
	template := newStages(t)
	for _, wins := range []bool{true, false} {
		p := template.another()
		lost := 0
		p.set(at(stageRefs, 0, func() {
			if lost++; !wins || lost < render.MaxRaces {
				p.commit("control-plane", "stage", gitopstest.Files{"docs/notes.md": string(rune('a' + lost))})
			}
		}))
		got := p.run()
		p.assertNothingLost(got.stderr)
		assert.Equal(t, "Somebody", strings.Fields(template.files("control-plane", "stage")["docs/notes.md"])[0])
		if wins {
			assert.Equal(t, cli.ExitDone, got.code, got.stderr)
			assert.Equal(t, p.versions[2], commitOf(p.files("control-plane", "stage")[stageBase]))
			continue
		}
		assert.Equal(t, cli.ExitRemote, got.code, got.stderr)
		assert.Contains(t, got.stderr, "[lost-races]")
		assert.Empty(t, p.saidOf(p.versions[2], stageStatus))
		p.set(nil)
		p.must()
	}
	p := template.another()
	gone := false
	p.set(func(s step) aFault {
		if s.what == stageRefs && !gone {
			gone = true
			p.commit("control-plane", "stage", gitopstest.Files{"docs/notes.md": "Meanwhile.\n"})
			return nil
		}
		if gone && s.what == "GET control-plane refs" {
			return answers(404)
		}
		return nil
	})
	got := p.run("-o", "json")
	assert.Equal(t, cli.ExitRemote, got.code, got.stderr)
	assert.Equal(t, 1, strings.Count(got.stdout, `"formatVersion"`), got.stdout)
	assert.Equal(t, 1, strings.Count(got.stdout, `"severity": "error"`), got.stdout)
	p.assertNothingLost("gone")
}
