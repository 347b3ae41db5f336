package render

import (
	"fmt"
	"slices"
	"sync"
	"text/template"
	"text/template/parse"
)

// partStep has text/template execute a part of the program.
type partStep struct {
	plan   *plan
	number int
	reads  reads
}

func (p *plan) newPart(nodes []parse.Node, reads reads) step {
	tree := &parse.Tree{Name: rootName, ParseName: rootName, Root: &parse.ListNode{NodeType: parse.NodeList, Nodes: nodes}}
	p.parts = append(p.parts, tree)
	return &partStep{p, len(p.parts) - 1, reads}
}

func (s *partStep) add(c *composition) bool {
	memo := c.memoOf(s.reads)
	if memo == nil {
		return s.execute(c)
	}
	if kept, ok := memo.find(s); ok {
		c.steps += kept.steps
		return c.addAll(kept.pieces)
	}
	first, steps := len(c.pieces), c.steps
	if !s.execute(c) {
		return false
	}
	keepTogether(c.pieces[first:])
	memo.keep(s, keptPart{slices.Clone(c.pieces[first:]), c.steps - steps})
	return true
}

func (s *partStep) execute(c *composition) bool {
	if s.reads.config {
		c.facts.ConfigData = c.values.Data()
	}
	machine := s.plan.machine()
	defer s.plan.idle.Put(machine)
	machine.run.tenant = s.reads.target
	ok := machine.execute(s.number, c.facts, &c.rope, c.bounds)
	c.steps += machine.run.steps
	return ok
}

// memo keeps what parts make that look at a deployment target alone, or at a cluster type alone.
type memo struct {
	mu    sync.RWMutex
	parts map[*partStep]keptPart
}

// keptPart is what a part makes, and in how many steps.
type keptPart struct {
	pieces []piece
	steps  int
}

func (m *memo) find(s *partStep) (keptPart, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	kept, ok := m.parts[s]
	return kept, ok
}

func (m *memo) keep(s *partStep, part keptPart) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parts == nil {
		m.parts = map[*partStep]keptPart{}
	}
	m.parts[s] = part
}

// memoOf returns what is kept of the target or the cluster type; nil if a part reads of both.
func (c *composition) memoOf(r reads) *memo {
	switch {
	case r.config || r.target && r.clusterType:
		return nil
	case r.target:
		return c.ofTarget
	default:
		return c.ofClusterType
	}
}

// planMachine executes the parts of a plan. Only one goroutine may use it at a time.
type planMachine struct {
	run   *run
	parts []*template.Template
}

// machine returns an idle machine, or a new one.
func (p *plan) machine() *planMachine {
	if m, ok := p.idle.Get().(*planMachine); ok {
		return m
	}
	m := &planMachine{run: &run{program: p.program}}
	all := p.program.linkTemplates(m.run)
	for i, tree := range p.parts {
		part, _ := all.AddParseTree(fmt.Sprintf("(part %d)", i), tree) // the name is new
		m.parts = append(m.parts, part)
	}
	return m
}

// execute adds what a part makes of data.
func (m *planMachine) execute(part int, data any, into *rope, bounds Bounds) (ok bool) {
	defer func() {
		if recover() != nil { // the usual way tells what is wrong
			ok = false
		}
	}()
	m.run.reset(bounds)
	m.run.depth, m.run.into = 1, into // the text itself
	return m.parts[part].Execute(m.run, data) == nil
}
