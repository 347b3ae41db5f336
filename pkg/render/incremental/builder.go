package incremental

import (
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/render/content"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// Most of what is rendered is the same in thousands of files: the text of the template and what is
// written of the configuration. So rendered text is kept in pieces, of which only the holes differ
// from file to file, and what is known of one file is known of all that differ in their holes alone.

// pieceKind tells what is known of a piece of rendered text.
type pieceKind byte

const (
	// constantPiece is text that nothing is known of.
	constantPiece pieceKind = iota
	// plainHole is a text that is part of one scalar wherever it stands; see yamltext.IsPlainAnywhere.
	plainHole
	// pathHole is the same, but begins with "./" or "../".
	pathHole
	// quotedHole is printable text in double quotes, without a quote or backslash in it.
	quotedHole
	// wildHole is printable text without a double quote or backslash in it.
	wildHole
	// entryPiece is a segment.
	entryPiece
)

type piece struct {
	kind pieceKind
	// trimmed says that a segment is written without the line break that it begins with.
	trimmed bool
	// tenant says that the text was printed and may contain a string of an application.
	tenant bool
	text   string
	// segment is that of an entryPiece.
	segment *content.Segment
	// together is how many pieces, of which this is the first, are the same in many files, and whole
	// what they are together: that is kept instead of their holes. It is 0 for all others.
	together int
	whole    string
}

// builder collects the pieces of a text.
type builder struct {
	pieces []piece
	size   int
	last   byte
}

func (r *builder) reset() { r.pieces, r.size, r.last = r.pieces[:0], 0, 0 }

// add appends a piece. It fails if that makes an action, which would have to be rendered again.
func (r *builder) add(p piece) bool {
	if p.text == "" {
		return true
	}
	if r.last == '{' && p.text[0] == '{' {
		return false
	}
	r.pieces = append(r.pieces, p)
	r.size, r.last = r.size+len(p.text), p.text[len(p.text)-1]
	return true
}

// keepTogether marks pieces that are the same in many files.
func keepTogether(pieces []piece) {
	holes := 0
	for _, p := range pieces {
		if p.kind != constantPiece {
			holes++
		}
	}
	if holes > 1 {
		pieces[0].together, pieces[0].whole = len(pieces), (&builder{pieces: pieces}).String()
	}
}

// addAll appends pieces that were added to another builder.
func (r *builder) addAll(pieces []piece) bool {
	for _, p := range pieces {
		if !r.add(p) {
			return false
		}
	}
	return true
}

// addHole appends a text that was printed.
func (r *builder) addHole(text string, tenant bool) bool {
	return isQuiet(text) && r.add(piece{kind: kindOf(text), text: text, tenant: tenant})
}

// isQuiet reports whether nothing has to be done about a text: it is no template, and no value is
// missing.
func isQuiet(text string) bool {
	return !strings.Contains(text, template.ActionStart) && !strings.Contains(text, template.NoValue)
}

func (r *builder) String() string {
	var b strings.Builder
	b.Grow(r.size)
	for _, p := range r.pieces {
		b.WriteString(p.text)
	}
	return b.String()
}

// maxHole keeps holes so short that no line with them gets too long to be a key.
const maxHole = 300

// kindOf tells what a printed text is. It is quick, and what it does not know for sure is a constantPiece.
func kindOf(text string) pieceKind {
	switch {
	case text == "" || len(text) > maxHole:
		return constantPiece
	case yamltext.IsPlainAnywhere(text):
		switch {
		case text[0] != '.':
			return plainHole
		case strings.Contains(text, "/"):
			return pathHole
		}
	case len(text) > 2 && text[0] == '"' && text[len(text)-1] == '"' && yamltext.IsPrintable(text[1:len(text)-1]):
		return quotedHole
	}
	return constantPiece
}

// newFrame returns the frame of a builder, with everything that is not a hole or a segment as it is.
func newFrame(r *builder) *content.Frame {
	f := &content.Frame{}
	for i := 0; i < len(r.pieces); i++ {
		p := r.pieces[i]
		switch last := len(f.Slots) - 1; {
		case p.together > 0:
			f.Slots = append(f.Slots, content.Slot{Kind: content.HoleSlot})
			i += p.together - 1
		case p.kind == entryPiece:
			if !r.continuesRun(i) {
				f.Slots = append(f.Slots, content.Slot{Kind: content.RunSlot, Trimmed: p.trimmed})
			}
		case p.kind != constantPiece:
			f.Slots = append(f.Slots, content.Slot{Kind: content.HoleSlot})
		case last >= 0 && f.Slots[last].Kind == content.ConstantSlot:
			f.Slots[last].Text += p.text
		default:
			f.Slots = append(f.Slots, content.Slot{Kind: content.ConstantSlot, Text: p.text})
		}
	}
	return f
}

// fill returns the text that the builder makes in its frame.
func (r *builder) fill(f *content.Frame) content.Text {
	if r.size == 0 {
		return content.Text{}
	}
	t := content.Text{Frame: f, Size: r.size}
	segments := 0
	for i := range r.pieces {
		if r.pieces[i].kind == entryPiece {
			segments++
		}
	}
	if segments > 0 {
		t.Segments = make([]*content.Segment, 0, segments+f.Count(content.RunSlot)-1)
	}
	if holes := f.Count(content.HoleSlot); holes > 0 {
		t.Holes = make([]string, 0, holes)
	}
	for i := 0; i < len(r.pieces); i++ {
		switch p := &r.pieces[i]; {
		case p.together > 0:
			t.Holes = append(t.Holes, p.whole)
			i += p.together - 1
		case p.kind == entryPiece:
			if len(t.Segments) > 0 && !r.continuesRun(i) {
				t.Segments = append(t.Segments, nil)
			}
			t.Segments = append(t.Segments, p.segment)
		case p.kind != constantPiece:
			t.Holes = append(t.Holes, p.text)
		}
	}
	return t
}

// continuesRun reports whether a segment belongs to the run of the piece before it.
func (r *builder) continuesRun(i int) bool {
	if i == 0 || r.pieces[i-1].kind != entryPiece || r.pieces[i].trimmed {
		return false
	}
	before, this := r.pieces[i-1].segment, r.pieces[i].segment
	return before.Indent == this.Indent && before.Leading == this.Leading
}
