package content

import "strings"

// Text is the content of a file. Files share what is the same in them, so that the output of a large
// fleet fits into memory. The zero value is empty.
type Text struct {
	// Frame is nil for a text of one piece, which is then the only hole.
	Frame *Frame
	Holes []string
	// Segments are those of all runs; a nil stands between two runs.
	Segments []*Segment
	// Size is the length in bytes.
	Size int
}

// Segment is text that many files share: entries of a map, for instance.
type Segment struct {
	Key string
	// Text is what is written. It ends with a line break, or is leading and begins with one, unless it is
	// no entry.
	Text    string
	Leading bool
	// Entry says that in YAML the text is one entry of a block mapping, and complete in itself; indent
	// is where its key begins.
	Entry  bool
	Indent int
}

// Lines returns the text without the line break around it.
func (f *Segment) Lines() string {
	if f.Leading {
		return strings.TrimPrefix(f.Text, "\n")
	}
	return strings.TrimSuffix(f.Text, "\n")
}

// Frame is what is the same in all texts of a shape: what stands around the holes.
type Frame struct{ Slots []Slot }

// Slot is a part of a Frame.
type Slot struct {
	Kind SlotKind
	// Text is that of a constant slot.
	Text string
	// Trimmed says that the first segment of a run is written without the line break before it.
	Trimmed bool
}

// SlotKind is what a Slot holds.
type SlotKind int

const (
	// ConstantSlot is text that is the same in all texts of a frame.
	ConstantSlot SlotKind = iota
	// HoleSlot is a text that differs.
	HoleSlot
	// RunSlot is a run of segments.
	RunSlot
)

// New returns a text of one piece.
func New(text string) Text {
	if text == "" {
		return Text{}
	}
	return Text{Holes: []string{text}, Size: len(text)}
}

// Append appends the text to b.
func (t Text) Append(b []byte) []byte {
	if t.Frame == nil {
		for _, piece := range t.Holes {
			b = append(b, piece...)
		}
		return b
	}
	holes, segments := t.Holes, t.Segments
	for _, slot := range t.Frame.Slots {
		switch slot.Kind {
		case ConstantSlot:
			b = append(b, slot.Text...)
		case HoleSlot:
			b, holes = append(b, holes[0]...), holes[1:]
		case RunSlot:
			b, segments = appendRun(b, segments, slot.Trimmed)
		}
	}
	return b
}

// appendRun appends a run, and returns what follows it.
func appendRun(b []byte, segments []*Segment, trimmed bool) ([]byte, []*Segment) {
	for i, segment := range segments {
		switch {
		case segment == nil:
			return b, segments[i+1:]
		case i == 0 && trimmed:
			b = append(b, segment.Lines()...)
		default:
			b = append(b, segment.Text...)
		}
	}
	return b, nil
}

// IsEmpty reports whether it is the zero value.
func (t Text) IsEmpty() bool { return t.Frame == nil && len(t.Holes) == 0 }

// Bytes returns the text.
func (t Text) Bytes() []byte { return t.Append(nil) }

// String returns the text.
func (t Text) String() string {
	if t.Frame == nil && len(t.Holes) == 1 {
		return t.Holes[0]
	}
	return string(t.Bytes())
}

// Count returns how many slots there are of a kind.
func (f *Frame) Count(kind SlotKind) int {
	n := 0
	for i := range f.Slots {
		if f.Slots[i].Kind == kind {
			n++
		}
	}
	return n
}
