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
	// Diagnostics is the style of diagnostics.
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

// Printer writes text for people, in colours.
type Printer struct {
	io.Writer
	Palette
}

// Section writes a heading after an empty line.
func (p Printer) Section(heading string) { fmt.Fprintf(p, "\n%s\n", p.Heading(diag.Safe(heading))) }

// Rows writes indented rows below their titles, nothing if there are no rows. The first group cells of a row are empty if
// those of the row above are the same.
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

// Indented writes a text, each line with a prefix.
func (p Printer) Indented(text, by string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(p, strings.TrimRight(by+diag.Safe(strings.TrimSuffix(line, "\n")), " "))
	}
	if text == "" {
		fmt.Fprintln(p, by+`""`)
	}
}

const (
	// MaxMessage is the maximum length of a message of others in characters.
	MaxMessage = 500
	// MaxName is the maximum length of a name of others in characters.
	MaxName = 120
	// MaxMessageBytes is the number of bytes of a message that are read.
	MaxMessageBytes = 8 << 10
)

// Line returns text of others as one sanitized line of at most limit characters. Line breaks are replaced by blanks.
func Line(text string, limit int) string {
	return Word(strings.Join(strings.Fields(diag.Shorten(text, MaxMessageBytes)), " "), limit)
}

// Word is Line for names, whose blanks are kept. An ellipsis replaces the end of a long name.
func Word(text string, limit int) string {
	const ellipsis = 3
	beginning := diag.Shorten(text, utf8.UTFMax*(limit+1)+ellipsis) // further characters are never shown
	return diag.ShortenCharacters(diag.Safe(beginning), limit)
}

// colours matches the escape sequences of a palette.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// width returns the number of columns of a text.
func width(text string) int { return utf8.RuneCountInString(colours.ReplaceAllString(text, "")) }

// Table aligns rows in columns below their titles. Its cells must be sanitized.
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
