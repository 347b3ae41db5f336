package yamldoc

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Indent returns by how many columns the lines of a literal block are indented: the indentation of the first line with
// text, without the blanks that belong to the value. It is -1 for another style, and if that line is elsewhere, as with a
// tag on a line before the block.
func (d *Document) Indent(n *yaml.Node) int {
	if n.Style&yaml.LiteralStyle == 0 {
		return -1
	}
	lines := d.lines()
	first, written := firstText(strings.Split(n.Value, "\n")), firstText(lines[min(n.Line, len(lines)):])
	blanks := len(written) - len(first)
	if first == "" || blanks < 0 || strings.Trim(written[:blanks], " ") != "" || written[blanks:] != first {
		return -1
	}
	return blanks
}

// firstText returns the first line that is not blank.
func firstText(lines []string) string {
	for _, line := range lines {
		if strings.Trim(line, " ") != "" {
			return line
		}
	}
	return ""
}

// unusualBreaks end a line for the YAML library, but not for editors.
const unusualBreaks = "\r\u0085\u2028\u2029"

// lineMap converts a place in a chunk into a place in the file.
type lineMap struct {
	offset int
	// last is the last line of the chunk that is not blank.
	last int
}

func newLineMap(c chunk) lineMap {
	return lineMap{c.lineOffset, c.lineOffset + strings.Count(strings.TrimRight(c.text, "\n"), "\n") + 1}
}

// find returns the place in the file, where lines and columns count from 1. What the library sees at the end of the
// text, such as a value that is missing, it places in the line after it. After unusualBreaks the places are too far down.
func (m lineMap) find(line, column int) (fileLine, fileColumn int) {
	if line+m.offset > m.last {
		return m.last, 1
	}
	return line + m.offset, column
}

// move sets the places of a node and its descendants to those in the file. Targets of aliases are moved as descendants.
func move(n *yaml.Node, find func(line, column int) (fileLine, fileColumn int)) {
	n.Line, n.Column = find(n.Line, n.Column)
	for _, child := range n.Content {
		move(child, find)
	}
}
