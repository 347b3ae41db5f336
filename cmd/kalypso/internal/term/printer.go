package term

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fatih/color"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Palette are the colours of one stream.
type Palette struct {
	Added, Removed, Changed, Heading, Faint func(string) string
	// Diagnostics is how they look.
	Diagnostics diag.Style
}

// NewPalette returns colours, or none.
func NewPalette(on bool) Palette {
	return Palette{
		Added: paint(on, color.FgGreen), Removed: paint(on, color.FgRed), Changed: paint(on, color.FgYellow),
		Heading: paint(on, color.Bold), Faint: paint(on, color.FgCyan),
		Diagnostics: diag.Style{
			Error: paint(on, color.FgRed, color.Bold), Warning: paint(on, color.FgYellow, color.Bold),
			Notice: paint(on, color.FgCyan), Place: paint(on, color.Bold), Hint: paint(on, color.FgGreen),
		},
	}
}

func paint(on bool, attributes ...color.Attribute) func(string) string {
	c := color.New(attributes...)
	c.DisableColor()
	if on {
		c.EnableColor()
	}
	return func(text string) string { return c.Sprint(text) }
}

// Printer writes for people, in colours.
type Printer struct {
	io.Writer
	Palette
}

// Section writes a heading, set off from what is above it.
func (p Printer) Section(heading string) { fmt.Fprintf(p, "\n%s\n", p.Heading(diag.Safe(heading))) }

// Rows writes rows below their titles, set off from the margin, and nothing if there are none. The first cells of a row,
// as many as group says, are left empty if those of the row above are the same.
func (p Printer) Rows(group int, rows [][]string, titles ...string) {
	if len(rows) == 0 {
		return
	}
	shown := make([][]string, len(rows))
	for i, row := range rows {
		for column, cell := range row {
			if column < group && i > 0 && slices.Equal(row[:group], rows[i-1][:group]) {
				cell = ""
			}
			shown[i] = append(shown[i], diag.Safe(cell))
		}
	}
	for _, line := range p.Table(titles, shown) {
		fmt.Fprintln(p, "  "+line)
	}
}

// Indented writes a text of any length.
func (p Printer) Indented(text, by string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(p, strings.TrimRight(by+diag.Safe(strings.TrimSuffix(line, "\n")), " "))
	}
	if text == "" {
		fmt.Fprintln(p, by+`""`)
	}
}

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
	return Word(strings.Join(strings.Fields(diag.Shorten(text, MaxMessageBytes)), " "), limit)
}

// Word is Line for names, which are shown as they are. An ellipsis stands for what is left out.
func Word(text string, limit int) string {
	const ellipsis = 3
	beginning := diag.Shorten(text, utf8.UTFMax*(limit+1)+ellipsis) // what is beyond it cannot be shown
	return diag.ShortenCharacters(diag.Safe(beginning), limit)
}

// colours are what a palette puts around a text.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// width is how many columns a text takes.
func width(text string) int { return utf8.RuneCountInString(colours.ReplaceAllString(text, "")) }

// Table lays rows out in columns below their titles. Its cells are harmless to show.
func (p Palette) Table(titles []string, rows [][]string) []string {
	rows = append([][]string{titles}, rows...)
	widths := make([]int, len(titles))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		for column, cell := range row {
			lines[i] += cell + strings.Repeat(" ", widths[column]+2-width(cell))
		}
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	lines[0] = p.Heading(lines[0])
	return lines
}
