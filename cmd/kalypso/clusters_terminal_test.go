package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// terminal is as much of a VT100 as a watch needs. What it does not know is a failure of the test.
type terminal struct {
	t             *testing.T
	columns, rows int
	// lines are those that have scrolled away, and those on the screen.
	lines    [][]rune
	row, col int
	noWrap   bool
	// cells is how wide it draws a character.
	cells func(rune) int
}

func newTerminal(t *testing.T, columns, rows int) *terminal {
	t.Helper()
	return &terminal{t: t, columns: columns, rows: rows, lines: [][]rune{nil}, cells: columnsOfRune}
}

func (m *terminal) size() (columns, rows int) { return m.columns, m.rows }

var controlSequence = regexp.MustCompile(`^\x1b\[(\??[0-9;]*)([a-zA-Z])`)

func (m *terminal) Write(output []byte) (int, error) {
	text := string(output)
	for text != "" {
		if sequence := controlSequence.FindStringSubmatch(text); sequence != nil {
			m.control(sequence[1], sequence[2])
			text = text[len(sequence[0]):]
			continue
		}
		r := []rune(text)[0]
		m.put(r)
		text = text[len(string(r)):]
	}
	return len(output), nil
}

func (m *terminal) control(argument, name string) {
	switch argument + name {
	case "?7l", "?7h":
		m.noWrap = name == "l"
		return
	case "K":
		m.lines[m.row] = m.lines[m.row][:min(m.col, len(m.lines[m.row]))]
		return
	case "J":
		m.control("", "K")
		m.lines = m.lines[:m.row+1]
		return
	}
	switch name {
	case "A":
		n, err := strconv.Atoi(argument)
		require.NoError(m.t, err)
		assert.Positive(m.t, n, "zero would count as one")
		m.row = max(m.row-n, m.top())
	case "m":
	default:
		m.t.Errorf("the terminal does not know ESC [ %s %s", argument, name)
	}
}

// top is the first line that has not scrolled away.
func (m *terminal) top() int { return max(0, len(m.lines)-m.rows) }

func (m *terminal) put(r rune) {
	switch {
	case r == '\r':
		m.col = 0
	case r == '\n':
		m.newLine()
	case r < ' ' || r >= 0x7f && r < 0xa0:
		m.t.Errorf("the terminal was sent %q", r)
	default:
		m.print(r)
	}
}

func (m *terminal) newLine() {
	m.row, m.col = m.row+1, 0
	if m.row == len(m.lines) {
		m.lines = append(m.lines, nil)
	}
}

func (m *terminal) print(r rune) {
	cells := m.cells(r)
	if m.col+cells > m.columns {
		if m.noWrap {
			m.col = m.columns - cells
		} else {
			m.newLine()
		}
	}
	for len(m.lines[m.row]) < m.col+cells {
		m.lines[m.row] = append(m.lines[m.row], ' ')
	}
	m.lines[m.row][m.col] = r
	if cells == 2 {
		m.lines[m.row][m.col+1] = 0 // the other half
	}
	m.col += cells
}

// text is all that there is to see, scrolled away or not.
func (m *terminal) text() []string {
	lines := make([]string, len(m.lines))
	for i, line := range m.lines {
		lines[i] = strings.TrimRight(strings.ReplaceAll(string(line), "\x00", ""), " ")
	}
	return lines
}
