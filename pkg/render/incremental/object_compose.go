package incremental

import (
	"fmt"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/render/reference"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// layouts are the layouts of object manifests in YAML, by the shapes of their strings. The library writes strings that
// differ only in placeholders in the same way, so it is called once, with marks in the placeholders. It is safe for
// concurrent use.
type layouts struct {
	mu    sync.RWMutex
	known map[string]layout
}

// layout is the text of an object around its placeholders.
type layout struct {
	parts []textPart
	ok    bool
}

// plannedObject renders a manifest that is an object, each of whose strings has a plan.
type plannedObject struct {
	*reference.Manifest
	plans   []*plan
	layouts layouts
}

// objectScratch is scratch space for the strings of an object: the first piece of each, the positions of the
// placeholders, and the key of their shapes.
type objectScratch struct {
	strings              builder
	starts, placeholders []int
	key                  []byte
}

// compose renders the object in pieces. It returns false if the way in which a string is written could depend on the
// value of a placeholder.
func (m *plannedObject) compose(c *composition) bool {
	x := &c.scratch
	x.strings.reset()
	x.starts, x.key = x.starts[:0], x.key[:0]
	for _, p := range m.plans {
		first := len(x.strings.pieces)
		if !c.composeString(p) || !isSteady(x.strings.pieces[first:]) {
			return false
		}
		x.starts = append(x.starts, first)
		x.key = shapeKey(x.key, &builder{pieces: x.strings.pieces[first:]}, nil, true)
	}
	known := m.layout(x)
	if !known.ok {
		return false
	}
	x.placeholders = x.placeholders[:0]
	for i := range x.strings.pieces {
		if x.strings.pieces[i].kind != constantPiece {
			x.placeholders = append(x.placeholders, i)
		}
	}
	for _, part := range known.parts {
		next := piece{text: part.text}
		if part.placeholder >= 0 {
			next = x.strings.pieces[x.placeholders[part.placeholder]]
		}
		if !c.add(next) {
			return false
		}
	}
	return true
}

// composeString renders a plan as one of the strings of an object.
func (c *composition) composeString(p *plan) bool {
	c.builder, c.scratch.strings = c.scratch.strings, c.builder
	c.last = 0
	ok := p.compose(c)
	c.builder, c.scratch.strings = c.scratch.strings, c.builder
	return ok
}

// isSteady reports whether a string is written like all others of its shape: YAML certainly reads it as a string, and
// its line cannot be broken.
func isSteady(pieces []piece) bool {
	if len(pieces) == 0 {
		return true
	}
	var b strings.Builder
	placeholders, tenant := false, false
	for _, p := range pieces {
		tenant = tenant || p.tenant
		switch p.kind {
		case constantPiece:
		case plainPlaceholder, pathPlaceholder:
			placeholders = true
		default:
			return false
		}
		b.WriteString(p.text)
	}
	text := b.String()
	if tenant && !yamltext.ReadsAsText(text) {
		return false // only the whole file has the information to prove that it is a string
	}
	return !placeholders || yamltext.IsLetter(text[0]) && yamltext.ReadsAsText(text) && yamltext.IsVisible(text) && !strings.Contains(text, " ")
}

// layout returns the layout of the object with the strings that x.key identifies.
func (m *plannedObject) layout(x *objectScratch) layout {
	m.layouts.mu.RLock()
	known, found := m.layouts.known[string(x.key)]
	m.layouts.mu.RUnlock()
	if found {
		return known
	}
	known = m.newLayout(x)
	m.layouts.mu.Lock()
	defer m.layouts.mu.Unlock()
	if m.layouts.known == nil {
		m.layouts.known = map[string]layout{}
	}
	if len(m.layouts.known) < maxLayouts {
		m.layouts.known[string(x.key)] = known
	}
	return known
}

// maxLayouts is the maximum number of layouts that are kept for an object manifest.
const maxLayouts = 10_000

// newLayout writes the object with marks, and splits the text at them.
func (m *plannedObject) newLayout(x *objectScratch) layout {
	var marks []string
	next := 0
	object := m.Filled(func(t *reference.Text) string {
		if t.Template == nil {
			return t.Block.Value
		}
		last := len(x.strings.pieces)
		if next+1 < len(x.starts) {
			last = x.starts[next+1]
		}
		var b strings.Builder
		for _, p := range x.strings.pieces[x.starts[next]:last] {
			if p.kind != constantPiece {
				p.text = fmt.Sprintf("kalypso0string%dz", len(marks))
				marks = append(marks, p.text)
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
	l := layout{parts: splitAt(string(out), marks), ok: true}
	used := 0
	for _, part := range l.parts {
		if part.placeholder >= 0 {
			used++
		}
	}
	l.ok = used == len(marks)
	return l
}
