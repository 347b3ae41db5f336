package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
)

// A race is several runs of which one request at a time gets through, as the test decides.
type race struct {
	p     *press
	mu    sync.Mutex
	cars  map[string]*car
	trace []string
}

// car is a run in a race.
type car struct {
	arrived chan *waiting
	ended   chan outcome
	// gone is closed when it has ended. A request that it has given up before waits for nobody then.
	gone chan struct{}
	// next is the request that waits; nil after the end, when got is how it ended.
	next *waiting
	got  outcome
}

// waiting is a request at the gate.
type waiting struct {
	step
	through chan struct{}
}

func newRace(p *press) *race {
	r := &race{p: p, cars: map[string]*car{}}
	p.stall = time.Minute // to be held at the gate is no fault of the server
	p.set(func(s step) aFault {
		r.mu.Lock()
		c := r.cars[s.who]
		r.mu.Unlock()
		if c != nil {
			w := &waiting{s, make(chan struct{})}
			select {
			case c.arrived <- w:
			case <-c.gone:
			}
			select {
			case <-w.through:
			case <-c.gone:
			}
		}
		return nil
	})
	return r
}

// start starts a run, up to its first request.
func (r *race) start(who string, more ...string) {
	c := &car{arrived: make(chan *waiting), ended: make(chan outcome, 1), gone: make(chan struct{})}
	r.mu.Lock()
	r.cars[who] = c
	r.mu.Unlock()
	r.p.admit(who)
	go func() {
		defer close(c.gone)
		c.ended <- r.p.runAs(r.p.t.Context(), who, more...)
	}()
	c.wait()
}

// wait waits for the next request, or the end.
func (c *car) wait() {
	select {
	case c.next = <-c.arrived:
	case c.got = <-c.ended:
		c.next = nil
	}
}

// step lets the next request of a run through, and returns whether there was one.
func (r *race) step(who string) bool {
	c := r.cars[who]
	if c.next == nil {
		return false
	}
	r.trace = append(r.trace, c.next.String())
	close(c.next.through)
	c.wait()
	return true
}

// steps lets so many requests through.
func (r *race) steps(who string, n int) {
	for range n {
		if !r.step(who) {
			return
		}
	}
}

// finish lets all through, the runs in the order given, and makes sure that they succeed.
func (r *race) finish(order ...string) {
	for _, who := range order {
		for r.step(who) {
		}
	}
	for _, who := range order {
		got := r.cars[who].got
		if !assert.Equal(r.p.t, cli.ExitDone, got.code, "%s: %s", who, got.stderr) {
			r.p.t.Log(strings.Join(r.trace, "\n"))
		}
	}
}

// scene is what there is before two runs of which the second knows of a newer commit.
type scene struct {
	name string
	// published says what was published before: "" for nothing, "open" if its pull request is open, or "merged".
	published string
	// undone says that the newer commit takes back what the older one has changed.
	undone bool
}

func scenes() []scene {
	return []scene{
		{"nothing is published", "", false},
		{"a pull request is open", "open", false},
		{"what is open is undone", "open", true},
		{"what is merged is undone", "merged", true},
	}
}

// prepare makes the scene, but for the newer commit, whose id it returns.
func (s scene) prepare(from *press) (p *press, fresh string) {
	p = from.another()
	if s.published != "" {
		p.must()
	}
	if s.published == "merged" {
		p.move(func() { p.repo.MergePull(1, "merge") })
	}
	first := acmeMain()
	p.commit("control-plane", "main", acmeTemplates("old"))
	if !s.undone {
		first = acmeTemplates("new")
	}
	return p, p.prepare("control-plane", "main", first)
}

// trial is a way in which two runs meet: the older one makes so many requests before the newer commit is there.
type trial struct {
	lead int
	// seed is zero if the newer run then goes first to its end. Else they take turns by chance.
	seed uint64
}

func (o trial) run(r *race) {
	if o.seed == 0 {
		r.finish("new")
		return
	}
	chance := rand.New(rand.NewPCG(o.seed, 0))
	for r.cars["old"].next != nil && r.cars["new"].next != nil {
		r.steps([]string{"old", "new"}[chance.IntN(2)], 1+chance.IntN(4))
	}
}

// TestR7TwoRunsOldAndNew lets the run of an older commit and the run of a newer one get in each other's way: first the
// newer one runs as a whole between any two requests of the older one, then they take turns by chance.
func TestR7TwoRunsOldAndNew(t *testing.T) {
	t.Parallel()
	matrix(t)
	from := newPress(t, acmeFleet(t), "control-plane")
	requests := len(from.theSteps())
	var trials []trial
	for lead := 4; lead <= requests; lead++ { // what comes before is the reading of the control plane
		trials = append(trials, trial{lead, 0})
	}
	for seed := range uint64(2) {
		trials = append(trials, trial{5 + 2*int(seed), seed + 1})
	}
	for i, s := range scenes() {
		template, fresh := s.prepare(from)
		all(spread(trials, i, 6), func(o trial) {
			p := template.another()
			r := newRace(p)
			r.start("old")
			r.steps("old", o.lead)
			p.point("control-plane", "main", fresh)
			r.start("new")
			o.run(r)
			r.finish("old", "new")
			which := s.name + ":\n" + strings.Join(r.trace, "\n")
			if s.published != "merged" {
				p.assertRight(which)
				return
			}
			p.assertNothingLost(which)
			assert.Empty(t, p.repo.OpenPulls(), which)
		})
	}
}

// TestR7Direct: the same with commits to the GitOps branch itself, where the newer run takes back what the older one does.
func TestR7Direct(t *testing.T) {
	t.Parallel()
	from := newPress(t, acmeFleet(t), "control-plane")
	from.flags = []string{"--direct"}
	from.must()
	from.commit("control-plane", "main", acmeTemplates("old"))
	fresh := from.prepare("control-plane", "main", acmeMain())
	together(from.theSteps(), func(s step) {
		p := from.another()
		r := newRace(p)
		r.start("old")
		r.steps("old", s.n)
		p.point("control-plane", "main", fresh)
		r.start("new")
		r.finish("new", "old")
		p.move(func() {}) // the branch is ours
		p.set(nil)
		p.must()
		assert.Empty(t, p.writes(), "what is published is the newest: %v", r.trace)
		p.assertNothingLost(s.String())
	})
}

// TestR6ManyRunsAtOnce: all are about to push the same commit, and then do, in any order.
func TestR6ManyRunsAtOnce(t *testing.T) {
	t.Parallel()
	template := newPress(t, acmeFleet(t))
	for _, n := range []int{2, 5, 10} {
		p := template.another()
		r := newRace(p)
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("run%d", i))
			r.start(names[i])
			for c := r.cars[names[i]]; c.next.what != pushStep; {
				r.step(names[i])
			}
		}
		chance := rand.New(rand.NewPCG(uint64(n), 0))
		for slices.ContainsFunc(names, func(who string) bool { return r.cars[who].next != nil }) {
			r.step(names[chance.IntN(n)])
		}
		r.finish(names...)
		p.assertRight(fmt.Sprint(n, " runs"))
		assert.Len(t, p.repo.Pulls(), 1)
		assert.Equal(t, "1", p.git("gitops", "rev-list", "--count", "dev..deployment/dev"))
	}
}

// TestR6ManyProcesses: the same with processes, as the clock has it, over http and in a repository on this machine.
func TestR6ManyProcesses(t *testing.T) {
	t.Parallel()
	p := newPress(t, acmeFleet(t))
	const n = 5
	var arrived atomic.Int32
	all := make(chan struct{})
	p.set(func(s step) aFault {
		if s.what == pushStep {
			if arrived.Add(1) == n {
				close(all)
			}
			<-all
		}
		return nil
	})
	var wait sync.WaitGroup
	for range n {
		wait.Go(func() {
			cmd, left := p.process(usual)
			got := finish(t, cmd)
			p.heard(got)
			assert.Equal(t, cli.ExitDone, got.code, got.stderr)
			assert.Empty(t, left())
		})
	}
	wait.Wait()
	p.assertRight("processes")
	assert.Len(t, p.repo.Pulls(), 1)
	assert.Equal(t, "1", p.git("gitops", "rev-list", "--count", "dev..deployment/dev"))

	root := acmeFleet(t)
	for range n {
		wait.Go(func() {
			got := kalypso(t, acmeArgs(root, nil, "render")...)
			assert.Equal(t, cli.ExitDone, got.code, got.stderr)
		})
	}
	wait.Wait()
	p = newPress(t, root)
	p.must()
	assert.Zero(t, p.count(pushStep), "it is there")
	p.assertRight("on this machine")
}
