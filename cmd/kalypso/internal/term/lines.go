package term

import (
	"strings"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

const (
	// MaxMessage is how many characters of somebody else's message a line shows.
	MaxMessage = 500
	// MaxName is how many characters of somebody else's name a line shows.
	MaxName = 120
	// MaxMessageBytes is how much of a message is looked at.
	MaxMessageBytes = 8 << 10
)

// Line makes a line of somebody else's text that is harmless to show and has at most so many characters. Line breaks
// become blanks.
func Line(text string, limit int) string {
	return Word(strings.Join(strings.Fields(Beginning(text, MaxMessageBytes)), " "), limit)
}

// Word is Line for names, which are shown as they are. An ellipsis stands for what is left out.
func Word(text string, limit int) string {
	runes := []rune(diag.Safe(Beginning(text, utf8.UTFMax*(limit+1)))) // what is beyond it cannot be shown
	if len(runes) <= limit {
		return string(runes)
	}
	return string(runes[:limit-1]) + "…"
}

// Beginning is at most so many bytes of a text. No character is torn.
func Beginning(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for n := range min(size, utf8.UTFMax) {
		if utf8.RuneStart(text[size-n]) {
			return text[:size-n]
		}
	}
	return text[:size]
}

// Table lays rows out in columns below their titles. Its cells are harmless to show. paint colours a cell; nil for none.
func (p Palette) Table(titles []string, rows [][]string, paint func(row, column int, text string) string) []string {
	widths := make([]int, len(titles))
	for _, row := range append([][]string{titles}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	layOut := func(cells []string, paint func(column int, text string) string) string {
		var b strings.Builder
		for i, cell := range cells {
			gap := strings.Repeat(" ", widths[i]+2-utf8.RuneCountInString(cell)) // colours take no room
			b.WriteString(paint(i, cell) + gap)
		}
		return strings.TrimRight(b.String(), " ")
	}
	lines := []string{p.Heading(layOut(titles, func(_ int, text string) string { return text }))}
	for i, row := range rows {
		lines = append(lines, layOut(row, func(column int, text string) string {
			if paint == nil || text == "" {
				return text
			}
			return paint(i, column, text)
		}))
	}
	return lines
}
