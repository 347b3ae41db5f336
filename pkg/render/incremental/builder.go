package incremental

import (
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/render/content"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// Most rendered text is the same in thousands of files: the text of the template and the configuration. So rendered
// text is kept in pieces. Files that differ only in the values of their placeholders are checked once.

// pieceKind classifies a piece of rendered text.
type pieceKind byte

const (
	// constantPiece is text without a known property.
	constantPiece pieceKind = iota
	// plainPlaceholder is text that is part of one scalar in every context; see yamltext.IsPlainAnywhere.
	plainPlaceholder
	// pathPlaceholder is a plain text that begins with "./" or "../".
	pathPlaceholder
	// quotedPlaceholder is printable text in double quotes, without a quote or backslash in it.
	quotedPlaceholder
	// printablePlaceholder is printable text without a double quote or backslash in it.
	printablePlaceholder
	// entryPiece is a segment.
	entryPiece
)

type piece struct {
	kind pieceKind
	// trimmed is true if a segment is written without its leading line break.
	trimmed bool
	// tenant is true if the text was printed and may contain a string of an application.
	tenant bool
	text   string
	// segment is set for an entryPiece.
	segment *content.Segment
	// together is the number of pieces, beginning with this one, that are kept as one value because they are the
	// same in many files; whole is their text. It is 0 for other pieces.
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

// add appends a piece. It returns false if that results in a template action, which would have to be rendered again.
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

// keepTogether marks pieces that are the same in many files, so that they are kept as one value: without it, a fleet of
// 100,000 assignments takes a fifth more memory.
func keepTogether(pieces []piece) {
	placeholders := 0
	for _, p := range pieces {
		if p.kind != constantPiece {
			placeholders++
		}
	}
	if placeholders > 1 {
		pieces[0].together, pieces[0].whole = len(pieces), (&builder{pieces: pieces}).String()
	}
}

// addAll appends pieces of another builder.
func (r *builder) addAll(pieces []piece) bool {
	for _, p := range pieces {
		if !r.add(p) {
			return false
		}
	}
	return true
}

// addPlaceholder appends a text that an action printed. It returns false if the text needs further processing.
func (r *builder) addPlaceholder(text string, tenant bool) bool {
	return isQuiet(text) && r.add(piece{kind: kindOf(text), text: text, tenant: tenant})
}

// isQuiet reports whether a text needs no further processing: it has no template action and no missing value.
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

// maxPlaceholder is the length of the longest placeholder in bytes. YAML limits the length of a key.
const maxPlaceholder = 300

// kindOf classifies a printed text. It is fast, and returns constantPiece for everything that is uncertain.
func kindOf(text string) pieceKind {
	switch {
	case text == "" || len(text) > maxPlaceholder:
		return constantPiece
	case yamltext.IsPlainAnywhere(text):
		switch {
		case text[0] != '.':
			return plainPlaceholder
		case strings.Contains(text, "/"):
			return pathPlaceholder
		}
	case len(text) > 2 && text[0] == '"' && text[len(text)-1] == '"' && yamltext.IsPrintable(text[1:len(text)-1]):
		return quotedPlaceholder
	}
	return constantPiece
}

// newFrame returns the frame of a builder: its constant text, with slots for placeholders and runs of segments.
func newFrame(r *builder) *content.Frame {
	f := &content.Frame{}
	for i := 0; i < len(r.pieces); i++ {
		p := r.pieces[i]
		switch last := len(f.Slots) - 1; {
		case p.together > 0:
			f.Slots = append(f.Slots, content.Slot{Kind: content.PlaceholderSlot})
			i += p.together - 1
		case p.kind == entryPiece:
			if !r.continuesRun(i) {
				f.Slots = append(f.Slots, content.Slot{Kind: content.RunSlot, Trimmed: p.trimmed})
			}
		case p.kind != constantPiece:
			f.Slots = append(f.Slots, content.Slot{Kind: content.PlaceholderSlot})
		case last >= 0 && f.Slots[last].Kind == content.ConstantSlot:
			f.Slots[last].Text += p.text
		default:
			f.Slots = append(f.Slots, content.Slot{Kind: content.ConstantSlot, Text: p.text})
		}
	}
	return f
}

// fill returns the text of the builder, in its frame.
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
	if placeholders := f.Count(content.PlaceholderSlot); placeholders > 0 {
		t.Values = make([]string, 0, placeholders)
	}
	for i := 0; i < len(r.pieces); i++ {
		switch p := &r.pieces[i]; {
		case p.together > 0:
			t.Values = append(t.Values, p.whole)
			i += p.together - 1
		case p.kind == entryPiece:
			if len(t.Segments) > 0 && !r.continuesRun(i) {
				t.Segments = append(t.Segments, nil)
			}
			t.Segments = append(t.Segments, p.segment)
		case p.kind != constantPiece:
			t.Values = append(t.Values, p.text)
		}
	}
	return t
}

// continuesRun reports whether a segment belongs to the same run as the piece before it.
func (r *builder) continuesRun(i int) bool {
	if i == 0 || r.pieces[i-1].kind != entryPiece || r.pieces[i].trimmed {
		return false
	}
	before, this := r.pieces[i-1].segment, r.pieces[i].segment
	return before.Indent == this.Indent && before.Leading == this.Leading
}
