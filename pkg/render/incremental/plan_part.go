package incremental

import (
	"slices"
	"sync"
	"text/template/parse"

	"github.com/kalypso-gitops/kalypso/pkg/render/template"
)

// partStep executes a part of the template with text/template.
type partStep struct {
	part  *template.Part
	reads reads
}

func (p *plan) newPartStep(nodes []parse.Node, reads reads) step {
	return &partStep{p.template.Part(nodes), reads}
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
		c.Facts.ConfigData = c.Values.Data()
	}
	steps, ok := s.part.Execute(c.View(&c.Facts), c.bounds, func(text string, fixed bool) bool {
		if fixed {
			return c.builder.add(piece{text: text}) && c.size <= c.bounds.Bytes
		}
		return c.addPlaceholder(text, s.reads.target) && c.size <= c.bounds.Bytes
	})
	c.steps += steps
	return ok
}

// memo caches the output of parts that read only a deployment target, or only a cluster type.
type memo struct {
	mu    sync.RWMutex
	parts map[*partStep]keptPart
}

// keptPart is the output of a part, and the number of steps that it takes.
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

// memoOf returns the cache of the target or of the cluster type; nil if a part reads both, or if it is not of the fleet.
func (c *composition) memoOf(r reads) *memo {
	switch {
	case r.config || r.target && r.clusterType:
		return nil
	case r.target:
		return c.targets[c.Target]
	default:
		return c.clusterTypes[c.ClusterType]
	}
}
