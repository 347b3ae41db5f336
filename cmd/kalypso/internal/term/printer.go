package term

import (
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Printer writes for people, in colours.
type Printer struct {
	io.Writer
	Palette
}

// Rows writes rows below their titles, set off from the margin, and nothing if there are none.
func (p Printer) Rows(rows [][]string, titles ...string) {
	if len(rows) == 0 {
		return
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = diag.Safe(cell)
		}
	}
	for _, line := range p.Table(titles, rows, nil) {
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
