package content

import "strings"

// Text is the content of a file. Files share what is the same in them, so that the output of a large
// fleet fits into memory. The zero value is empty.
type Text struct {
	// Frame is nil for a text of one piece, which is then the only value.
	Frame *Frame
	// Values are the texts in the placeholders, in order.
	Values []string
	// Segments are the segments of all runs, with a nil between two runs.
	Segments []*Segment
	// Size is the length in bytes.
	Size int
}

// Segment is text that many files share: entries of a map, for instance.
type Segment struct {
	Key string
	// Text ends with a line break, or, if Leading, begins with one; text that is not an entry may have neither.
	Text    string
	Leading bool
	// Entry is true if the text is exactly one entry of a YAML block mapping; Indent is the column of its key.
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

// Frame is the layout that all texts of a shape have in common.
type Frame struct{ Slots []Slot }

// Slot is a part of a Frame.
type Slot struct {
	Kind SlotKind
	// Text is the text of a constant slot.
	Text string
	// Trimmed is true if the first segment of a run is written without its leading line break.
	Trimmed bool
}

// SlotKind is the kind of content in a Slot.
type SlotKind int

const (
	// ConstantSlot is text that is the same in all texts of a frame.
	ConstantSlot SlotKind = iota
	// PlaceholderSlot is a text that differs between texts.
	PlaceholderSlot
	// RunSlot is a run of segments.
	RunSlot
)

// New returns a text of one piece.
func New(text string) Text {
	if text == "" {
		return Text{}
	}
	return Text{Values: []string{text}, Size: len(text)}
}

// Append appends the text to b.
func (t Text) Append(b []byte) []byte {
	if t.Frame == nil {
		for _, piece := range t.Values {
			b = append(b, piece...)
		}
		return b
	}
	values, segments := t.Values, t.Segments
	for _, slot := range t.Frame.Slots {
		switch slot.Kind {
		case ConstantSlot:
			b = append(b, slot.Text...)
		case PlaceholderSlot:
			b, values = append(b, values[0]...), values[1:]
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

// IsEmpty reports whether the text is empty.
func (t Text) IsEmpty() bool { return t.Frame == nil && len(t.Values) == 0 }

// Bytes returns the text.
func (t Text) Bytes() []byte { return t.Append(nil) }

// String returns the text.
func (t Text) String() string {
	if t.Frame == nil && len(t.Values) == 1 {
		return t.Values[0]
	}
	return string(t.Bytes())
}

// Count returns the number of slots of a kind.
func (f *Frame) Count(kind SlotKind) int {
	n := 0
	for i := range f.Slots {
		if f.Slots[i].Kind == kind {
			n++
		}
	}
	return n
}
