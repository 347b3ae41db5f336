package model

import (
	"iter"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// fileText is the text of a file, for what a node does not tell (see Block).
type fileText struct {
	text string
	// starts holds where each line but the first begins; it is made when it is first needed.
	starts []int
	// nonSpecific has the positions where nodes with the tag "!" may begin; searched says that it is filled.
	nonSpecific []position
	searched    bool
}

// after returns the lines after the one with the given number, which counts from 1.
func (t *fileText) after(number int) iter.Seq[string] {
	if t.starts == nil {
		t.starts = make([]int, 0, strings.Count(t.text, "\n"))
		for i := range len(t.text) {
			if t.text[i] == '\n' {
				t.starts = append(t.starts, i+1)
			}
		}
	}
	if number > len(t.starts) {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(t.text[t.starts[number-1]:], "\n")
}

// line returns the line with the given number, which counts from 1.
func (t *fileText) line(number int) string {
	if number == 1 {
		first, _, _ := strings.Cut(t.text, "\n")
		return first
	}
	for line := range t.after(number - 1) {
		return line
	}
	return ""
}

// holds reports whether the lines after the one with the given number are those of value, indented by
// that many blanks. A line that is blank in both may be shorter.
func (t *fileText) holds(value string, number, indent int) bool {
	next, stop := iter.Pull(t.after(number))
	defer stop()
	blanks := strings.Repeat(" ", indent)
	for want := range strings.SplitSeq(strings.TrimRight(value, "\n"), "\n") {
		line, more := next()
		got, indented := strings.CutPrefix(line, blanks)
		if !more || got != want && (indented || want != "" || strings.Trim(line, " ") != "") {
			return false
		}
	}
	return true
}

// unusualBreaks end a line for the YAML library, but not for what people read files with.
const unusualBreaks = "\r\u0085\u2028\u2029"

// lineMap finds the place in a file that the YAML library means by a place in a chunk.
type lineMap struct {
	offset int
	// last is the last line of the chunk that is not blank.
	last int
	// starts holds where the lines that the library counts begin; it is empty if they are just the
	// lines of the chunk.
	starts []lineStart
}

// lineStart is a position in a chunk: how many lines stand before it, and how many characters
// before it in its line.
type lineStart struct{ line, column int }

func newLineMap(c chunk) lineMap {
	m := lineMap{offset: c.lineOffset}
	m.last = m.offset + strings.Count(strings.TrimRight(c.text, "\n"), "\n") + 1
	if !strings.ContainsAny(c.text, unusualBreaks) {
		return m
	}
	line := 0
	m.starts = append(m.starts, lineStart{})
	for text := range strings.Lines(c.text) {
		text = strings.TrimSuffix(text, "\r\n") // one line break, left over from \r\r\n
		column := 0
		for {
			i := strings.IndexAny(text, unusualBreaks)
			if i < 0 {
				break
			}
			_, size := utf8.DecodeRuneInString(text[i:])
			column += utf8.RuneCountInString(text[:i+size])
			m.starts = append(m.starts, lineStart{line, column})
			text = text[i+size:]
		}
		line++
		m.starts = append(m.starts, lineStart{line, 0})
	}
	return m
}

// find returns the place in the file, where lines and columns count from 1. What the library sees
// at the end of the text, such as a value that is missing, it places in the line after it.
func (m lineMap) find(line, column int) (fileLine, fileColumn int) {
	if len(m.starts) > 0 {
		start := m.starts[min(line, len(m.starts))-1]
		line, column = start.line+1, start.column+column
	}
	if line+m.offset > m.last {
		return m.last, 1
	}
	return line + m.offset, column
}

// move moves a node and all below it from the chunk to the file. Aliases point to nodes that are
// moved where they stand.
func (m lineMap) move(n *yaml.Node) {
	n.Line, n.Column = m.find(n.Line, n.Column)
	for _, child := range n.Content {
		m.move(child)
	}
}
