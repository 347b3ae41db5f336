package render

import (
	"fmt"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
	"strings"
	"sync"
)

// layouts are what object manifests look like in YAML, by the shapes of their strings: the library is
// asked once, with placeholders in the holes, as it writes all strings alike that differ in harmless
// holes alone. It is safe for concurrent use.
type layouts struct {
	mu    sync.RWMutex
	known map[string]layout
}

// layout is the text of an object around its holes.
type layout struct {
	parts []textPart
	ok    bool
}

// compose renders the object in pieces. It fails if a string has anything in a hole on which the way
// that it is written could depend.
func (m *objectManifest) compose(c *composition) bool {
	c.strings.reset()
	c.starts, c.key = c.starts[:0], c.key[:0]
	for _, t := range m.templates {
		first := len(c.strings.pieces)
		if !c.composeString(t) || !isSteady(c.strings.pieces[first:]) {
			return false
		}
		c.starts = append(c.starts, first)
		c.key = shapeKey(c.key, &rope{pieces: c.strings.pieces[first:]}, nil, true)
	}
	known := m.layout(c)
	if !known.ok {
		return false
	}
	c.holes = c.holes[:0]
	for i := range c.strings.pieces {
		if c.strings.pieces[i].kind != constantPiece {
			c.holes = append(c.holes, i)
		}
	}
	for _, part := range known.parts {
		next := piece{text: part.text}
		if part.hole >= 0 {
			next = c.strings.pieces[c.holes[part.hole]]
		}
		if !c.add(next) {
			return false
		}
	}
	return true
}

// composeString adds what a template renders to c.strings.
func (c *composition) composeString(t *Template) bool {
	if t.plan == nil {
		return false
	}
	c.rope, c.strings = c.strings, c.rope
	c.last = 0
	ok := t.plan.compose(c)
	c.rope, c.strings = c.strings, c.rope
	return ok
}

// isSteady reports whether a string is written like all others of its shape: it must be clear that
// YAML reads it as a string, and there must be no place to break its line.
func isSteady(pieces []piece) bool {
	if len(pieces) == 0 {
		return true
	}
	var b strings.Builder
	holes, tenant := false, false
	for _, p := range pieces {
		tenant = tenant || p.tenant
		switch p.kind {
		case constantPiece:
		case plainHole, pathHole:
			holes = true
		default:
			return false
		}
		b.WriteString(p.text)
	}
	text := b.String()
	if tenant && !yamltext.ReadsAsText(text) {
		return false // only the whole file has the information to prove that it is a string
	}
	return !holes || yamltext.IsLetter(text[0]) && yamltext.ReadsAsText(text) && yamltext.IsVisible(text) && !strings.Contains(text, " ")
}

// layout finds the layout of the object whose strings are in c.strings, which c.key identifies.
func (m *objectManifest) layout(c *composition) layout {
	m.layouts.mu.RLock()
	known, found := m.layouts.known[string(c.key)]
	m.layouts.mu.RUnlock()
	if found {
		return known
	}
	known = m.newLayout(c)
	m.layouts.mu.Lock()
	defer m.layouts.mu.Unlock()
	if m.layouts.known == nil {
		m.layouts.known = map[string]layout{}
	}
	if len(m.layouts.known) < maxLayouts {
		m.layouts.known[string(c.key)] = known
	}
	return known
}

// maxLayouts is how many layouts of an object manifest are kept.
const maxLayouts = 10_000

// newLayout writes the object with placeholders and takes it apart again.
func (m *objectManifest) newLayout(c *composition) layout {
	var placeholders []string
	next := 0
	object := m.root.fill(func(*Template) string {
		last := len(c.strings.pieces)
		if next+1 < len(c.starts) {
			last = c.starts[next+1]
		}
		var b strings.Builder
		for _, p := range c.strings.pieces[c.starts[next]:last] {
			if p.kind != constantPiece {
				p.text = fmt.Sprintf("kalypso0string%dz", len(placeholders))
				placeholders = append(placeholders, p.text)
			}
			b.WriteString(p.text)
		}
		next++
		return b.String()
	})
	out, err := yamltext.Object(object)
	if err != nil {
		return layout{}
	}
	l := layout{parts: splitAt(string(out), placeholders), ok: true}
	used := 0
	for _, part := range l.parts {
		if part.hole >= 0 {
			used++
		}
	}
	l.ok = used == len(placeholders)
	return l
}
