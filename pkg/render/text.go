package render

// Text is the content of a file. Files share what is the same in them, so that the output of a large
// fleet fits into memory. The zero value is empty.
type Text struct {
	// frame is nil for a text of one piece, which is then the only hole.
	frame *frame
	holes []string
	// fragments are those of all runs; a nil stands between two runs.
	fragments []*fragment
	// size is the length in bytes.
	size int
}

// frame is what is the same in all texts of a shape: what stands around the holes.
type frame struct{ slots []slot }

type slot struct {
	kind slotKind
	// text is that of a constant slot.
	text string
	// trimmed says that the first fragment of a run is written without the line break before it.
	trimmed bool
}

type slotKind int

const (
	constantSlot slotKind = iota
	holeSlot
	// runSlot is a run of fragments.
	runSlot
)

// NewText returns a text of one piece.
func NewText(text string) Text {
	if text == "" {
		return Text{}
	}
	return Text{holes: []string{text}, size: len(text)}
}

// Append appends the text to b.
func (t Text) Append(b []byte) []byte {
	if t.frame == nil {
		for _, piece := range t.holes {
			b = append(b, piece...)
		}
		return b
	}
	holes, fragments := t.holes, t.fragments
	for _, slot := range t.frame.slots {
		switch slot.kind {
		case constantSlot:
			b = append(b, slot.text...)
		case holeSlot:
			b, holes = append(b, holes[0]...), holes[1:]
		case runSlot:
			b, fragments = appendRun(b, fragments, slot.trimmed)
		}
	}
	return b
}

// appendRun appends a run, and returns what follows it.
func appendRun(b []byte, fragments []*fragment, trimmed bool) ([]byte, []*fragment) {
	for i, fragment := range fragments {
		switch {
		case fragment == nil:
			return b, fragments[i+1:]
		case i == 0 && trimmed:
			b = append(b, fragment.lines()...)
		default:
			b = append(b, fragment.text...)
		}
	}
	return b, nil
}

func (t Text) isEmpty() bool { return t.frame == nil && len(t.holes) == 0 }

// Bytes returns the text.
func (t Text) Bytes() []byte { return t.Append(nil) }

// String returns the text.
func (t Text) String() string {
	if t.frame == nil && len(t.holes) == 1 {
		return t.holes[0]
	}
	return string(t.Bytes())
}

// newFrame returns the frame of a rope, with everything that is not a hole or a fragment as it is.
func newFrame(r *rope) *frame {
	f := &frame{}
	for i := 0; i < len(r.pieces); i++ {
		p := r.pieces[i]
		switch last := len(f.slots) - 1; {
		case p.together > 0:
			f.slots = append(f.slots, slot{kind: holeSlot})
			i += p.together - 1
		case p.kind == entryPiece:
			if !r.continuesRun(i) {
				f.slots = append(f.slots, slot{kind: runSlot, trimmed: p.trimmed})
			}
		case p.kind != constantPiece:
			f.slots = append(f.slots, slot{kind: holeSlot})
		case last >= 0 && f.slots[last].kind == constantSlot:
			f.slots[last].text += p.text
		default:
			f.slots = append(f.slots, slot{kind: constantSlot, text: p.text})
		}
	}
	return f
}

// fill returns the text that a rope makes in its frame.
func (f *frame) fill(r *rope) Text {
	if r.size == 0 {
		return Text{}
	}
	t := Text{frame: f, size: r.size}
	fragments := 0
	for i := range r.pieces {
		if r.pieces[i].kind == entryPiece {
			fragments++
		}
	}
	if fragments > 0 {
		t.fragments = make([]*fragment, 0, fragments+f.count(runSlot)-1)
	}
	if holes := f.count(holeSlot); holes > 0 {
		t.holes = make([]string, 0, holes)
	}
	for i := 0; i < len(r.pieces); i++ {
		switch p := &r.pieces[i]; {
		case p.together > 0:
			t.holes = append(t.holes, p.whole)
			i += p.together - 1
		case p.kind == entryPiece:
			if len(t.fragments) > 0 && !r.continuesRun(i) {
				t.fragments = append(t.fragments, nil)
			}
			t.fragments = append(t.fragments, p.fragment)
		case p.kind != constantPiece:
			t.holes = append(t.holes, p.text)
		}
	}
	return t
}

// count returns how many slots there are of a kind.
func (f *frame) count(kind slotKind) int {
	n := 0
	for i := range f.slots {
		if f.slots[i].kind == kind {
			n++
		}
	}
	return n
}

// continuesRun reports whether a fragment belongs to the run of the piece before it.
func (r *rope) continuesRun(i int) bool {
	if i == 0 || r.pieces[i-1].kind != entryPiece || r.pieces[i].trimmed {
		return false
	}
	before, this := r.pieces[i-1].fragment, r.pieces[i].fragment
	return before.indent == this.indent && before.leading == this.leading
}
