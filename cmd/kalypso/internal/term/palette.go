package term

import (
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
